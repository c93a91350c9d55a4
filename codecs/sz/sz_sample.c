/* sz: estimates from a few blocks: the centre of the values, and whether differences are
 * shorter. */
#include "core/heap.h"
#include "sz_kernels.h"
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = SZ_SAMPLES, BUCKETS = 2 * 4 * 25 };

static size_t sample_at(size_t k, size_t n)
{
    const size_t n_blocks = n / SZ_BLOCK;
    return n_blocks <= SAMPLES ? k * SZ_BLOCK : k * n_blocks / SAMPLES * SZ_BLOCK;
}

static size_t samples_in(size_t n)
{
    return n / SZ_BLOCK < SAMPLES ? n / SZ_BLOCK : SAMPLES;
}

static inline double finite_or_0(float x)
{
    return isfinite(x) ? (double)x : 0;
}

/* Sum several blocks side by side, each in the order of its values. */
enum { SIDE_BY_SIDE = 4 };

static inline void add_up(double *sums, double *squares, const float *const *x, bool all_finite)
{
    double sum[SIDE_BY_SIDE] = {0}, square[SIDE_BY_SIDE] = {0};
    for (size_t i = 0; i < SZ_BLOCK; i++)
        for (size_t k = 0; k < SIDE_BY_SIDE; k++) {
            const double v = all_finite ? (double)x[k][i] : finite_or_0(x[k][i]);
            sum[k] += v;
            square[k] += v * v;
        }
    memcpy(sums, sum, sizeof(sum));
    memcpy(squares, square, sizeof(square));
}

/* Sum in order: the centre is computed from this. */
static double sum_in_order(const float *x, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < samples_in(n); k++)
        for (size_t i = 0; i < SZ_BLOCK; i++)
            sum += finite_or_0(x[sample_at(k, n) + i]);
    return sum;
}

/* Whether the mean of finite values is surely below 0.7 of their root mean square: their mean size,
 * which is no larger, is over the mean by more than sums in float may be off. */
STRAIT_CLONED
static bool is_balanced(const float *x, size_t n)
{
    enum { LANES = 32 };
    typedef float lanes __attribute__((vector_size(4 * LANES)));
    typedef int32_t bits __attribute__((vector_size(4 * LANES)));
    lanes sum = {0}, size = {0};
    for (size_t k = 0; k < samples_in(n); k++) {
        const float *block = x + sample_at(k, n);
        for (size_t i = 0; i < SZ_BLOCK; i += LANES) {
            lanes v;
            memcpy(&v, block + i, sizeof(v));
            sum += v;
            size += (lanes)((bits)v & INT32_MAX);
        }
    }
    double sums = 0, sizes = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        sums += (double)sum[lane];
        sizes += (double)size[lane];
    }
    return fabs(sums) < 0.7 * sizes || !(sizes > 0); /* not where they overflowed */
}

static size_t finite_in(const float *x)
{
    size_t n_finite = 0;
    for (size_t i = 0; i < SZ_BLOCK; i++)
        n_finite += isfinite(x[i]) != 0;
    return n_finite;
}

struct sz_sample sz_sample_values(const float *x, size_t n, bool all_finite)
{
    double rough = 0, squares = 0, of_block[SAMPLES], sum_of_block[SAMPLES];
    const float *block[SAMPLES];
    const size_t n_samples = samples_in(n);
    size_t n_finite = 0;
    for (size_t k = 0; k < SAMPLES; k++) /* with fewer blocks: the first again */
        block[k] = x + sample_at(k < n_samples ? k : 0, n);
    for (size_t k = 0; k < n_samples; k += SIDE_BY_SIDE)
        if (all_finite) /* a loop of its own, without tests */
            add_up(sum_of_block + k, of_block + k, block + k, true);
        else
            add_up(sum_of_block + k, of_block + k, block + k, false);
    for (size_t k = 0; k < n_samples; k++) {
        rough += sum_of_block[k];
        squares += of_block[k];
        n_finite += all_finite ? SZ_BLOCK : finite_in(block[k]);
    }
    if (n_finite == 0)
        return (struct sz_sample){0};
    const double count = (double)n_finite, mean_square = squares / count;
    struct sz_sample sample = {0};
    /* mean^2 > 4 (mean_square - mean^2) is impossible at half of mean_square, however it is
     * rounded */
    if (rough / count * (rough / count) >= 0.5 * mean_square) {
        const double mean = sum_in_order(x, n) / count;
        const double variance = mean_square - mean * mean;
        sample.centre = mean * mean > 4 * variance ? (float)mean : 0.0f;
    }
    strait_sort(of_block, n_samples);
    sample.typical = sqrt(of_block[n_samples / 2] / SZ_BLOCK);
    return sample;
}

float sz_sample_centre(const float *x, size_t n, bool all_finite)
{
    return all_finite && is_balanced(x, n) ? 0 : sz_sample_values(x, n, all_finite).centre;
}

static uint32_t magnitude_of(int32_t v)
{
    return v < 0 ? -(uint32_t)v : (uint32_t)v;
}

/* Sum of the magnitudes of differences, below 256 * 2^23. */
STRAIT_CLONED
static uint32_t steps_in(const int32_t *q)
{
    uint32_t steps = 0;
    for (size_t i = 1; i < SZ_BLOCK; i++)
        steps += magnitude_of(q[i] - q[i - 1]);
    return steps;
}

/* Sign, octave and two more bits; the bits below are random and counted apart. */
static unsigned bucket_of(int32_t v, uint64_t *plain_bits)
{
    const uint32_t magnitude = magnitude_of(v);
    if (magnitude < 4)
        return magnitude + (v < 0 ? 4 : 0);
    const unsigned octave = 31 - (unsigned)__builtin_clz(magnitude);
    *plain_bits += octave - 2;
    return 8 * (octave - 1) + (magnitude >> (octave - 2) & 3) + (v < 0 ? 4 : 0);
}

double sz_sample_delta(struct sz_encoder *e, const float *x, size_t n, const struct sz_grid *grid)
{
    uint32_t level[BUCKETS] = {0}, step[BUCKETS] = {0};
    uint64_t level_bits = 0, step_bits = 0, level_sum = 0, step_sum = 0;
    struct sz_known *known = &e->split.known;
    int32_t(*q)[SZ_BLOCK] = known->q;
    const size_t n_samples = samples_in(n);
    for (size_t k = 0; k < n_samples; k++) {
        struct sz_stats *stats = &known->stats[k];
        known->marked[k] = e->kernels->quantise(q[k], stats, x + sample_at(k, n), grid, NULL);
        level_sum += stats->sum - magnitude_of(q[k][0]);
        step_sum += steps_in(q[k]);
    }
    known->n_blocks = n / SZ_BLOCK <= SAMPLES ? (unsigned)n_samples : 0;
    if (step_sum >= level_sum)
        return 0;
    for (size_t k = 0; k < n_samples; k++)
        for (size_t i = 1; i < SZ_BLOCK; i++) {
            level[bucket_of(q[k][i], &level_bits)]++;
            step[bucket_of(q[k][i] - q[k][i - 1], &step_bits)]++;
        }
    level_bits = (level_bits << 16) + sz_entropy(&e->logs, level, BUCKETS);
    step_bits = (step_bits << 16) + sz_entropy(&e->logs, step, BUCKETS);
    const uint64_t n_steps = n_samples * (SZ_BLOCK - 1) << 16, margin = n_steps / 20; /* 0.05 bit */
    return step_bits + margin < level_bits ? (double)(level_bits - step_bits) / (double)n_steps : 0;
}
