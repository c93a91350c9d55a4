#include <math.h>
#include <string.h>
#include "codecs/bound.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

static double absolute(enum strait_bound_kind kind, double value, const float *x, size_t n)
{
    return strait_bound_absolute((struct strait_bound){kind, value}, x, n);
}

static void definitions(void)
{
    static const float x[] = {-3, 1, 5, 1};
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_ABS, 0.5, x, 4), 0.5);
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_RANGE, 0.5, x, 4), 4); /* (5 + 3) / 2 */
    CU_ASSERT_DOUBLE_EQUAL(absolute(STRAIT_BOUND_RMS, 0.5, x, 4), 1.5,
                           1e-15); /* sqrt(36 / 4) / 2 */
}

static void finite_only(void)
{
    static const float x[] = {NAN, 3, INFINITY, 4, -INFINITY, -NAN};
    static const float broken[] = {NAN, INFINITY};
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_RANGE, 1, x, 6), 1);
    CU_ASSERT_DOUBLE_EQUAL(absolute(STRAIT_BOUND_RMS, 1, x, 6), sqrt(12.5), 1e-15);
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_ABS, 1, broken, 2), 0);
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_RANGE, 1, broken, 2), 0);
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_RMS, 1, broken, 2), 0);
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_RMS, 1, x, 0), 0);
}

/* In float, 3e38 - -3e38 would be infinite and (3e38)^2 too. */
static void in_double(void)
{
    static const float x[] = {3e38f, -3e38f};
    CU_ASSERT_EQUAL(absolute(STRAIT_BOUND_RANGE, 1, x, 2), 2 * (double)3e38f);
    CU_ASSERT_DOUBLE_EQUAL(absolute(STRAIT_BOUND_RMS, 1, x, 2), (double)3e38f, 1e24);
}

static void every_length(void)
{
    float x[40];
    for (size_t n = 1; n <= 40; n++) {
        double squares = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(i * i) - 100;
            squares += (double)x[i] * (double)x[i];
        }
        const struct strait_extent e = strait_extent_of(x, n);
        CU_ASSERT(e.min == -100 && e.max == (double)((n - 1) * (n - 1)) - 100);
        CU_ASSERT(e.all_finite && e.n_finite == n);
        CU_ASSERT_DOUBLE_EQUAL(strait_rms_of(x, n), sqrt(squares / (double)n), 1e-9);
    }
}

/* Every level finds what a plain loop over the definition finds. */
static void every_level(void)
{
    enum { N = 700 };
    float x[N];
    struct strait_sequence s = strait_sequence_at(3);
    for (unsigned kind = 0; kind < N_TENSOR_KINDS; kind++)
        for (size_t n = 0; n <= N; n += n < 70 ? 1 : 90) {
            make_tensor(x, N, (enum tensor_kind)kind, strait_sequence_next(&s));
            double min = INFINITY, max = -INFINITY;
            size_t n_finite = 0;
            for (size_t i = 0; i < n; i++)
                if (isfinite(x[i])) {
                    min = fmin(min, (double)x[i]);
                    max = fmax(max, (double)x[i]);
                    n_finite++;
                }
            for (unsigned level = 0; level <= (unsigned)strait_simd_best(); level++) {
                const struct strait_extent e = strait_extent_at((enum strait_simd)level, x, n);
                CU_ASSERT_EQUAL(e.n_finite, n_finite);
                CU_ASSERT_EQUAL(e.all_finite, n_finite == n);
                CU_ASSERT(n_finite > 0 ? e.min == min && e.max == max : e.min == 0 && e.max == 0);
            }
        }
}

/* Doubles of which the order of addition shows: the sum is over eight lanes, value i in lane i % 8,
 * and the lanes in their order at last. */
static void lanes(void)
{
    enum { N = 1003 };
    float x[N];
    make_tensor(x, N, TENSOR_ROWS, 9);
    double lane[8] = {0}, sum = 0, straight = 0;
    for (size_t i = 0; i < N; i++) {
        lane[i % 8] += (double)x[i] * (double)x[i];
        straight += (double)x[i] * (double)x[i];
    }
    for (size_t k = 0; k < 8; k++)
        sum += lane[k];
    CU_ASSERT(sum < straight || sum > straight); /* else this tensor would show nothing */
    CU_ASSERT_EQUAL(strait_rms_of(x, N), sqrt(sum / N));
}

static void names(void)
{
    for (unsigned k = STRAIT_BOUND_NONE; k <= STRAIT_BOUND_POINTWISE; k++) {
        enum strait_bound_kind kind = STRAIT_BOUND_NONE;
        CU_ASSERT(
            strait_bound_kind_parse(&kind, strait_bound_kind_name((enum strait_bound_kind)k)));
        CU_ASSERT_EQUAL((unsigned)kind, k);
    }
    enum strait_bound_kind kind;
    CU_ASSERT_FALSE(strait_bound_kind_parse(&kind, "rel"));
    CU_ASSERT_STRING_EQUAL(strait_bound_kind_name(STRAIT_BOUND_RANGE), "range");
}

static const struct strait_test tests[] = {
    {"abs, range and rms are what their definitions say", definitions},
    {"values that are not finite do not count", finite_only},
    {"range and rms are taken in double", in_double},
    {"extent and rms are right for every length", every_length},
    {"every level of vector instructions finds the same extent", every_level},
    {"rms is summed in eight interleaved lanes", lanes},
    {"kinds have names and names have kinds", names},
};
STRAIT_SUITE("codecs/bound", tests);
