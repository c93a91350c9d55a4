/* Decode blocks of the sz codec: symbols, low bits and escapes to values. All input is checked
 * before it is used. */
#include <math.h>
#include "sz_kernels.h"
#include "sz_round.h"

/* Whether everything was consumed and every lane is back at the encoder's initial state. */
bool sz_source_close(const struct sz_source *s)
{
    for (unsigned lane = 0; lane < s->n_lanes; lane++)
        if (s->states[lane] != SZ_STATE_LOW)
            return false;
    return s->words == s->words_end && s->low == s->low_end && s->escape == s->escape_end;
}

/* Make at least 2 * SZ_BLOCK bytes readable at s->words, including zeros behind the last words. */
static void have_words(struct sz_source *s)
{
    const size_t left = (size_t)(s->words_end - s->words);
    if (s->in_tail || left >= 2 * SZ_BLOCK + 2)
        return;
    memset(s->tail, 0, sizeof(s->tail));
    memcpy(s->tail, s->words, left);
    s->words = s->tail;
    s->words_end = s->tail + left;
    s->in_tail = true;
}

enum {
    PADDING = 24, /* bytes read beyond the low bits */
    MOST_LOW = SZ_BLOCK * SZ_MAX_SHIFT / 8 + PADDING
};

/* The low bits of n values, padded if they are the last. NULL: there are fewer. */
static const unsigned char *take_low(struct sz_source *s, size_t n, unsigned shift,
                                     unsigned char padded[MOST_LOW])
{
    const unsigned char *low = s->low;
    const size_t need = (n * shift + 7) / 8, left = (size_t)(s->low_end - s->low);
    if (need > left)
        return NULL;
    s->low += need;
    if (left >= need + PADDING)
        return low;
    memset(padded + need, 0, PADDING);
    return memcpy(padded, low, need);
}

static void get_escapes(float *y, const uint8_t *sym, unsigned n, struct sz_source *s)
{
    const uint8_t *at = sym, *end = sym + n;
    for (; (at = memchr(at, SZ_ESCAPE, (size_t)(end - at))) != NULL; at++) {
        y[at - sym] = strait_get_float(s->escape);
        s->escape += 4;
    }
}

/* Sum differences to integers, in place. Returns the last integer. */
static int32_t sum_up(int32_t *q, const uint8_t *sym, unsigned n, bool escapes,
                      const unsigned char *escape, const struct sz_grid *grid, int32_t before)
{
    if (!escapes) {
        for (unsigned i = 0; i < n; i++)
            q[i] = before = (int32_t)((uint32_t)before + (uint32_t)q[i]);
        return before;
    }
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

/* Decode a whole block without escapes and exact zeros in one pass. */
static bool decode_straight(float *y, struct sz_source *s, unsigned shift, const uint32_t *slots,
                            const struct sz_grid *grid)
{
    enum { RARE = 4 }; /* of SZ_PROB: with more, most blocks would be decoded twice */
    const size_t need = SZ_BLOCK / 8 * shift;
    if ((slots[RARE] & 255) <= SZ_ZERO || s->n_lanes != SZ_LANES ||
        (shift > 0 && (size_t)(s->low_end - s->low) < need + PADDING) ||
        !s->kernels->get_values(y, s->states, &s->words, slots, s->low, shift, grid))
        return false;
    s->low += need;
    return true;
}

bool sz_block_decode(float *y, unsigned n, struct sz_source *s, unsigned shift,
                     const uint32_t *slots, const struct sz_grid *grid, bool delta, int32_t *before)
{
    uint8_t sym[SZ_BLOCK];
    int32_t q[SZ_BLOCK];
    unsigned char padded[MOST_LOW];
    have_words(s);
    if (n == SZ_BLOCK && !delta && decode_straight(y, s, shift, slots, grid))
        return s->words <= s->words_end;
    unsigned n_special;
    if (n == SZ_BLOCK && s->n_lanes == SZ_LANES) {
        n_special = s->kernels->get_symbols(sym, s->states, &s->words, slots);
    } else {
        sz_rans_decode(sym, n, s->states, s->n_lanes, &s->words, slots);
        const bool none = (slots[0] & 255) > SZ_ZERO; /* has the table */
        n_special = none ? 0 : sz_count_upto(SZ_ZERO, sym, n);
    }
    if (s->words > s->words_end)
        return false;
    const unsigned n_escapes = n_special > 0 ? sz_count_upto(SZ_ESCAPE, sym, n) : 0;
    const unsigned char *low = take_low(s, n - n_special, shift, padded);
    if (!low || 4 * (size_t)n_escapes > (size_t)(s->escape_end - s->escape))
        return false;
    if (n == SZ_BLOCK && n_special == 0 && !delta) {
        s->kernels->join_values(y, sym, low, shift, grid);
        return true;
    }
    if (n == SZ_BLOCK)
        s->kernels->join(q, sym, n_special, low, shift);
    else
        sz_join_some(q, sym, n, n_special, low, shift);
    if (delta)
        *before = sum_up(q, sym, n, n_escapes > 0, s->escape, grid, *before);
    if (n == SZ_BLOCK)
        s->kernels->values(y, q, grid);
    else
        sz_values_some(y, q, n, grid);
    if (n_escapes > 0)
        get_escapes(y, sym, n, s);
    return true;
}

/* The decoder computes the same product and sum: never fused, see -ffp-contract=off. */
static inline float value_of(int32_t q, const struct sz_grid *grid)
{
    return (float)q * grid->step + grid->centre;
}

bool sz_quantise(int32_t *q, const float *x, unsigned n, const struct sz_grid *grid)
{
    struct sz_stats stats;
    return sz_quantise_some(q, &stats, x, n, grid);
}

int32_t sz_nearest(float x, const struct sz_grid *grid, int32_t otherwise)
{
    const float scaled = (x - grid->centre) * grid->inverse;
    return fabsf(scaled) <= SZ_MAX_INTEGER ? sz_round(scaled) : otherwise;
}

static const int32_t tries[] = {0, -1, 1};

void sz_repair(int32_t *q, uint8_t *mark, const float *x, unsigned n, const struct sz_grid *grid)
{
    for (unsigned i = 0; i < n; i++) {
        const float scaled = (x[i] - grid->centre) * grid->inverse;
        mark[i] = 0;
        if (fabsf(scaled) <= SZ_MAX_INTEGER) {
            const int32_t nearest = sz_round(scaled);
            unsigned k = 0;
            for (; k < 3; k++)
                if (fabsf(x[i] - value_of(nearest + tries[k], grid)) <= grid->threshold)
                    break;
            mark[i] = k == 3;
            q[i] = k == 3 ? 0 : nearest + tries[k];
        } else {
            mark[i] = 1;
        }
    }
}
