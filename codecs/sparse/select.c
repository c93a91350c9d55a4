/* Select values by magnitude: thresholds, and the exact k largest. */
#include "select.h"
#include <assert.h>
#include <stdbool.h>

enum {
    TOP_BITS = 11, /* sign excluded: 8 of the exponent, 3 of the fraction */
    LOW_BITS = 10,
    N_TOP = 1 << TOP_BITS,
    N_LOW = 1 << LOW_BITS,
    BLOCK = 32,            /* values that are tested at once */
    MIN_SAMPLED = 1 << 12, /* smaller tensors are counted whole */
    SAMPLE_SHARE = 64,
    MAX_SAMPLE = 1 << 14
};

uint32_t strait_magnitude_of_least(double t)
{
    if (!(t <= (double)strait_magnitude_float(STRAIT_MAGNITUDE_LARGEST)))
        return STRAIT_MAGNITUDE_LARGEST + 1u;
    const float near = (float)t;
    return strait_magnitude(&near) + ((double)near < t);
}

size_t strait_count_reaching(const float *x, size_t n_elems, uint32_t least)
{
    size_t n = 0;
    for (size_t from = 0; from < n_elems; from += 1 << 16) {
        const size_t end = n_elems - from < 1 << 16 ? n_elems : from + (1 << 16);
        uint32_t count = 0;
        for (size_t i = from; i < end; i++)
            count += (int32_t)strait_magnitude(&x[i]) >= (int32_t)least;
        n += count;
    }
    return n;
}

static inline bool any_reaches(const float *x, uint32_t least)
{
    uint32_t any = 0;
    for (size_t i = 0; i < BLOCK; i++)
        any |= (int32_t)strait_magnitude(&x[i]) >= (int32_t)least ? 1u : 0u;
    return any != 0;
}

size_t strait_select_reaching(uint32_t *index, const float *x, size_t n_elems, uint32_t least)
{
    size_t n = 0, i = 0;
    for (; i + BLOCK <= n_elems; i += BLOCK) {
        if (!any_reaches(x + i, least))
            continue;
        for (size_t k = i; k < i + BLOCK; k++) { /* n <= k: within n_elems */
            index[n] = (uint32_t)k;
            n += strait_magnitude(&x[k]) >= least;
        }
    }
    for (; i < n_elems; i++) {
        index[n] = (uint32_t)i;
        n += strait_magnitude(&x[i]) >= least;
    }
    return n;
}

static inline uint32_t magnitude_at(const void *values, size_t i)
{
    uint32_t bits;
    memcpy(&bits, (const unsigned char *)values + 4 * i, sizeof(bits));
    return bits & STRAIT_MAGNITUDE_MASK;
}

/* From the largest digit down to the one that holds the k-th; adds the number passed to
 * *n_above. */
static uint32_t digit_of(const uint32_t *count, uint32_t n_digits, size_t k, size_t *n_above)
{
    uint32_t digit = n_digits - 1;
    while (*n_above + count[digit] < k) {
        *n_above += count[digit];
        assert(digit > 0);
        digit--;
    }
    return digit;
}

struct strait_kth strait_kth_largest(const void *values, size_t n, size_t k)
{
    uint32_t count[N_TOP] = {0};
    size_t n_above = 0;
    assert(k >= 1 && k <= n);
    for (size_t i = 0; i < n; i++)
        count[magnitude_at(values, i) >> 2 * LOW_BITS]++;
    uint32_t prefix = digit_of(count, N_TOP, k, &n_above);
    for (unsigned shift = LOW_BITS;; shift = 0) {
        memset(count, 0, N_LOW * sizeof(count[0]));
        for (size_t i = 0; i < n; i++) {
            const uint32_t m = magnitude_at(values, i) >> shift;
            if (m >> LOW_BITS == prefix)
                count[m % N_LOW]++;
        }
        prefix = prefix << LOW_BITS | digit_of(count, N_LOW, k, &n_above);
        if (shift == 0)
            return (struct strait_kth){prefix, n_above};
    }
}

/* A magnitude that slightly more than k values should reach. Samples one value of every stretch of
 * equal length, at a hashed place, so that periodic tensors do no harm. */
static uint32_t guess(const float *x, size_t n_elems, size_t k, uint32_t *sample)
{
    size_t n = n_elems / SAMPLE_SHARE;
    n = n > MAX_SAMPLE ? MAX_SAMPLE : n;
    const size_t stretch = n_elems / n;
    for (size_t i = 0; i < n; i++) {
        const size_t hash = ((uint32_t)i * 0x9e3779b9u) >> 7;
        sample[i] = strait_magnitude(&x[i * stretch + hash % stretch]);
    }
    /* Five standard deviations of the rank in the sample; the variance is at most the mean. */
    const size_t mean = (size_t)((double)k / (double)n_elems * (double)n) + 1;
    size_t deviation = 1;
    while (deviation * deviation < mean)
        deviation++;
    const size_t rank = mean + 5 * deviation;
    return rank > n ? 0 : strait_kth_largest(sample, n, rank).magnitude;
}

static void select_from_all(uint32_t *index, const float *x, size_t n_elems, size_t k)
{
    const struct strait_kth kth = strait_kth_largest(x, n_elems, k);
    size_t n_equal = k - kth.n_above, n = 0;
    for (size_t i = 0; n < k; i++) {
        const uint32_t m = strait_magnitude(&x[i]);
        const bool equal = m == kth.magnitude && n_equal > 0;
        index[n] = (uint32_t)i;
        n_equal -= equal;
        n += m > kth.magnitude || equal;
    }
}

/* The same among candidates, whose magnitudes are stored beside their positions. */
static void select_from_some(uint32_t *index, size_t k, const uint32_t *at, const uint32_t *m,
                             size_t n_candidates)
{
    const struct strait_kth kth = strait_kth_largest(m, n_candidates, k);
    size_t n_equal = k - kth.n_above, n = 0;
    for (size_t i = 0; n < k; i++) {
        const bool equal = m[i] == kth.magnitude && n_equal > 0;
        index[n] = at[i];
        n_equal -= equal;
        n += m[i] > kth.magnitude || equal;
    }
}

void strait_select_largest(uint32_t *index, const float *x, size_t n_elems, size_t k,
                           uint32_t *scratch)
{
    assert(k <= n_elems && n_elems <= STRAIT_MAGNITUDE_MASK);
    if (k == 0)
        return;
    const uint32_t least = n_elems >= MIN_SAMPLED ? guess(x, n_elems, k, scratch) : 0;
    if (least > 0) {
        const size_t n = strait_select_reaching(scratch, x, n_elems, least);
        if (n >= k && 2 * n <= n_elems) {
            for (size_t i = 0; i < n; i++)
                scratch[n + i] = strait_magnitude(&x[scratch[i]]);
            select_from_some(index, k, scratch, scratch + n, n);
            return;
        }
    }
    select_from_all(index, x, n_elems, k);
}
