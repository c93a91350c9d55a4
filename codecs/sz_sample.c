/* sz: what a few blocks say: where the values are centred, and whether differences are shorter. */
#include "sz_parts.h"
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 16, BUCKETS = 2 * 4 * 25 };

static size_t sample_at(size_t k, size_t n)
{
    const size_t n_blocks = n / SZ_BLOCK;
    return n_blocks <= SAMPLES ? k * SZ_BLOCK : k * n_blocks / SAMPLES * SZ_BLOCK;
}

static size_t samples_in(size_t n)
{
    return n / SZ_BLOCK < SAMPLES ? n / SZ_BLOCK : SAMPLES;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct sz_sample sz_sample_values(const float *x, size_t n)
{
    double sum = 0, squares = 0, count = 0, of_block[SAMPLES];
    const size_t n_samples = samples_in(n);
    for (size_t k = 0; k < n_samples; k++) {
        of_block[k] = 0;
        for (size_t i = 0; i < SZ_BLOCK; i++) {
            const double v = (double)x[sample_at(k, n) + i];
            if (!isfinite(v))
                continue;
            sum += v;
            of_block[k] += v * v;
            count++;
        }
        squares += of_block[k];
    }
    if (count < 1)
        return (struct sz_sample){0};
    qsort(of_block, n_samples, sizeof(of_block[0]), by_value);
    const double mean = sum / count, variance = squares / count - mean * mean;
    return (struct sz_sample){.centre = mean * mean > 4 * variance ? (float)mean : 0.0f,
                              .typical = sqrt(of_block[n_samples / 2] / SZ_BLOCK)};
}

/* Sign, octave and two more bits; what is below them is random and counted apart. */
static unsigned bucket_of(int32_t v, uint64_t *plain_bits)
{
    const uint32_t magnitude = v < 0 ? -(uint32_t)v : (uint32_t)v;
    if (magnitude < 4)
        return magnitude + (v < 0 ? 4 : 0);
    const unsigned octave = 31 - (unsigned)__builtin_clz(magnitude);
    *plain_bits += octave - 2;
    return 8 * (octave - 1) + (magnitude >> (octave - 2) & 3) + (v < 0 ? 4 : 0);
}

bool sz_sample_delta(const struct sz_logs *logs, const float *x, size_t n,
                     const struct sz_grid *grid)
{
    uint32_t level[BUCKETS] = {0}, step[BUCKETS] = {0};
    uint64_t level_bits = 0, step_bits = 0, level_sum = 0, step_sum = 0;
    int32_t q[SAMPLES][SZ_BLOCK];
    const size_t n_samples = samples_in(n);
    for (size_t k = 0; k < n_samples; k++) {
        sz_quantise(q[k], x + sample_at(k, n), SZ_BLOCK, grid);
        for (size_t i = 1; i < SZ_BLOCK; i++) {
            const int32_t d = q[k][i] - q[k][i - 1];
            level_sum += (uint32_t)(q[k][i] < 0 ? -q[k][i] : q[k][i]);
            step_sum += (uint32_t)(d < 0 ? -d : d);
        }
    }
    if (step_sum >= level_sum)
        return false;
    for (size_t k = 0; k < n_samples; k++)
        for (size_t i = 1; i < SZ_BLOCK; i++) {
            level[bucket_of(q[k][i], &level_bits)]++;
            step[bucket_of(q[k][i] - q[k][i - 1], &step_bits)]++;
        }
    level_bits = (level_bits << 16) + sz_entropy(logs, level, BUCKETS);
    step_bits = (step_bits << 16) + sz_entropy(logs, step, BUCKETS);
    const uint64_t margin = (n_samples * (SZ_BLOCK - 1) << 16) / 20; /* 0.05 bit a value */
    return step_bits + margin < level_bits;
}
