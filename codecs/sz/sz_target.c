/* sz: find the bound at which a tensor has a given ratio: the size of coded samples is smooth in
 * the logarithm of the bound, so a few of them suffice. */
#include <math.h>
#include "sz_whole.h"

enum {
    SAMPLE_BLOCKS = SZ_SEGMENT / SZ_BLOCK,
    MAX_TRIES = 16,
    MAGNITUDE_SHIFT = 20,
    MAGNITUDES = 1 << (31 - MAGNITUDE_SHIFT)
};

struct search {
    struct sz_encoder *e; /* e->value holds the sample */
    size_t n, n_sampled;
    double weight;    /* values that each sampled value stands for; the others are zeros */
    double zero_bits; /* bits that tell which blocks are zeros */
    float centre;
};

/* Magnitude of a block in eighths of an octave. */
static unsigned magnitude_of(const float *x)
{
    uint32_t most = 0;
    for (unsigned i = 0; i < SZ_BLOCK; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return most >> MAGNITUDE_SHIFT;
}

/* All of a small tensor, else blocks evenly spread over the order of magnitudes, so that rare
 * magnitudes occur as often as in the tensor. Blocks of zeros cost nothing and are left out. */
static void take_sample(struct search *s, const float *x)
{
    struct sz_encoder *e = s->e;
    enum { MAX_BLOCKS = sizeof(e->words) / sizeof(e->words[0]) };
    uint32_t rank[MAGNITUDES] = {0}, below = 0;
    s->weight = 1;
    s->n_sampled = s->n;
    if (s->n <= SZ_SEGMENT) {
        memcpy(e->value, x, s->n * sizeof(*x));
        return;
    }
    const size_t every = s->n / SZ_BLOCK / MAX_BLOCKS + 1, n_blocks = s->n / SZ_BLOCK / every;
    for (size_t i = 0; i < n_blocks; i++)
        rank[e->words[i] = (uint16_t)magnitude_of(x + i * every * SZ_BLOCK)]++;
    const uint32_t n_zero = rank[0], n_live = (uint32_t)n_blocks - n_zero;
    for (size_t i = 1; i < MAGNITUDES; i++) {
        const uint32_t here = rank[i];
        rank[i] = below;
        below += here;
    }
    size_t n_taken = 0;
    const uint64_t wanted = n_live < SAMPLE_BLOCKS ? n_live : SAMPLE_BLOCKS;
    for (size_t i = 0; i < n_blocks; i++) {
        if (e->words[i] == 0)
            continue;
        const uint64_t at = rank[e->words[i]]++;
        if (at * wanted / n_live != (at + 1) * wanted / n_live)
            memcpy(e->value + n_taken++ * SZ_BLOCK, x + i * every * SZ_BLOCK,
                   SZ_BLOCK * sizeof(*x));
    }
    const double live = (double)n_live / (double)n_blocks, n = (double)s->n;
    s->n_sampled = n_taken * SZ_BLOCK;
    s->weight = n_taken > 0 ? n * live / (double)s->n_sampled : 0;
    if (n_zero > 0 && n_live > 0)
        s->zero_bits = -n / SZ_BLOCK * (live * sz_log2(live) + (1 - live) * sz_log2(1 - live));
}

/* Bits a value at a bound of 2^octave. */
static double bits_at(const struct search *s, double octave)
{
    struct sz_encoder *e = s->e;
    struct sz_chain chain;
    struct sz_head head = {.mode = SZ_SEGMENTS, .n_elems = s->n_sampled};
    struct strait_writer w = {.p = e->bytes, .end = e->bytes + sizeof(e->bytes)};
    if (!sz_grid_for(&head.grid, sz_exp2(octave), s->centre))
        return 32;
    sz_chain_begin(&chain);
    sz_write_head(&w, &head);
    const size_t head_bytes = (size_t)(w.p - e->bytes);
    if (s->n <= SZ_FIXED_ELEMS) {
        struct sz_fixed fixed;
        sz_fixed_quantise(&fixed, e->value, s->n, &head);
        sz_fixed_write(&w, &fixed, s->n);
        return 8 * (double)(w.p - e->bytes) / (double)s->n;
    }
    head.delta = sz_sample_delta(e, e->value, s->n_sampled, &head.grid) > 0;
    memset(e->version, 0, sizeof(e->version));
    sz_segment_split(e, e->value, s->n_sampled, &head, 0);
    sz_chain_choose(e, &chain, s->n_sampled);
    sz_segment_write(e, &w, e->value, s->n_sampled, &head, 0);
    /* Tables count once, the samples as often as they fit. */
    const double once = (double)(e->table_bytes + head_bytes);
    const double often = (double)(w.p - e->bytes) - once;
    return (8 * (once + often * s->weight) + s->zero_bits) / (double)s->n;
}

double sz_target_bound(struct sz_encoder *e, const float *x, size_t n, double ratio,
                       const struct strait_extent *extent)
{
    const double aim = 32 / ratio;
    const double largest = fmax(fabs(extent->min), fabs(extent->max));
    if (n == 0 || !(largest > 0) || aim > 31)
        return 0;
    struct search s = {.e = e, .n = n};
    take_sample(&s, x);
    if (s.n_sampled <= SZ_FIXED_ELEMS && n > SZ_FIXED_ELEMS)
        return largest; /* almost only zeros */
    const struct sz_sample sample = sz_sample_values(e->value, s.n_sampled, false);
    s.centre = sample.centre;
    const double top = sz_log2(largest) + 1, spread = sample.typical;
    /* If many values are spread evenly over steps, each bit less doubles the step. */
    double octave = spread > 0 ? sz_log2(spread) + 1 - aim : top - 4 - aim;
    double low = -110, high = top, bits_low = 32, bits_high = 0;
    bool found_low = false, found_high = false, found = false;
    for (unsigned tries = 0; tries < MAX_TRIES && high - low > 0x1p-10; tries++) {
        octave = octave < low ? low : octave > high ? high : octave;
        const double bits = bits_at(&s, octave);
        found = fabs(bits - aim) < 0.002 * aim;
        if (bits > aim) {
            low = octave;
            bits_low = bits;
            found_low = true;
        } else {
            high = octave;
            bits_high = bits;
            found_high = true;
        }
        if (found)
            break;
        if (found_low && found_high) {
            const double part = (bits_low - aim) / (bits_low - bits_high);
            const bool late = tries > MAX_TRIES / 2;
            octave = low + (high - low) * (late ? 0.5 : fmin(fmax(part, 0.02), 0.98));
        } else {
            const double step = bits - aim;
            octave += step < 0 ? fmin(step, -0.5) : fmax(step, 0.5);
        }
    }
    /* If no bound gives just this ratio, as with mostly zeros, one that gives more. */
    return sz_exp2(found ? octave : high);
}
