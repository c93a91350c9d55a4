/* Sizes that one run notes and others look up. */
#include "workloads/sizes/sent_sizes.h"
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static const struct strait_encoding a = {.lo = 0, .hi = 10, .bound = NAN},
                                    b = {.lo = 10, .hi = 20, .bound = NAN};

static struct strait_sent_sizes *noted(void)
{
    struct strait_error err = {0};
    struct strait_sent_sizes *s = strait_sent_sizes_new(3, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    strait_sent_sizes_note(s, 2, a, 7);
    strait_sent_sizes_note(s, 0, a, 5);
    strait_sent_sizes_note(s, 0, b, 8);
    strait_sent_sizes_note(s, 0, a, 6);
    CU_ASSERT_EQUAL_FATAL(strait_sent_sizes_close(s, &err), 0);
    return s;
}

/* Each rank's own, in the order in which it noted them, the last for ever. */
static void in_order(void)
{
    struct strait_sent_sizes *s = noted();
    uint32_t n_taken[2] = {0}, of_last[1] = {0};
    size_t n_bytes = 0;
    CU_ASSERT_EQUAL(strait_sent_sizes_n(s, 0), 2);
    CU_ASSERT_EQUAL(strait_sent_sizes_n(s, 1), 0);
    CU_ASSERT_EQUAL(strait_sent_sizes_n(s, 2), 1);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_TRUE(strait_sent_sizes_next(&n_bytes, n_taken, s, 0, a));
        CU_ASSERT_EQUAL(n_bytes, i == 0 ? 5 : 6);
        CU_ASSERT_TRUE(strait_sent_sizes_next(&n_bytes, n_taken, s, 0, b));
        CU_ASSERT_EQUAL(n_bytes, 8);
    }
    CU_ASSERT_TRUE(strait_sent_sizes_next(&n_bytes, of_last, s, 2, a));
    CU_ASSERT_EQUAL(n_bytes, 7);
    strait_sent_sizes_free(s);
}

/* What was not encoded leaves the size as it is; each part of what was encoded counts. */
static void unknown(void)
{
    struct strait_sent_sizes *s = noted();
    struct strait_encoding others[] = {a, a, a, a, a, a};
    uint32_t n_taken[2] = {0};
    size_t n_bytes = 99;
    others[0].codec = 1;
    others[1].lo = 1;
    others[2].hi = 11;
    others[3].of_ranks = 2;
    others[4].is_sum = 1;
    others[5].bound = 1e-3;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CU_ASSERT_FALSE(strait_sent_sizes_next(&n_bytes, n_taken, s, 0, others[i]));
    CU_ASSERT_FALSE(strait_sent_sizes_next(&n_bytes, n_taken, s, 1, a));
    CU_ASSERT_FALSE(strait_sent_sizes_next(&n_bytes, n_taken, s, 2, b));
    CU_ASSERT_EQUAL(n_bytes, 99);
    strait_sent_sizes_free(s);
}

/* A simulation is a child of the one that asks. */
static void of_a_child(void)
{
    struct strait_error err = {0};
    struct strait_sent_sizes *s = strait_sent_sizes_new(1, &err);
    uint32_t n_taken[1] = {0};
    size_t n_bytes = 0;
    const pid_t child = fork();
    if (child == 0) {
        strait_sent_sizes_note(s, 0, a, 5);
        _exit(0);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(child, NULL, 0), child);
    CU_ASSERT_EQUAL_FATAL(strait_sent_sizes_close(s, &err), 0);
    CU_ASSERT_TRUE(strait_sent_sizes_next(&n_bytes, n_taken, s, 0, a));
    CU_ASSERT_EQUAL(n_bytes, 5);
    strait_sent_sizes_free(s);
}

static const struct strait_test tests[] = {
    {"each rank's sizes come in the order in which they were noted", in_order},
    {"what was not encoded has no size", unknown},
    {"a child's notes are its parent's", of_a_child},
};
STRAIT_SUITE("workloads/sizes/sent_sizes", tests);
