/* Who does what, and what travels together, where several plans are equally good too. */
#include "workloads/train/plans/placement.h"

#include "tests/kit/suite.h"

static void is(const int *found, const int *expected, int n)
{
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL(found[i], expected[i]);
}

static void by_turns(void)
{
    int owner[7];
    strait_place_round_robin(owner, 7, 2, 3);
    is(owner, (const int[]){0, 0, 1, 1, 2, 2, 0}, 7);
    strait_place_round_robin(owner, 7, 1, 3);
    is(owner, (const int[]){0, 1, 2, 0, 1, 2, 0}, 7);
}

/* Two workers. 5 goes to the first of two that have nothing, 4 to the other, the first 3 to 4, the
 * next to 5, the last to 7 of 7 and 8: 8 and 10. What costs less than sending it is done by all;
 * what costs as much is not. */
static void balanced(void)
{
    const double cost_s[] = {3, 5, 1, 3, 4, 3}, send_s[] = {3, 1, 2, 1, 1, 1};
    int owner[6];
    CU_ASSERT_EQUAL(strait_place_balanced(owner, 6, cost_s, send_s, 2), 0);
    is(owner, (const int[]){1, 0, STRAIT_EVERYWHERE, 0, 1, 1}, 6);
    CU_ASSERT_EQUAL(strait_largest_load(owner, 6, cost_s, 2), 10);
    CU_ASSERT_EQUAL(strait_place_balanced(owner, 6, cost_s, send_s, 1), 0);
    is(owner, (const int[]){0, 0, STRAIT_EVERYWHERE, 0, 0, 0}, 6);
    CU_ASSERT_EQUAL(strait_largest_load(owner, 6, cost_s, 1), 18);
}

/* Loads that are as large as the least possible end a block; the first blocks are as long as that
 * allows, so that the last ones may stay empty. */
static void contiguous(void)
{
    int owner[5];
    CU_ASSERT_EQUAL(strait_place_contiguous(owner, 5, (const double[]){1, 2, 3, 4, 5}, 2), 0);
    is(owner, (const int[]){0, 0, 0, 1, 1}, 5); /* 6 and 9; 10 and 5 is worse */
    CU_ASSERT_EQUAL(strait_place_contiguous(owner, 3, (const double[]){2, 2, 4}, 2), 0);
    is(owner, (const int[]){0, 0, 1}, 3);
    CU_ASSERT_EQUAL(strait_place_contiguous(owner, 4, (const double[]){1, 1, 1, 3}, 3), 0);
    is(owner, (const int[]){0, 0, 0, 1}, 4); /* 3 at least: two blocks are enough */
    CU_ASSERT_EQUAL(strait_place_contiguous(owner, 2, (const double[]){7, 1}, 5), 0);
    is(owner, (const int[]){0, 1}, 2);
    CU_ASSERT_EQUAL(strait_place_contiguous(owner, 3, (const double[]){7, 1, 2}, 1), 0);
    is(owner, (const int[]){0, 0, 0}, 3);
    CU_ASSERT_EQUAL(strait_place_contiguous(owner, 0, (const double[]){0}, 2), 0);
}

/* Without a start-up two members take as long together as one after the other, from 0 to 2 s or
 * from 5 to 7: they go together. Ready at 0 and 1.5 s, the first goes ahead. */
static void ties_go_together(void)
{
    const double bytes[] = {1, 1};
    int first[3];
    double end_s;
    CU_ASSERT_EQUAL(strait_fuse_ready(first, &end_s, 2, (const double[]){0, 0}, bytes, 0, 1, 0), 1);
    is(first, (const int[]){0, 2}, 2);
    CU_ASSERT_EQUAL(end_s, 2);
    CU_ASSERT_EQUAL(strait_fuse_ready(first, &end_s, 2, (const double[]){0, 0}, bytes, 0, 1, 5), 1);
    CU_ASSERT_EQUAL(end_s, 7);
    CU_ASSERT_EQUAL(strait_fuse_ready(first, NULL, 2, (const double[]){0, 1.5}, bytes, 0, 1, 0), 2);
    is(first, (const int[]){0, 1, 2}, 3);
}

/* 2 s and 1 s a byte. The first from 1 to 4 s; what is ready at 4 s to the point goes with what was
 * ready before: two bytes until 8 s. What is larger than the buffer goes alone: 5 bytes until 15.
 */
static void waiting(void)
{
    const double ready_s[] = {1, 3, 4, 4, 4}, bytes[] = {1, 1, 1, 5, 1};
    int first[6];
    double end_s;
    CU_ASSERT_EQUAL(strait_fuse_waiting(first, &end_s, 5, ready_s, bytes, 2, 1, 0, 2), 4);
    is(first, (const int[]){0, 1, 3, 4, 5}, 5);
    CU_ASSERT_EQUAL(end_s, 18);
}

/* 3 + 3 + 4 just fit in 10; 11 goes alone, and nothing beside it. */
static void full(void)
{
    const double bytes[] = {3, 3, 4, 11, 1, 8};
    int first[7];
    CU_ASSERT_EQUAL(strait_fuse_full(first, 6, bytes, 10), 3);
    is(first, (const int[]){0, 3, 4, 6}, 4);
    CU_ASSERT_EQUAL(strait_fuse_full(first, 6, bytes, 0), 6);
    is(first, (const int[]){0, 1, 2, 3, 4, 5, 6}, 7);
    CU_ASSERT_EQUAL(strait_fuse_full(first, 6, bytes, 1e9), 1);
    is(first, (const int[]){0, 6}, 2);
}

static const struct strait_test tests[] = {
    {"turns keep runs together", by_turns},
    {"balance gives the dearest first, to who has least", balanced},
    {"contiguous blocks have the least possible load, the first ones are long", contiguous},
    {"of plans that end together the one with the longest last bucket is taken", ties_go_together},
    {"who sends next takes all that waits, up to a buffer", waiting},
    {"a buffer is filled to the last byte", full},
};
STRAIT_SUITE("workloads/train/plans/placement", tests);
