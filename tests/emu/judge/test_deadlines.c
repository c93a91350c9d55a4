/* How long a run may take, by how long it is expected to: 2 s of virtual time at k = 4, so 8 s. */
#include "emu/judge/deadlines.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

struct run {
    struct world w;
    struct strait_emu_shared *shared;
    struct strait_emu_deadlines d;
};

static int64_t at(double s)
{
    return (int64_t)(1e9 * s);
}

static void open_run(struct run *r, double loss_ratio, double expected_s, double deadline_s)
{
    world_init(&r->w, 3, 1e9, 0.04);
    r->w.network->out[1].loss_ratio = loss_ratio;
    r->w.run.expected_s = expected_s;
    r->w.run.deadline_s = deadline_s;
    r->shared = strait_emu_shared_new(&r->w.run, 4, 1, NULL);
    CU_ASSERT_FATAL(r->shared != NULL);
    strait_emu_deadlines_begin(&r->d, &r->w.run, r->shared);
}

static void close_run(struct run *r)
{
    strait_emu_shared_free(r->shared);
    world_release(&r->w);
}

/* Text of the error at that time; NULL: none. */
static const char *error_at(struct strait_error *err, const struct run *r, double s)
{
    *err = (struct strait_error){.code = STRAIT_OK};
    return strait_emu_deadlines_check(&r->d, at(s), err) != 0 ? err->text : NULL;
}

static void move(struct run *r, double s)
{
    atomic_fetch_add(&r->shared->ranks[1].state.n_sent, 1);
    strait_emu_deadlines_note(&r->d, NULL, at(s));
}

/* 60 s and 3 x 8 s without a message. */
static void a_run_in_which_nothing_moves_fails(void)
{
    struct run r;
    struct strait_error err;
    open_run(&r, 0, 2, 0);
    move(&r, 10);
    strait_emu_deadlines_note(&r.d, NULL, at(50)); /* nothing new */
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 93));
    const char *text = error_at(&err, &r, 95);
    CU_ASSERT_FATAL(text != NULL);
    CU_ASSERT_CONTAINS(text, "nothing has moved for 84 s, expected an end after 8 s");
    move(&r, 95);
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 178));
    close_run(&r);
}

/* 300 s and 10 x 8 s in all; what moves for ever ends then. */
static void a_run_that_never_ends_fails(void)
{
    struct run r;
    struct strait_error err;
    open_run(&r, 0, 2, 0);
    move(&r, 379);
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 379));
    move(&r, 381);
    const char *text = error_at(&err, &r, 381);
    CU_ASSERT_FATAL(text != NULL);
    CU_ASSERT_CONTAINS(text, "did not end within its deadline of 380 s");
    close_run(&r);
}

/* Losses are not in what is expected: 300 s and 500 x 8 s in all, 300 s and 24 s of silence. */
static void losses_may_take_longer(void)
{
    struct run r;
    struct strait_error err;
    open_run(&r, 0.01, 2, 0);
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 323));
    CU_ASSERT_PTR_NOT_NULL(error_at(&err, &r, 325));
    move(&r, 4299);
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 4299));
    move(&r, 4301);
    CU_ASSERT_PTR_NOT_NULL(error_at(&err, &r, 4301));
    close_run(&r);
}

static void a_deadline_that_is_given_counts(void)
{
    struct run r;
    struct strait_error err;
    open_run(&r, 0, 0, 5);
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 4.9));
    CU_ASSERT_PTR_NOT_NULL(error_at(&err, &r, 5.1));
    close_run(&r);
    open_run(&r, 0, 0, 0); /* nothing is known: an hour */
    CU_ASSERT_PTR_NULL(error_at(&err, &r, 3599));
    CU_ASSERT_PTR_NOT_NULL(error_at(&err, &r, 3601));
    close_run(&r);
}

static const struct strait_test tests[] = {
    {"a run in which nothing moves fails", a_run_in_which_nothing_moves_fails},
    {"a run that never ends fails", a_run_that_never_ends_fails},
    {"losses may take longer", losses_may_take_longer},
    {"a deadline that is given counts", a_deadline_that_is_given_counts},
};
STRAIT_SUITE("emu/judge/deadlines", tests);
