/* Blocks of the sz codec decoded: symbols, low bits and escapes back to values. Nothing that the
 * bytes say is believed before it is checked. */
#include "sz_parts.h"

bool sz_source_open(struct sz_source *s, struct strait_reader *r, size_t n_coded)
{
    const uint64_t n_words = strait_read_varint(r), n_low = strait_read_varint(r);
    const uint64_t n_escapes = strait_read_varint(r);
    s->n_lanes = n_coded >= SZ_MANY ? SZ_LANES : SZ_FEW_LANES;
    for (unsigned lane = 0; lane < s->n_lanes; lane++)
        s->states[lane] = strait_read_u32(r);
    if (r->bad || n_words > n_coded || n_low > n_coded * 3 || n_escapes > n_coded)
        return false;
    s->words = strait_read_bytes(r, 2 * (size_t)n_words);
    s->low = strait_read_bytes(r, (size_t)n_low);
    s->escape = strait_read_bytes(r, 4 * (size_t)n_escapes);
    if (r->bad)
        return false;
    s->words_end = s->words + 2 * n_words;
    s->low_end = s->low + n_low;
    s->escape_end = s->escape + 4 * n_escapes;
    s->in_tail = false;
    return true;
}

/* All is used up and every lane is where its encoder began. */
bool sz_source_close(const struct sz_source *s)
{
    for (unsigned lane = 0; lane < s->n_lanes; lane++)
        if (s->states[lane] != SZ_STATE_LOW)
            return false;
    return s->words == s->words_end && s->low == s->low_end && s->escape == s->escape_end;
}

static bool get_symbols(uint8_t *sym, unsigned n, struct sz_source *s, const uint32_t *slots)
{
    const size_t left = (size_t)(s->words_end - s->words);
    if (!s->in_tail && left < 2 * SZ_BLOCK + 2) {
        memset(s->tail, 0, sizeof(s->tail));
        memcpy(s->tail, s->words, left);
        s->words = s->tail;
        s->words_end = s->tail + left;
        s->in_tail = true;
    }
    sz_rans_decode(sym, n, s->states, s->n_lanes, &s->words, slots);
    return s->words <= s->words_end;
}

static inline void unpack(uint32_t *v, unsigned n, const unsigned char *p, unsigned width)
{
    const uint32_t mask = (1u << width) - 1;
    unsigned i = 0;
    size_t bit = 0;
    if (width <= 14)
        for (; i + 4 <= n; i += 4, bit += 4 * width) {
            const uint64_t four = strait_get64(p + (bit >> 3)) >> (bit & 7);
            v[i] = (uint32_t)four & mask;
            v[i + 1] = (uint32_t)(four >> width) & mask;
            v[i + 2] = (uint32_t)(four >> 2 * width) & mask;
            v[i + 3] = (uint32_t)(four >> 3 * width) & mask;
        }
    for (; i < n; i++, bit += width)
        v[i] = (uint32_t)(strait_get64(p + (bit >> 3)) >> (bit & 7)) & mask;
}

/* The low bits of n values; zeros where the stream has too few. */
static bool get_low(uint32_t *v, unsigned n, struct sz_source *s, unsigned width)
{
    unsigned char padded[SZ_BLOCK * SZ_MAX_SHIFT / 8 + 16];
    const size_t need = ((size_t)n * width + 7) / 8, left = (size_t)(s->low_end - s->low);
    if (need > left)
        return false;
    if (left < need + 8) {
        memset(padded, 0, sizeof(padded));
        memcpy(padded, s->low, need);
        unpack(v, n, padded, width);
    } else {
        unpack(v, n, s->low, width);
    }
    s->low += need;
    return true;
}

static inline unsigned count_special(const uint8_t *sym, unsigned n)
{
    unsigned special = 0;
    for (unsigned i = 0; i < n; i++)
        special += sym[i] <= SZ_ZERO;
    return special;
}

static inline void join(int32_t *q, const uint8_t *sym, const uint32_t *low, unsigned n,
                        unsigned shift)
{
    for (unsigned i = 0; i < n; i++)
        q[i] = (int32_t)((((uint32_t)sym[i] - SZ_CENTRE) << shift) + low[i]);
}

/* Symbols and low bits to integers; escapes give 0. */
static bool get_integers(int32_t *q, uint8_t *sym, unsigned n, unsigned n_special,
                         struct sz_source *s, unsigned shift)
{
    uint32_t low[SZ_BLOCK + 1], spread[SZ_BLOCK];
    if (shift == 0)
        memset(low, 0, sizeof(low));
    else if (!get_low(low, n - n_special, s, shift))
        return false;
    if (n_special == 0) {
        join(q, sym, low, n, shift);
        return true;
    }
    low[n - n_special] = 0; /* looked at, not used */
    for (unsigned i = 0, k = 0; i < n; i++) {
        const uint32_t plain = sym[i] > SZ_ZERO;
        spread[i] = low[k] & -plain;
        k += plain;
    }
    for (unsigned i = 0; i < n; i++) {
        const uint32_t upper = sym[i] > SZ_ZERO ? (uint32_t)sym[i] - SZ_CENTRE : 0;
        q[i] = (int32_t)((upper << shift) + spread[i]);
    }
    return true;
}

static inline void values_of(float *restrict y, const int32_t *restrict q, unsigned n,
                             const struct sz_grid *grid)
{
    const float step = grid->step, centre = grid->centre;
    for (unsigned i = 0; i < n; i++)
        y[i] = (float)q[i] * step + centre;
}

static bool has_escapes(const uint8_t *sym, unsigned n, const struct sz_source *s)
{
    size_t escapes = 0;
    for (unsigned i = 0; i < n; i++)
        escapes += sym[i] == SZ_ESCAPE;
    return 4 * escapes <= (size_t)(s->escape_end - s->escape);
}

static void get_escapes(float *y, const uint8_t *sym, unsigned n, struct sz_source *s)
{
    for (unsigned i = 0; i < n; i++)
        if (sym[i] == SZ_ESCAPE) {
            y[i] = strait_get_float(s->escape);
            s->escape += 4;
        }
}

/* Differences to integers, in place. Returns the last integer. */
static int32_t sum_up(int32_t *q, const uint8_t *sym, unsigned n, const unsigned char *escape,
                      const struct sz_grid *grid, int32_t before)
{
    for (unsigned i = 0; i < n; i++) {
        if (sym[i] == SZ_ESCAPE) {
            before = sz_nearest(strait_get_float(escape), grid, before);
            escape += 4;
        } else {
            before = (int32_t)((uint32_t)before + (uint32_t)q[i]);
        }
        q[i] = before;
    }
    return before;
}

bool sz_block_decode(float *y, unsigned n, struct sz_source *s, unsigned shift,
                     const uint32_t *slots, const struct sz_grid *grid, bool delta, int32_t *before)
{
    uint8_t sym[SZ_BLOCK];
    int32_t q[SZ_BLOCK];
    if (!get_symbols(sym, n, s, slots))
        return false;
    const unsigned n_special = n == SZ_BLOCK ? count_special(sym, SZ_BLOCK) : count_special(sym, n);
    if (!get_integers(q, sym, n, n_special, s, shift))
        return false;
    if (n_special > 0 && !has_escapes(sym, n, s))
        return false;
    if (delta)
        *before = sum_up(q, sym, n, s->escape, grid, *before);
    if (n == SZ_BLOCK)
        values_of(y, q, SZ_BLOCK, grid);
    else
        values_of(y, q, n, grid);
    if (n_special > 0)
        get_escapes(y, sym, n, s);
    return true;
}
