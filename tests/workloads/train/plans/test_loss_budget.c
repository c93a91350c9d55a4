/* Bounds from measured losses. */
#include "workloads/train/plans/loss_budget.h"
#include <math.h>
#include "tests/kit/suite.h"

/* What is added is 2 e^2: a share of 0.02 is reached at e = 0.1, wherever it was measured. */
static void parabola(void)
{
    static const double error[] = {0.05, 0.3, 1}, added[] = {0.005, 0.18, 2};
    const struct strait_sensitivity s = {error, added, 3};
    CU_ASSERT_DOUBLE_EQUAL(strait_sensitivity_error(&s, 0.02), 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_sensitivity_error(&s, 0.0008), 0.02, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_sensitivity_error(&s, 0.005), 0.05, 1e-12);
    CU_ASSERT_EQUAL(strait_sensitivity_error(&s, 5), 1); /* no further than was measured */
    CU_ASSERT_EQUAL(strait_sensitivity_error(&s, 0), 0);
}

/* A loss that falls by chance counts as what smaller errors added: 0.1 at e = 1 and 2, so a share
 * of 0.1 goes up to 2. One that diverges is never allowed. */
static void by_chance(void)
{
    static const double error[] = {1, 2, 3, 4}, added[] = {0.1, -0.3, 0.6, NAN};
    const struct strait_sensitivity s = {error, added, 4};
    CU_ASSERT_DOUBLE_EQUAL(strait_sensitivity_error(&s, 0.1), 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_sensitivity_error(&s, 0.35), sqrt(4 + 0.5 * 5), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_sensitivity_error(&s, 100), 3, 1e-12);
    const struct strait_sensitivity none = {error, added, 0};
    CU_ASSERT_EQUAL(strait_sensitivity_error(&none, 1), 0);
}

/* Two tensors of 100 and 300 values with added losses 4 e^2 and e^2 and a budget of 1:
 * shares 1/4 and 3/4, e = 1/4 and sqrt(3)/2. Any other division at the same sum sends more:
 * n log2(e) summed. */
static void least_bits(void)
{
    const double a = strait_sensitivity_share(1, 100, 400),
                 b = strait_sensitivity_share(1, 300, 400);
    CU_ASSERT_DOUBLE_EQUAL(a, 0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(b, 0.75, 1e-15);
    const double best = 100 * log2(sqrt(a / 4)) + 300 * log2(sqrt(b));
    for (double other = 0.05; other < 1; other += 0.05)
        CU_ASSERT(100 * log2(sqrt(other / 4)) + 300 * log2(sqrt(1 - other)) <= best + 1e-9);
}

static const struct strait_test tests[] = {
    {"between measurements the loss grows with the square", parabola},
    {"chance does not raise a bound, divergence ends it", by_chance},
    {"dividing the budget by elements sends least", least_bits},
};
STRAIT_SUITE("workloads/train/plans/loss_budget", tests);
