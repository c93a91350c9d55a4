/* What DeAR's tuner times, and what it tries next, from rounds whose beginnings are told. */
#include "workloads/train/plans/tuner.h"
#include "tests/kit/suite.h"

static struct strait_tuner new_tuner(int n_trials, int n_rounds)
{
    return (struct strait_tuner){.bayes = {.lo = 1e6, .hi = 9e6, .xi = 0.1},
                                 .n_trials = n_trials,
                                 .n_rounds = n_rounds,
                                 .fusion_bytes = 2e6};
}

/* Round k begins at k^2: no two rounds take the same, so that a time says which were timed. */
static void mark_all(struct strait_tuner *t, int from, int to)
{
    struct strait_error err = {0};
    for (int round = from; round <= to; round++)
        CU_ASSERT_EQUAL(strait_tuner_mark(t, round, (double)round * round, &err), 0);
}

/* Trials of 5 rounds: the third mark of the first is at round 3, that of the second at 8. The two
 * rounds from there on are timed: (25 - 9) / 2 = 8 s, (100 - 64) / 2 = 18 s, (225 - 169) / 2 = 28.
 */
static void times_after_the_third_mark(void)
{
    struct strait_tuner t = new_tuner(3, 5);
    mark_all(&t, 1, 4);
    CU_ASSERT_EQUAL(t.bayes.n, 0);
    CU_ASSERT_EQUAL(t.fusion_bytes, 2e6);
    mark_all(&t, 5, 5);
    CU_ASSERT_EQUAL(t.bayes.n, 1);
    CU_ASSERT_EQUAL(t.bayes.x[0], 2e6);
    CU_ASSERT_DOUBLE_EQUAL(t.bayes.y[0], 8, 1e-12);
    mark_all(&t, 6, 15);
    CU_ASSERT_EQUAL(t.bayes.n, 3);
    CU_ASSERT_DOUBLE_EQUAL(t.bayes.y[1], 18, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t.bayes.y[2], 28, 1e-12);
}

/* Trials of four rounds time one: (16 - 9) / 1 = 7 s. */
static void shortest_trials(void)
{
    struct strait_tuner t = new_tuner(1, STRAIT_TUNER_MIN_ROUNDS);
    mark_all(&t, 1, 4);
    CU_ASSERT_DOUBLE_EQUAL(t.bayes.y[0], 7, 1e-12);
}

/* Between trials: what the optimisation suggests from what was observed, within the range. */
static void suggestions_between(void)
{
    struct strait_tuner t = new_tuner(3, 5);
    struct strait_bayes b = t.bayes;
    struct strait_error err = {0};
    double x;
    mark_all(&t, 1, 5);
    strait_bayes_observe(&b, 2e6, 8);
    CU_ASSERT_EQUAL(strait_bayes_suggest(&x, &b, &err), 0);
    CU_ASSERT_EQUAL(t.fusion_bytes, x);
    CU_ASSERT(x >= 1e6 && x <= 9e6 && x != 2e6);
    mark_all(&t, 6, 10);
    CU_ASSERT_EQUAL(t.bayes.x[1], x);
    strait_bayes_observe(&b, x, 18);
    CU_ASSERT_EQUAL(strait_bayes_suggest(&x, &b, &err), 0);
    CU_ASSERT_EQUAL(t.fusion_bytes, x);
}

/* Each trial was slower than the one before, so the first threshold stays, for good: what comes
 * after the last trial is not timed. */
static void best_in_the_end(void)
{
    struct strait_tuner t = new_tuner(3, 5);
    mark_all(&t, 1, 15);
    CU_ASSERT_EQUAL(t.fusion_bytes, 2e6);
    mark_all(&t, 16, 40);
    CU_ASSERT_EQUAL(t.bayes.n, 3);
    CU_ASSERT_EQUAL(t.fusion_bytes, 2e6);
}

/* Two trials of five rounds end as rounds 5 and 10 begin. */
static void ends(void)
{
    const struct strait_tuner t = new_tuner(2, 5);
    for (int round = 0; round <= 20; round++)
        CU_ASSERT_EQUAL(strait_tuner_ends_trial(&t, round), round == 5 || round == 10);
}

static const struct strait_test tests[] = {
    {"a trial is timed from its third mark on", times_after_the_third_mark},
    {"of four rounds one is timed", shortest_trials},
    {"between trials stands what the optimisation suggests", suggestions_between},
    {"after the last trial the best threshold stays", best_in_the_end},
    {"a trial ends every n rounds, until there were enough", ends},
};
STRAIT_SUITE("workloads/train/plans/tuner", tests);
