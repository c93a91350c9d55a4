/* sz: frequency tables and the kinds of blocks as bytes. */
#include <assert.h>
#include "core/host.h"
#include "sz_parts.h"

/* Scale n to about the sum `target`, at least 1 each. Products are integers below 2^46, which a
 * double holds exactly and vectors multiply faster. Returns the sum. */
STRAIT_CLONED
static int32_t scale(uint16_t *restrict f, const uint32_t *restrict n, unsigned n_symbols,
                     uint64_t total, uint64_t target)
{
    const uint64_t whole = (target << 32) / total;
    const double factor = (double)whole;
    int32_t sum = 0;
    for (unsigned i = 0; i < n_symbols; i++) {
        const int32_t scaled = (int32_t)((n[i] * factor + 0x1p31) * 0x1p-32);
        const int32_t least = n[i] > 0, here = scaled > least ? scaled : least;
        f[i] = (uint16_t)here;
        sum += here;
    }
    return sum;
}

void sz_normalise(struct sz_freqs *freqs, const uint32_t *n, unsigned n_symbols)
{
    uint64_t total = 0;
    unsigned low = 0;
    for (unsigned i = 0; i < n_symbols; i++)
        total += n[i];
    assert(total > 0);
    for (; n[low] == 0; low++)
        ;
    for (; n[n_symbols - 1] == 0; n_symbols--)
        ;
    memset(freqs, 0, sizeof(*freqs));
    /* Rare symbols round up to 1, at the expense of all others. */
    int32_t target = SZ_PROB, sum = 0;
    for (unsigned tries = 0; tries < 3 && sum != SZ_PROB; tries++) {
        sum = scale(freqs->f + low, n + low, n_symbols - low, total, (uint64_t)target);
        target -= sum - SZ_PROB;
    }
    /* Rounding left the sum too large or too small: adjust where a step of one costs least, n *
     * log2(f / (f - 1)), about n / f. */
    while (sum != SZ_PROB) {
        unsigned best = n_symbols;
        const bool take = sum > SZ_PROB;
        for (unsigned i = low; i < n_symbols; i++) {
            if (freqs->f[i] < (take ? 2 : 1))
                continue;
            if (best == n_symbols) {
                best = i;
                continue;
            }
            const uint32_t half = take ? UINT32_MAX : 1; /* at f -+ 1/2 */
            const uint64_t here = (uint64_t)n[i] * (2u * freqs->f[best] + half);
            const uint64_t there = (uint64_t)n[best] * (2u * freqs->f[i] + half);
            if (take ? here < there : here > there)
                best = i;
        }
        freqs->f[best] = (uint16_t)(freqs->f[best] + (take ? -1 : 1));
        sum += take ? -1 : 1;
    }
    /* A frequency of SZ_PROB does not fit 12 bits: give one to a neighbour. */
    for (unsigned i = low; i < n_symbols; i++)
        if (freqs->f[i] == SZ_PROB) {
            freqs->f[i]--;
            freqs->f[i > 0 ? i - 1 : 1]++;
            break;
        }
}

/* Bits, lowest first, into bytes, eight of which may be written behind the last. */
struct bit_writer {
    unsigned char *p;
    uint64_t held;
    unsigned n_held;
};

/* At most 56 bits, of which fewer than 8 are held before and after. */
static inline void put_bits(struct bit_writer *b, uint64_t v, unsigned n)
{
    b->held |= v << b->n_held;
    b->n_held += n;
    strait_put64(b->p, b->held);
    b->p += b->n_held >> 3;
    b->held >>= b->n_held & ~7u;
    b->n_held &= 7;
}

static unsigned char *end_of_bits(const struct bit_writer *b)
{
    return b->p + (b->n_held > 0);
}

struct bit_reader {
    struct strait_reader *r;
    uint64_t held;
    unsigned n_held;
};

static uint32_t get_bits(struct bit_reader *b, unsigned n)
{
    for (; b->n_held < n; b->n_held += 8)
        b->held |= (uint64_t)strait_read_u8(b->r) << b->n_held;
    const uint32_t v = (uint32_t)(b->held & ((UINT64_C(1) << n) - 1));
    b->held >>= n;
    b->n_held -= n;
    return v;
}

enum { LONGEST_UNARY = 20 }; /* then 13 plain bits */

/* Of 16 bits all, as the most, 255 of 33, need, so that vectors hold many. */
static unsigned rice_bits(const uint16_t *v, unsigned n, unsigned k)
{
    uint16_t bits = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint16_t high = (uint16_t)(v[i] >> k);
        bits = (uint16_t)(bits + (high < LONGEST_UNARY ? high + 1 + k : LONGEST_UNARY + 13));
    }
    return bits;
}

/* The first of the parameters that take the fewest bits. Each value takes more than k. */
static unsigned best_rice(const uint16_t *v, unsigned n)
{
    unsigned best = 0, best_bits = rice_bits(v, n, 0);
    for (unsigned k = 1; k < 12 && n * (k + 1) < best_bits; k++) {
        const unsigned bits = rice_bits(v, n, k);
        best = bits < best_bits ? k : best;
        best_bits = bits < best_bits ? bits : best_bits;
    }
    return best;
}

static inline void put_rice(struct bit_writer *b, uint64_t v, unsigned k)
{
    const unsigned high = (unsigned)(v >> k);
    if (high < LONGEST_UNARY)
        put_bits(b, ((UINT64_C(1) << high) - 1) | (v & ((1u << k) - 1)) << (high + 1),
                 high + 1 + k);
    else
        put_bits(b, ((1u << LONGEST_UNARY) - 1) | v << LONGEST_UNARY, LONGEST_UNARY + 13);
}

static uint32_t get_rice(struct bit_reader *b, unsigned k)
{
    unsigned high = 0;
    while (high < LONGEST_UNARY && get_bits(b, 1))
        high++;
    if (high == LONGEST_UNARY)
        return get_bits(b, 13);
    return high << k | get_bits(b, k);
}

static uint32_t zigzag(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

/* Write the frequencies of escapes and zeros, then of one run of symbols; the last of the run
 * follows from the sum. */
void sz_write_freqs(struct strait_writer *w, const struct sz_freqs *freqs)
{
    enum { MOST_BITS = 2 * 13 + 20 + 255 * (LONGEST_UNARY + 13) };
    unsigned char bytes[MOST_BITS / 8 + 9];
    uint16_t v[256];
    struct bit_writer b = {.p = bytes};
    unsigned low = 2, high = 255;
    while (low < 255 && freqs->f[low] == 0)
        low++;
    while (high > low && freqs->f[high] == 0)
        high--;
    for (unsigned i = low; i < high; i++)
        v[i - low] = (uint16_t)zigzag(freqs->f[i] - (i > low ? freqs->f[i - 1] : 0));
    const unsigned best = best_rice(v, high - low);
    for (unsigned i = 0; i < 2; i++) {
        put_bits(&b, freqs->f[i] > 0, 1);
        if (freqs->f[i] > 0)
            put_bits(&b, freqs->f[i], 12);
    }
    put_bits(&b, low, 8);
    put_bits(&b, high, 8);
    put_bits(&b, best, 4);
    for (unsigned i = 0; i < high - low; i++)
        put_rice(&b, v[i], best);
    strait_write_bytes(w, bytes, (size_t)(end_of_bits(&b) - bytes));
}

bool sz_read_freqs(struct strait_reader *r, struct sz_freqs *freqs)
{
    struct bit_reader b = {.r = r};
    int32_t sum = 0;
    memset(freqs, 0, sizeof(*freqs));
    for (unsigned i = 0; i < 2; i++)
        if (get_bits(&b, 1)) {
            freqs->f[i] = (uint16_t)get_bits(&b, 12);
            sum += freqs->f[i];
        }
    const unsigned low = get_bits(&b, 8), high = get_bits(&b, 8), k = get_bits(&b, 4);
    if (low < 2 || high < low || k >= 12)
        return false;
    int32_t before = 0;
    for (unsigned i = low; i < high; i++) {
        const uint32_t v = get_rice(&b, k);
        before += (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
        if (before < 0 || before >= SZ_PROB)
            return false;
        freqs->f[i] = (uint16_t)before;
        sum += before;
    }
    /* A run may have no symbols: low == high with the remainder, possibly 0. */
    if (r->bad || sum > SZ_PROB || SZ_PROB - sum >= SZ_PROB)
        return false;
    freqs->f[high] = (uint16_t)(SZ_PROB - sum);
    return true;
}

static unsigned bits_for(unsigned n)
{
    return n < 2 ? 0 : 32 - (unsigned)__builtin_clz(n - 1);
}

enum { KINDS_PLAIN, KINDS_CODED };

void sz_write_kinds(struct strait_writer *w, const uint8_t *kind, size_t n_blocks, unsigned n_kinds)
{
    if (n_kinds < 2)
        return;
    uint32_t n[256] = {0};
    for (size_t i = 0; i < n_blocks; i++)
        n[kind[i]]++;
    struct sz_freqs freqs;
    struct sz_put_table table;
    uint16_t words[SZ_BLOCKS + 1];
    uint32_t state = SZ_STATE_LOW;
    ptrdiff_t at = SZ_BLOCKS + 1;
    sz_normalise(&freqs, n, n_kinds);
    sz_put_symbols(&table, &freqs);
    for (size_t i = n_blocks; i-- > 0;)
        at = sz_rans_put(&state, words, at, &table, kind[i]);
    const uint16_t *p = words + at;
    const size_t n_words = (size_t)(SZ_BLOCKS + 1 - at);
    const size_t plain_bits = n_blocks * bits_for(n_kinds);
    unsigned char bytes[2 * SZ_BLOCKS + 4 * SZ_KINDS];
    struct strait_writer coded = {.p = bytes, .end = bytes + sizeof(bytes)};
    for (unsigned i = 0; i < n_kinds; i++)
        strait_write_varint(&coded, freqs.f[i]);
    strait_write_varint(&coded, n_words);
    strait_write_u32(&coded, state);
    for (size_t i = 0; i < n_words; i++) {
        strait_write_u8(&coded, p[i] & 255);
        strait_write_u8(&coded, p[i] >> 8);
    }
    const size_t n_coded = (size_t)(coded.p - bytes);
    if (!coded.full && 8 * n_coded < plain_bits) {
        strait_write_u8(w, KINDS_CODED);
        strait_write_bytes(w, bytes, n_coded);
        return;
    }
    strait_write_u8(w, KINDS_PLAIN);
    struct bit_writer b = {.p = bytes};
    for (size_t i = 0; i < n_blocks; i++)
        put_bits(&b, kind[i], bits_for(n_kinds));
    strait_write_bytes(w, bytes, (size_t)(end_of_bits(&b) - bytes));
}

static bool read_coded_kinds(struct strait_reader *r, uint8_t *kind, size_t n_blocks,
                             unsigned n_kinds)
{
    struct sz_freqs freqs = {0};
    uint32_t slots[SZ_PROB];
    uint64_t sum = 0;
    for (unsigned i = 0; i < n_kinds; i++) {
        const uint64_t f = strait_read_varint(r);
        if (f >= SZ_PROB)
            return false;
        freqs.f[i] = (uint16_t)f;
        sum += f;
    }
    const uint64_t n_words = strait_read_varint(r);
    uint32_t state = strait_read_u32(r);
    if (r->bad || sum != SZ_PROB || n_words > n_blocks)
        return false;
    const unsigned char *bytes = strait_read_bytes(r, 2 * (size_t)n_words);
    if (!bytes)
        return false;
    unsigned char padded[2 * SZ_BLOCKS + 2] = {0};
    size_t at = 0;
    memcpy(padded, bytes, 2 * (size_t)n_words);
    sz_get_slots(slots, &freqs);
    for (size_t i = 0; i < n_blocks; i++)
        at = sz_rans_get(&kind[i], &state, padded, at, slots);
    return at == n_words && state == SZ_STATE_LOW;
}

bool sz_read_kinds(struct strait_reader *r, uint8_t *kind, size_t n_blocks, unsigned n_kinds)
{
    memset(kind, 0, n_blocks);
    if (n_kinds < 2)
        return true;
    const unsigned how = strait_read_u8(r);
    if (how == KINDS_CODED)
        return read_coded_kinds(r, kind, n_blocks, n_kinds);
    struct bit_reader b = {.r = r};
    for (size_t i = 0; i < n_blocks; i++) {
        kind[i] = (uint8_t)get_bits(&b, bits_for(n_kinds));
        if (kind[i] >= n_kinds)
            return false;
    }
    return how == KINDS_PLAIN && !r->bad;
}
