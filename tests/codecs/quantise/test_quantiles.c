/* Bins of equally many values, counted from all edges. */
#include "codecs/quantise/quantiles.h"
#include <math.h>
#include <stdlib.h>
#include "core/heap.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 4000, MAX_BINS = 3000 };

static float kept(float x)
{
    return isfinite(x) && x != 0 ? x : 0;
}

/* Edge i is the quantile i / n_bins, interpolated; a value's bin is how many edges it reaches. */
static void expect_bins(const float *x, size_t n, uint32_t n_bins)
{
    static double sorted[MAX];
    static float edges[MAX_BINS], values[MAX];
    static uint32_t bins[MAX];
    for (size_t i = 0; i < n; i++)
        sorted[i] = (double)kept(x[i]);
    strait_sort(sorted, n);
    for (uint32_t i = 1; i < n_bins; i++) {
        const size_t at = (n - 1) * i, below = at / n_bins, rest = at % n_bins;
        const double a = sorted[below], b = sorted[below + (rest != 0)];
        edges[i] = (float)(a + (b - a) * ((double)rest / n_bins));
    }
    struct strait_quantiles *s = strait_quantiles_new(n_bins);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    strait_quantiles_place(s, x, n);
    strait_quantiles_find(s, values, bins, x, n);
    strait_quantiles_free(s);
    for (size_t i = 0; i < n; i++) {
        uint32_t wanted = 0;
        for (uint32_t k = 1; k < n_bins; k++)
            wanted = edges[k] <= kept(x[i]) ? k : wanted;
        if (bins[i] != wanted || values[i] != kept(x[i]) || signbit(values[i]) != (values[i] < 0)) {
            CU_ASSERT_EQUAL(bins[i], wanted);
            CU_ASSERT_EQUAL(values[i], kept(x[i]));
            return;
        }
    }
}

/* Values that crowd at the bottom, at the top, in the middle or in two places of a wide range, few
 * that are all alike, and some that are no numbers: the table of cells is right about all. */
static void crowds(void)
{
    static float x[MAX];
    static const uint32_t n_bins[] = {2, 3, 16, 255, MAX_BINS};
    struct strait_sequence s = strait_sequence_at(strait_test_seed());
    for (int kind = 0; kind < 8; kind++)
        for (size_t k = 0; k < sizeof(n_bins) / sizeof(*n_bins); k++)
            for (size_t n = 1; n <= MAX; n = n < 10 ? n + 1 : 20 * n) {
                strait_test_context("kind %d, %u bins, %zu values", kind, n_bins[k], n);
                for (size_t i = 0; i < n; i++) {
                    const float u = (float)strait_sequence_unit(&s);
                    const float wide[] = {
                        1 + 1e-4f * u,  1e6f - u,        i % 2 ? u : 1e5f + u,   -1 - 1e-4f * u,
                        (float)(i % 3), 0.0f * u - 0.0f, i % 5 ? u - 0.5f : NAN, 1e-40f * u};
                    x[i] = wide[kind];
                }
                if (n > 2 && kind < 4) { /* the ends of the range */
                    x[n / 2] = kind == 3 ? -1e6f : 1e6f;
                    x[n / 3] = kind == 1 ? -1e6f : x[n / 3];
                }
                expect_bins(x, n, n_bins[k]);
            }
}

static const struct strait_test tests[] = {
    {"a value's bin is how many edges it reaches, however values crowd", crowds},
};
STRAIT_SUITE("codecs/quantise/quantiles", tests);
