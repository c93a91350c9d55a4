/* Gaps between sorted positions in Rice code with the best parameter, or a bitmap if that is
 * shorter (above a density of about a tenth).
 *
 *   byte    parameter r, or 128: then the bitmap of index_bitmap.c follows instead
 *   varint  how many
 *   bits, lowest first, for each gap g = position - last position - 1:
 *           g >> r zeros and a one, then the r low bits of g; zeros up to the end of the byte
 *
 * Rice 1979 (JPL 79-22). The cost C(r) = sum (g >> r) + n (r + 1) is convex in r, because C(r + 1)
 * - C(r) = n - sum ceil((g >> r) / 2) never falls: descent finds the minimum. */
#include "codecs/sparse/sparse.h"
#include <assert.h>

enum { BITMAP = 128, MAX_PARAMETER = 30 };

static unsigned log2_floor(uint64_t v) /* of 0: 0 */
{
    return v < 2 ? 0 : 63 - (unsigned)__builtin_clzll(v);
}

static size_t varint_bytes(uint64_t v)
{
    return 1 + log2_floor(v) / 7;
}

static size_t rice_max_bytes(size_t n_elems, size_t n_chosen, double parameter)
{
    const size_t bitmap = strait_index_bitmap.max_bytes(n_elems, n_chosen, parameter);
    if (n_chosen == 0 || n_elems == 0)
        return 2;
    /* An upper limit for fewer chosen too: the sum of gaps is below n_elems for any number. */
    const unsigned r = log2_floor(n_elems / n_chosen);
    const uint64_t bits = (n_elems >> r) + (uint64_t)n_chosen * (r + 1);
    const size_t rice = varint_bytes(n_chosen) + (size_t)((bits + 7) / 8);
    return 1 + (rice < bitmap ? rice : bitmap);
}

static uint64_t cost_bits(const uint32_t *gap, size_t n, unsigned r)
{
    uint64_t sum = 0;
    for (size_t from = 0; from < n; from += 256) {
        const size_t end = n - from < 256 ? n : from + 256;
        uint32_t part = 0; /* sum of all gaps, below 2^31 */
        for (size_t i = from; i < end; i++)
            part += gap[i] >> r;
        sum += part;
    }
    return sum + (uint64_t)n * (r + 1);
}

static unsigned best_parameter(const uint32_t *gap, size_t n, size_t n_elems, uint64_t *bits)
{
    unsigned r = log2_floor(n > 0 ? n_elems / n : 0);
    r = r > MAX_PARAMETER ? MAX_PARAMETER : r;
    *bits = cost_bits(gap, n, r);
    for (int step = -1; step <= 1; step += 2)
        while (step < 0 ? r > 0 : r < MAX_PARAMETER) {
            const uint64_t next = cost_bits(gap, n, (unsigned)((int)r + step));
            if (next >= *bits)
                break;
            r = (unsigned)((int)r + step);
            *bits = next;
        }
    return r;
}

/* Exactly as many bytes as the bits need. */
static void write_gaps(unsigned char *p, const uint32_t *gap, size_t n, unsigned r)
{
    uint64_t acc = 0;
    unsigned held = 0; /* below 32 between codes */
    for (size_t i = 0; i < n; i++) {
        uint32_t zeros = gap[i] >> r;
        const uint64_t low = gap[i] & ((1u << r) - 1);
        while (zeros > 31 - r || held >= 32) { /* rare: the code does not fit a 32-bit word */
            const uint32_t some = held >= 32 ? 0 : zeros < 32 - held ? zeros : 32 - held;
            held += some;
            zeros -= some;
            if (held >= 32) {
                strait_put32(p, (uint32_t)acc);
                p += 4;
                acc >>= 32;
                held -= 32;
            }
        }
        acc |= (low << 1 | 1) << (held + zeros);
        held += zeros + 1 + r;
        if (held >= 32) {
            strait_put32(p, (uint32_t)acc);
            p += 4;
            acc >>= 32;
            held -= 32;
        }
    }
    for (; held > 0; held -= held < 8 ? held : 8) {
        *p++ = (unsigned char)acc;
        acc >>= 8;
    }
}

static void rice_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                        double parameter, uint64_t key, uint32_t *scratch)
{
    const size_t n = *n_chosen;
    uint64_t bits = 0;
    assert(n <= n_elems);
    for (size_t i = 0; i < n; i++)
        scratch[i] = index[i] - (i > 0 ? index[i - 1] + 1 : 0);
    const unsigned r = best_parameter(scratch, n, n_elems, &bits);
    const size_t n_bytes = (size_t)((bits + 7) / 8);
    if (strait_index_bitmap.max_bytes(n_elems, n, 0) < varint_bytes(n) + n_bytes) {
        strait_write_u8(w, BITMAP);
        strait_index_bitmap.encode(w, index, n_chosen, n_elems, parameter, key, scratch);
        return;
    }
    strait_write_u8(w, r);
    strait_write_varint(w, n);
    if (!strait_write_room(w, n_bytes))
        return;
    write_gaps(w->p, scratch, n, r);
    w->p += n_bytes;
}

/* At least 57 bits from `bit` on; zeros beyond the end. */
static uint64_t window(const unsigned char *p, size_t n_bytes, uint64_t bit)
{
    const size_t at = (size_t)(bit / 8);
    uint64_t v = 0;
    if (at + 8 <= n_bytes)
        return strait_get64(p + at) >> bit % 8;
    for (size_t k = 0; at + k < n_bytes; k++)
        v |= (uint64_t)p[at + k] << (8 * k);
    return v >> bit % 8;
}

/* Read a gap at *bit step by step: a long run of zeros, or near the end. False: beyond the end. */
static bool read_long_gap(uint64_t *gap, const unsigned char *p, size_t n_bytes, uint64_t *bit,
                          unsigned r, uint64_t most)
{
    uint64_t zeros = 0, v;
    while (v = window(p, n_bytes, *bit) & (((uint64_t)1 << 32) - 1), v == 0) {
        zeros += 32;
        *bit += 32;
        if (*bit / 8 >= n_bytes || zeros > most)
            return false;
    }
    const unsigned last = (unsigned)__builtin_ctzll(v);
    *bit += last + 1;
    *gap = (zeros + last) << r | (window(p, n_bytes, *bit) & (((uint64_t)1 << r) - 1));
    *bit += r;
    return *bit <= 8 * (uint64_t)n_bytes;
}

static bool read_gaps(struct strait_reader *reader, uint32_t *index, size_t n, size_t n_elems,
                      unsigned r)
{
    const unsigned char *p = reader->p;
    const size_t n_bytes = (size_t)(reader->end - p);
    uint64_t bit = 0, position = 0; /* the smallest possible next position */
    for (size_t i = 0; i < n; i++) {
        const uint64_t v = window(p, n_bytes, bit);
        const unsigned zeros = v ? (unsigned)__builtin_ctzll(v) : 64;
        uint64_t gap;
        if (zeros + 1 + r <= 57) {
            gap = (uint64_t)zeros << r | (v >> zeros >> 1 & (((uint64_t)1 << r) - 1));
            bit += zeros + 1 + r;
        } else if (!read_long_gap(&gap, p, n_bytes, &bit, r, n_elems)) {
            return false;
        }
        if (gap >= n_elems - position) /* position <= n_elems */
            return false;
        index[i] = (uint32_t)(position + gap);
        position += gap + 1;
    }
    if (bit > 8 * (uint64_t)n_bytes || (bit % 8 != 0 && p[bit / 8] >> bit % 8 != 0))
        return false;
    return strait_read_bytes(reader, (size_t)((bit + 7) / 8)) != NULL;
}

static bool rice_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                        uint32_t *scratch)
{
    const unsigned parameter = strait_read_u8(r);
    if (parameter == BITMAP)
        return strait_index_bitmap.decode(r, index, n_chosen, n_elems, scratch);
    const uint64_t n = strait_read_varint(r);
    if (r->bad || parameter > MAX_PARAMETER || n > n_elems)
        return false;
    *n_chosen = (size_t)n;
    return read_gaps(r, index, (size_t)n, n_elems, parameter);
}

const struct strait_index_codec strait_index_rice = {
    .name = "rice",
    .source = "Rice 1979 on gaps, best parameter; a bitmap where that is shorter",
    .exact = true,
    .max_bytes = rice_max_bytes,
    .encode = rice_encode,
    .decode = rice_decode,
};
