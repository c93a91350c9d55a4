/* What is charged for work that was measured several times. */
#include "tests/kit/suite.h"
#include "workloads/timing/readings.h"

/* Below ten readings the shortest; of twenty, 1 to 20 s, two lie below 3 s. */
static void typical(void)
{
    struct strait_readings r = {0};
    CU_ASSERT_EQUAL(strait_readings_add(&r, 20), 20);
    CU_ASSERT_EQUAL(strait_readings_add(&r, 18), 18);
    CU_ASSERT_EQUAL(strait_readings_add(&r, 19), 18);
    for (int s = 4; s <= 17; s++)
        CU_ASSERT_EQUAL(strait_readings_add(&r, s), s < 10 ? 4 : 5); /* 10 s is the tenth of them */
    CU_ASSERT_EQUAL(strait_readings_add(&r, 1), 4);
    CU_ASSERT_EQUAL(strait_readings_add(&r, 2), 2);
    CU_ASSERT_EQUAL(strait_readings_add(&r, 3), 3);
}

/* A clock that stood still says nothing, and the 65th reading is charged but not kept. */
static void kept(void)
{
    struct strait_readings r = {0};
    CU_ASSERT_EQUAL(strait_readings_add(NULL, 7), 7);
    CU_ASSERT_EQUAL(strait_readings_add(&r, 0), 0);
    CU_ASSERT_EQUAL(atomic_load(&r.n), 0);
    for (int i = 0; i < STRAIT_TIMING_MAX_REPEATS; i++)
        strait_readings_add(&r, 5);
    for (int i = 0; i < STRAIT_TIMING_MAX_REPEATS; i++)
        CU_ASSERT_EQUAL(strait_readings_add(&r, 1), 5);
    CU_ASSERT_EQUAL(atomic_load(&r.n), STRAIT_TIMING_MAX_REPEATS);
}

static const struct strait_test tests[] = {
    {"of ten readings one may be shorter than what is charged", typical},
    {"as many readings as there is room for are kept", kept},
};
STRAIT_SUITE("workloads/timing/readings", tests);
