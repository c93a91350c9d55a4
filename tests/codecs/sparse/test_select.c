/* Choosing by magnitude, against a sort of all values. */
#include "codecs/sparse/select.h"
#include <stdbool.h>
#include <stdlib.h>
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

struct ranked {
    uint32_t magnitude, at;
};

static int larger_then_first(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;
    if (p->magnitude != q->magnitude)
        return p->magnitude < q->magnitude ? 1 : -1;
    return p->at < q->at ? -1 : 1;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return (p > q) - (p < q);
}

/* Whether select_largest agrees for several k. */
static void check_against_sort(const float *x, size_t n)
{
    const size_t ks[] = {1, 2, n / 1000, n / 100, n / 10, n / 3, n / 2, n - 1, n};
    struct ranked *all = malloc(n * sizeof(*all));
    uint32_t *expected = malloc(4 * n), *index = malloc(4 * n), *scratch = malloc(4 * n);
    CU_ASSERT_FATAL(all && expected && index && scratch);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        all[i] = (struct ranked){bits & 0x7fffffff, (uint32_t)i};
    }
    qsort(all, n, sizeof(*all), larger_then_first);
    for (size_t j = 0; j < sizeof(ks) / sizeof(ks[0]); j++) {
        const size_t k = ks[j];
        if (k == 0 || k > n)
            continue;
        for (size_t i = 0; i < k; i++)
            expected[i] = all[i].at;
        qsort(expected, k, sizeof(*expected), ascending);
        strait_select_largest(index, x, n, k, scratch);
        CU_ASSERT(memcmp(index, expected, 4 * k) == 0);
        const struct strait_kth kth = strait_kth_largest(x, n, k);
        size_t n_above = 0;
        while (all[n_above].magnitude > all[k - 1].magnitude)
            n_above++;
        CU_ASSERT(kth.magnitude == all[k - 1].magnitude && kth.n_above == n_above);
    }
    free(all);
    free(expected);
    free(index);
    free(scratch);
}

static void every_kind(void)
{
    static const size_t lengths[] = {1, 2, 3, 31, 32, 33, 100, 1000, 4095, 4096, 4097, 20011};
    for (int kind = 0; kind < N_TENSOR_KINDS; kind++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            float *x = malloc(4 * lengths[i]);
            CU_ASSERT_FATAL(x != NULL);
            make_tensor(x, lengths[i], (enum tensor_kind)kind, i);
            check_against_sort(x, lengths[i]);
            free(x);
        }
}

static void long_tensors(void)
{
    const size_t n = 300007;
    float *x = malloc(4 * n);
    CU_ASSERT_FATAL(x != NULL);
    for (int kind = TENSOR_WEIGHTS; kind <= TENSOR_BITS; kind += 3) {
        make_tensor(x, n, (enum tensor_kind)kind, 5);
        check_against_sort(x, n);
    }
    free(x);
}

static void equal_magnitudes(void)
{
    const size_t n = 30000;
    float *x = malloc(4 * n);
    CU_ASSERT_FATAL(x != NULL);
    for (uint64_t n_levels = 1; n_levels <= 5; n_levels++) {
        for (size_t i = 0; i < n; i++) { /* -2 .. 2 at the most, and -0 */
            const uint64_t bits = strait_random_bits(n_levels, "levels", i, 0);
            x[i] = (float)(bits % n_levels) * (bits >> 40 & 1 ? -0.5f : 0.5f);
        }
        check_against_sort(x, n);
    }
    free(x);
}

/* Ramps, where the largest stand together; and a tensor whose values are large just where the
 * sample of select.c looks, so that it expects more of them than there are. */
static void misleading_orders(void)
{
    const size_t n = 1 << 16, stretch = 64;
    float *x = malloc(4 * n);
    CU_ASSERT_FATAL(x != NULL);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i;
    check_against_sort(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = -(float)(n - i);
    check_against_sort(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % stretch); /* a period of the sample's */
    check_against_sort(x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = 1 + (float)i / (float)n;
    for (size_t i = 0; i < n / stretch; i++)
        x[i * stretch + (((uint32_t)i * 0x9e3779b9u) >> 7) % stretch] += 100;
    check_against_sort(x, n);
    free(x);
}

/* The numbers 1 .. n in a scrambled order: the k-th largest is n + 1 - k. */
static void closed_form(void)
{
    enum { N = 10007, STEP = 4999 }; /* both prime: i STEP mod N takes every value */
    static float x[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(i * STEP % N + 1) * (i % 2 ? -1.0f : 1.0f);
    for (size_t k = 1; k <= N; k += 101) {
        const struct strait_kth kth = strait_kth_largest(x, N, k);
        CU_ASSERT(strait_magnitude_float(kth.magnitude) == (float)(N + 1 - k));
        CU_ASSERT_EQUAL(kth.n_above, k - 1);
    }
}

static void thresholds(void)
{
    struct strait_sequence s = strait_sequence_at(3);
    for (int i = 0; i < 20000; i++) {
        /* Any positive double that is at most the largest float, at and between floats. */
        const float f =
            float_of_bits((uint32_t)(strait_sequence_next(&s) % STRAIT_MAGNITUDE_LARGEST));
        const double t = i % 2 ? (double)f : (double)f * (1 + 1e-9 * strait_sequence_unit(&s));
        const uint32_t m = strait_magnitude_of_least(t);
        CU_ASSERT((double)strait_magnitude_float(m) >= t);
        CU_ASSERT(m == 0 || (double)strait_magnitude_float(m - 1) < t);
    }
    CU_ASSERT_EQUAL(strait_magnitude_of_least(0), 0);
    CU_ASSERT_EQUAL(strait_magnitude_of_least(1e-60), 1); /* the smallest float that is not 0 */
    CU_ASSERT_EQUAL(strait_magnitude_of_least(1e39), 0x7f800000);
    CU_ASSERT_EQUAL(strait_magnitude_of_least((double)INFINITY), 0x7f800000);
}

static void those_that_reach(void)
{
    static const double at[] = {0, 1e-40, 0.02, 1, 1e38, 1e39};
    const size_t n = 70001;
    float *x = malloc(4 * n);
    uint32_t *index = malloc(4 * n);
    CU_ASSERT_FATAL(x && index);
    for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
        make_tensor(x, n, (enum tensor_kind)kind, 8);
        for (size_t j = 0; j < sizeof(at) / sizeof(at[0]); j++) {
            const uint32_t least = strait_magnitude_of_least(at[j]);
            const size_t got = strait_select_reaching(index, x, n, least);
            size_t expected = 0;
            bool good = true;
            for (size_t i = 0; i < n; i++) /* at 1e39 nothing but infinities and NaN */
                if (isnan(x[i]) || fabs((double)x[i]) >= at[j]) {
                    good = good && expected < got && index[expected] == i;
                    expected++;
                }
            CU_ASSERT(good);
            CU_ASSERT_EQUAL(got, expected);
            CU_ASSERT_EQUAL(strait_count_reaching(x, n, least), expected);
        }
    }
    free(x);
    free(index);
}

static const struct strait_test tests[] = {
    {"the k largest are those of a sort, for every kind of tensor and length", every_kind},
    {"the same on long tensors", long_tensors},
    {"of equal magnitudes the first are chosen", equal_magnitudes},
    {"an order that misleads the sample changes nothing", misleading_orders},
    {"the k-th largest of 1 to n is n + 1 - k", closed_form},
    {"a threshold is the least float that is no smaller", thresholds},
    {"what reaches a threshold is counted and listed", those_that_reach},
};
STRAIT_SUITE("codecs/sparse/select", tests);
