/* AdaQ: positive and negative values each have their own threshold, found on a sample of 1 % and
 * then moved, up to 20 times, until the number chosen is within [0.8, 1.25] of its target (Dryden,
 * Moon, Jacobs, Van Essen, MLHPC 2016; the loop as in GRACE for TensorFlow). Zeros are never
 * chosen. */
#include "sparse.h"
#include "core/random.h"
#include "select.h"
#include "subset.h"

enum { MAX_ADJUSTMENTS = 20 };

static size_t rounded_up(double v)
{
    const size_t n = (size_t)v;
    return n + ((double)n < v);
}

static size_t count_from(const uint32_t *m, size_t n, uint32_t least)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (int32_t)m[i] >= (int32_t)least;
    return count;
}

static float finite(float threshold)
{
    const uint32_t m = strait_magnitude(&threshold);
    return strait_magnitude_float(m > STRAIT_MAGNITUDE_LARGEST ? STRAIT_MAGNITUDE_LARGEST : m);
}

/* The smallest chosen magnitude of m[n], the values of one sign, none of them 0. */
static uint32_t cut_of(const uint32_t *m, size_t n, double ratio, uint64_t key, uint32_t *sample)
{
    if (n == 0)
        return STRAIT_MAGNITUDE_MASK;
    const double share = (double)rounded_up((double)n * ratio);
    const size_t n_sample = rounded_up((double)n * 0.01);
    size_t k = rounded_up((double)n * 0.01 * ratio);
    k = k < 1 ? 1 : k < n_sample ? k : n_sample;
    struct strait_sequence s = strait_sequence_at(key);
    for (size_t i = 0; i < n_sample; i++)
        sample[i] = m[strait_below(strait_sequence_next(&s), (uint32_t)n)];
    float threshold =
        finite(strait_magnitude_float(strait_kth_largest(sample, n_sample, k).magnitude));

    /* Strictly above in the first and last count, "at least" in between: as published. */
    double chosen = (double)count_from(m, n, strait_magnitude(&threshold) + 1);
    for (int i = 0; i < MAX_ADJUSTMENTS; i++) {
        if (chosen > 1.25 * share)
            threshold = finite(1.25f * threshold);
        else if (chosen < 0.8 * share)
            threshold = 0.9f * threshold;
        else
            break;
        chosen = (double)count_from(m, n, strait_magnitude(&threshold));
    }
    if (chosen < 1)
        threshold = 0.8f * threshold;
    return strait_magnitude(&threshold) + 1;
}

static size_t max_chosen(const struct strait_sparsifier_params *p, size_t n_elems)
{
    (void)p;
    return n_elems;
}

static size_t choose(uint32_t *index, const float *x, size_t n_elems,
                     const struct strait_sparsifier_params *p, uint64_t key, uint32_t *scratch)
{
    size_t n_plus = 0, n_minus = 0, n = 0;
    for (size_t i = 0; i < n_elems; i++) { /* from both ends: together they never exceed n_elems */
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        const uint32_t m = bits & STRAIT_MAGNITUDE_MASK;
        scratch[n_plus] = m;
        scratch[n_elems - 1 - n_minus] = m;
        n_plus += (m != 0) & (bits >> 31 == 0);
        n_minus += (m != 0) & (bits >> 31 != 0);
    }
    const uint32_t least[2] = {cut_of(scratch, n_plus, p->ratio,
                                      strait_random_bits(key, "adaq sample", n_elems, 0), index),
                               cut_of(scratch + (n_elems - n_minus), n_minus, p->ratio,
                                      strait_random_bits(key, "adaq sample", n_elems, 1), index)};
    const size_t n_either =
        strait_select_reaching(index, x, n_elems, least[0] < least[1] ? least[0] : least[1]);
    for (size_t i = 0; i < n_either; i++) {
        uint32_t bits;
        memcpy(&bits, &x[index[i]], sizeof(bits));
        index[n] = index[i];
        n += (bits & STRAIT_MAGNITUDE_MASK) >= least[bits >> 31];
    }
    return n;
}

const struct strait_sparsifier strait_sparsifier_adaq = {
    .name = "adaq",
    .source = "Dryden et al. 2016, sampled thresholds as in GRACE",
    .stochastic = true,
    .max_chosen = max_chosen,
    .choose = choose,
};
