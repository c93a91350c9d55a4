/* Bits at an error and in a round, between what was recorded. */
#include "tests/kit/forms/allocation.h"

#include <math.h>
#include "tests/kit/suite.h"

/* Straight lines over the logarithm of the error: 2, 1, 4 and 2 bits a decade. */
static void rates(void)
{
    const struct strait_rate_point points[STRAIT_N_RANGE_BOUNDS] = {
        {10, 1e-3}, {8, 1e-2}, {7, 1e-1}, {3, 1}, {1, 10}};
    for (int i = 0; i < STRAIT_N_RANGE_BOUNDS; i++)
        CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, points[i].error), points[i].bits, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, pow(10, -2.5)), 9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, pow(10, -1.5)), 7.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, pow(10, -0.5)), 5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, pow(10, 0.5)), 2, 1e-12);
    /* beyond both ends: the outermost two go on */
    CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, 1e-4), 12, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_rate_at(points, 100), -1, 1e-12);
}

/* Snapshots at steps 10, 150 and 390; a round is 24 steps. Round 5 is step 120, 110 of 140 steps
 * after the first snapshot; round 10 is step 240, 90 of 240 after the second. */
static void rounds(void)
{
    const struct strait_allocation a = {.bits = {1, 3, 7}};
    CU_ASSERT_EQUAL(strait_allocation_bits(&a, 0), 1);
    CU_ASSERT_DOUBLE_EQUAL(strait_allocation_bits(&a, 1), 1 + 2 * 14 / 140.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_allocation_bits(&a, 5), 1 + 2 * 110 / 140.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_allocation_bits(&a, 10), 4.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_allocation_bits(&a, 16), 3 + 4 * 234 / 240.0, 1e-12);
    CU_ASSERT_EQUAL(strait_allocation_bits(&a, 17), 7);
    CU_ASSERT_EQUAL(strait_allocation_bits(&a, 100), 7);
}

static const struct strait_test tests[] = {
    {"bits lie on lines over the logarithm of the error", rates},
    {"rounds lie between snapshots by their steps", rounds},
};
STRAIT_SUITE("workloads/train/plans/allocation", tests);
