/* The edges that divide a tensor into bins of equally many values, and the bin of each value. */
#include "quantiles.h"
#include <stdlib.h>
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"

enum { MAX_SAMPLE = 1 << 16, CELL_BITS = 14, N_CELLS = 1 << CELL_BITS };
enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

/* Where to search for a key: the edges below its cell, then this many steps up. */
struct search {
    uint32_t low;
    unsigned shift, n_steps;
};

/* Values are compared as unsigned keys that order as they do. */
struct strait_quantiles {
    uint32_t n_bins;
    uint32_t sample[MAX_SAMPLE], other[MAX_SAMPLE], digits[N_DIGITS];
    uint32_t keys[STRAIT_QUANTILES_PIECE];
    uint16_t cells[N_CELLS]; /* edges up to the smallest key of the cell */
    struct search search;
    /* Distinct edges in order, padded with the largest key so that no search leaves them. Above the
     * first k of them bin ranks[k] begins: bins between equal edges are empty. */
    uint32_t n_edges;
    uint32_t *edges;
    uint32_t *ranks;
};

struct strait_quantiles *strait_quantiles_new(uint32_t n_bins)
{
    struct strait_quantiles *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->n_bins = n_bins;
    s->edges = malloc(4 * (size_t)n_bins * sizeof(*s->edges));
    s->ranks = malloc(n_bins * sizeof(*s->ranks));
    if (s->edges && s->ranks)
        return s;
    strait_quantiles_free(s);
    return NULL;
}

void strait_quantiles_free(struct strait_quantiles *s)
{
    if (!s)
        return;
    free(s->edges);
    free(s->ranks);
    free(s);
}

/* Non-finite values and -0 as 0. */
STRAIT_INLINE float cleaned(float x)
{
    return strait_finite(x) + 0.0f;
}

STRAIT_INLINE uint32_t key_of(float x)
{
    const uint32_t bits = strait_bits_of(cleaned(x));
    return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

STRAIT_INLINE float value_of(uint32_t key)
{
    return strait_float_of(key ^ ((uint32_t)((int32_t)~key >> 31) | 0x80000000u));
}

STRAIT_CLONED
static void make_keys(float *values, uint32_t *keys, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = cleaned(x[i]);
        keys[i] = key_of(x[i]);
    }
}

struct span {
    uint32_t low, high;
};

STRAIT_CLONED
static struct span span_of(const float *x, size_t n)
{
    struct span s = {UINT32_MAX, 0};
    for (size_t i = 0; i < n; i++) {
        const uint32_t key = key_of(x[i]);
        s.low = key < s.low ? key : s.low;
        s.high = key > s.high ? key : s.high;
    }
    return s;
}

/* One value from each of equal parts; all values if there are fewer. */
static size_t draw_sample(uint32_t *sample, const float *x, size_t n)
{
    const size_t m = n < MAX_SAMPLE ? n : MAX_SAMPLE;
    const struct strait_chance chance = strait_chance_at(0, 0);
    for (size_t i = 0; i < m; i++) {
        const size_t each = n / m, rest = n % m; /* begin is i n / m without overflow */
        const size_t begin = i * each + i * rest / m, end = (i + 1) * each + (i + 1) * rest / m;
        const uint64_t draw = strait_chance_bits(chance, (uint32_t)i);
        sample[i] = key_of(x[begin + (size_t)(draw * (end - begin) >> 32)]);
    }
    return m;
}

static void sort_digit(uint32_t *to, const uint32_t *from, size_t n, unsigned shift,
                       uint32_t *starts)
{
    memset(starts, 0, N_DIGITS * sizeof(*starts));
    for (size_t i = 0; i < n; i++)
        starts[from[i] >> shift & (N_DIGITS - 1)]++;
    uint32_t before = 0;
    for (size_t d = 0; d < N_DIGITS; d++) {
        const uint32_t here = starts[d];
        starts[d] = before;
        before += here;
    }
    for (size_t i = 0; i < n; i++)
        to[starts[from[i] >> shift & (N_DIGITS - 1)]++] = from[i];
}

/* The Q - 1 edges from m > 0 sorted keys: quantile i / Q is at position (m - 1) i / Q. */
static void place_edges(struct strait_quantiles *s, const uint32_t *sorted, size_t m)
{
    const uint32_t n_bins = s->n_bins;
    s->n_edges = 0;
    s->ranks[0] = 0;
    for (uint32_t i = 1; i < n_bins; i++) {
        const uint64_t at = (uint64_t)(m - 1) * i;
        const size_t below = (size_t)(at / n_bins), above = below + (at % n_bins != 0);
        const double a = (double)value_of(sorted[below]), b = (double)value_of(sorted[above]);
        const double part = (double)(at % n_bins) / (double)n_bins;
        const uint32_t edge = key_of((float)(a + (b - a) * part));
        if (s->n_edges == 0 || s->edges[s->n_edges - 1] != edge)
            s->edges[s->n_edges++] = edge;
        s->ranks[s->n_edges] = i;
    }
    for (size_t i = s->n_edges; i < 4 * (size_t)n_bins; i++)
        s->edges[i] = UINT32_MAX;
}

static struct search make_cells(struct strait_quantiles *s, struct span span)
{
    struct search search = {.low = span.low};
    while ((span.high - span.low) >> search.shift >= N_CELLS)
        search.shift++;
    const size_t n_cells = ((span.high - span.low) >> search.shift) + 1;
    uint32_t k = 0, most = 0;
    for (size_t c = 0; c <= n_cells; c++) {
        const uint64_t first = span.low + ((uint64_t)c << search.shift);
        const uint32_t before = k;
        while (k < s->n_edges && s->edges[k] <= first)
            k++;
        if (c < n_cells)
            s->cells[c] = (uint16_t)k;
        if (c > 0 && k - before > most)
            most = k - before;
    }
    while (((uint32_t)1 << search.n_steps) - 1 < most)
        search.n_steps++;
    return search;
}

void strait_quantiles_place(struct strait_quantiles *s, const float *x, size_t n)
{
    const size_t m = draw_sample(s->sample, x, n);
    sort_digit(s->other, s->sample, m, 0, s->digits);
    sort_digit(s->sample, s->other, m, DIGIT_BITS, s->digits);
    sort_digit(s->other, s->sample, m, 2 * DIGIT_BITS, s->digits);
    place_edges(s, s->other, m);
    s->search = make_cells(s, span_of(x, n));
}

/* The bin of each key: the number of edges <= it, at most 2^n_steps - 1 more than its cell's. */
STRAIT_CLONED
static void find(uint32_t *bins, const struct strait_quantiles *s, size_t n)
{
    const struct search search = s->search;
    for (size_t i = 0; i < n; i++)
        bins[i] = s->cells[(s->keys[i] - search.low) >> search.shift];
    for (uint32_t step = (uint32_t)1 << search.n_steps >> 1; step > 0; step >>= 1)
        for (size_t i = 0; i < n; i++)
            bins[i] += strait_choose_bits(s->edges[bins[i] + step - 1] <= s->keys[i], step, 0);
    for (size_t i = 0; i < n; i++)
        bins[i] = s->ranks[bins[i]];
}

void strait_quantiles_find(struct strait_quantiles *s, float *values, uint32_t *bins,
                           const float *x, size_t n)
{
    make_keys(values, s->keys, x, n);
    find(bins, s, n);
}
