#include "sim/job_slots.h"

#include <math.h>
#include <string.h>

#include "tests/kit/suite.h"

static void one_slot(void)
{
    struct strait_slots s;
    memset(&s, 0xff, sizeof(s)); /* whatever stood there before */
    CU_ASSERT_EQUAL(strait_slots_init(&s, 1), 0);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 1, 1, 2), 1);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 1, 1, 2), 3); /* one after another */
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 9, 1, 2), 9); /* idle from 5 to 9 */
    strait_slots_release(&s);
}

static void wide_jobs(void)
{
    /* 3 slots: a takes 2 until 10; b needs 2 and waits although one is free; c needs 1, which is
     * free, and does not overtake b; d needs all. */
    struct strait_slots s;
    CU_ASSERT_EQUAL(strait_slots_init(&s, 3), 0);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 0, 2, 10), 0);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 1, 2, 5), 10);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 2, 1, 1), 10);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 3, 3, 1), 15);
    CU_ASSERT_EQUAL(strait_slots_queue(&s, 3, 1, 1), 16);
    strait_slots_release(&s);
}

static void many_slots(void)
{
    /* 1000 slots, job i of 1000 takes i: one batch; the next 1000 jobs of 1 follow each its own. */
    struct strait_slots s;
    CU_ASSERT_EQUAL(strait_slots_init(&s, 1000), 0);
    int n_wrong = 0;
    for (int i = 0; i < 1000; i++)
        n_wrong += strait_slots_queue(&s, 0, 1, i) > 0;
    for (int i = 0; i < 1000; i++) /* the slot with 0 is free at 0, the one with i at i */
        n_wrong += fabs(strait_slots_queue(&s, 0, 1, 5000) - i) > 0;
    CU_ASSERT_EQUAL(n_wrong, 0);
    strait_slots_release(&s);
}

static const struct strait_test tests[] = {
    {"one slot serves one job after another", one_slot},
    {"a wide job waits for its slots and is not overtaken", wide_jobs},
    {"every job gets the slot that is free first", many_slots},
};
STRAIT_SUITE("sim/slots", tests);
