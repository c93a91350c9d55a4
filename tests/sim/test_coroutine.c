/* Coroutines on stacks of their own and on one stack for all: the same. */
#include "sim/coroutine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { N = 50, TURNS = 40, WORDS = 24, STACK_BYTES = 64 * 1024 };

struct worker {
    struct strait_coroutines *all;
    uint64_t me;
    int n_turns; /* that it has had */
    bool is_damaged;
};

/* Variables on the stack, at a depth that changes, must be what they were before the pause. */
static void descend(struct worker *w, int depth)
{
    volatile uint64_t mine[WORDS];
    for (uint64_t i = 0; i < WORDS; i++)
        mine[i] = w->me << 32 | (uint64_t)depth << 8 | i;
    if (depth > 0) {
        descend(w, depth - 1);
    } else {
        w->n_turns++;
        strait_coroutine_pause(w->all);
    }
    for (uint64_t i = 0; i < WORDS; i++)
        w->is_damaged |= mine[i] != (w->me << 32 | (uint64_t)depth << 8 | i);
}

static void work(void *arg)
{
    struct worker *w = arg;
    for (uint64_t turn = 0; turn < TURNS; turn++)
        descend(w, (int)((w->me + turn) % 7));
}

/* Half of them end, the others are given up. */
static void take_turns(struct strait_coroutines *all)
{
    struct worker workers[N];
    struct strait_coroutine *running[N];
    for (uint64_t i = 0; i < N; i++) {
        workers[i] = (struct worker){.all = all, .me = i};
        running[i] = strait_coroutine_new(all, work, &workers[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(running[i]);
    }
    int n_ended = 0;
    for (int turn = 0; turn <= TURNS; turn++)
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t k = (i * 17 + (uint64_t)turn) % N; /* 17 and 50 have no common factor */
            if (k % 2 == 0 || turn < TURNS / 2)
                n_ended += strait_coroutine_resume(all, running[k]);
        }
    CU_ASSERT_EQUAL(n_ended, N / 2);
    for (int i = 0; i < N; i++) {
        CU_ASSERT_FALSE(workers[i].is_damaged);
        CU_ASSERT_EQUAL(workers[i].n_turns, i % 2 == 0 ? TURNS : TURNS / 2);
        if (i % 2 == 1)
            strait_coroutine_give_up(all, running[i]);
    }
}

static void own_and_shared(void)
{
    struct strait_coroutines all = {.stack_bytes = STACK_BYTES};
    take_turns(&all);
    CU_ASSERT_EQUAL(all.n_made, N);
    take_turns(&all); /* stacks are used again */
    CU_ASSERT_EQUAL(all.n_made, N);
    for (int are_many = 0; are_many < 2; are_many++)
        if (strait_coroutines_share(&all, are_many)) {
            take_turns(&all);
            take_turns(&all);
            CU_ASSERT_EQUAL(all.n_made, 1); /* the first has its own */
            CU_ASSERT_FALSE(all.no_memory);
            CU_ASSERT_EQUAL(all.n_images > 0, (bool)are_many);
        }
    strait_coroutines_release(&all, 3);
    take_turns(&all);
    CU_ASSERT_EQUAL(all.n_made, N);
    strait_coroutines_release(&all, 0);
    CU_ASSERT_EQUAL(all.n_made, 0);
}

/* --- simulations ------------------------------------------------------------------------------ */

enum { N_RANKS = 600, N_MANY = 4200, ROUNDS = 3, KEY = 100 };

static uint64_t rounds[N_MANY]; /* of each rank, so far */

static void upload(struct strait_rank *r, uint64_t round)
{
    strait_rig_work(r, STRAIT_CPU, strait_random_unit(1, "work", (uint64_t)r->me, round));
    strait_rig_send(r, 0, 0, (int)round, 100000);
}

static bool answer(struct strait_rank *r, void *round)
{
    strait_note(r, KEY, strait_rig_recv(r, 0, 1).arrived_s);
    if (++*(uint64_t *)round == ROUNDS)
        return false;
    upload(r, *(uint64_t *)round);
    return true;
}

/* A star: work of a drawn length and an upload each round, an answer to all when all are there.
 * Every third client waits for it on a stack, the others serve where they can. */
static void star(struct strait_rank *r)
{
    for (uint64_t round = 0; round < ROUNDS && r->me == 0; round++) {
        for (int i = 1; i < r->run->n_ranks; i++)
            strait_note(r, KEY, strait_rig_recv(r, STRAIT_ANY, 0).arrived_s);
        for (int i = 1; i < r->run->n_ranks; i++)
            strait_rig_send(r, i, 1, (int)round, 100000);
    }
    if (r->me == 0)
        return;
    rounds[r->me] = 0;
    upload(r, 0);
    if (r->me % 3 != 0)
        r->backend->ops->serve(r, 0, 1, answer, &rounds[r->me]);
    while (answer(r, &rounds[r->me]))
        continue;
}

static void run_star(struct strait_rig *rig, int n, const struct strait_backend *backend,
                     bool has_one_lane)
{
    strait_rig_init(rig, n, strait_rig_link(1e9, 0.01), star);
    rig->run.has_one_lane = has_one_lane;
    strait_rig_run(rig, backend);
    CU_ASSERT_EQUAL_FATAL(rig->rc, 0);
}

static void compare(int n, const struct strait_backend *backend)
{
    struct strait_rig own, shared;
    size_t n_different = 0, n_compared = 0;
    run_star(&own, n, backend, false);
    run_star(&shared, n, backend, true);
    for (int rank = 0; rank < n; rank++) {
        struct strait_span_walk a, b;
        strait_spans_begin(&a, &own.run.logs[rank].spans);
        strait_spans_begin(&b, &shared.run.logs[rank].spans);
        for (const struct strait_span *x; (x = strait_spans_next(&a)); n_compared++) {
            const struct strait_span *y = strait_spans_next(&b);
            n_different += !y || memcmp(x, y, sizeof(*x)) != 0 || !(x->start_s > 0);
        }
    }
    CU_ASSERT_EQUAL(n_compared, 2 * ROUNDS * ((size_t)n - 1));
    CU_ASSERT_EQUAL(n_different, 0);
    strait_rig_release(&own);
    strait_rig_release(&shared);
}

static void large_stars(void)
{
    compare(N_RANKS, &strait_fluid);
    compare(N_MANY, &strait_fluid); /* kept as differences from one another */
    compare(N_RANKS, &strait_sim);
}

static void nothing(struct strait_rank *r, void *arg)
{
    (void)r, (void)arg;
}

static void spawns(struct strait_rank *r)
{
    strait_rig_sleep_until(r, 1);
    if (r->me == 1)
        r->backend->ops->join(r, r->backend->ops->spawn(r, nothing, NULL));
}

static void two_lanes(void)
{
    struct strait_coroutines all = {.stack_bytes = STACK_BYTES};
    const bool can_share = strait_coroutines_share(&all, false);
    struct strait_rig rig;
    strait_coroutines_release(&all, 0);
    strait_rig_init(&rig, N_RANKS, strait_rig_link(1e9, 0.01), spawns);
    rig.run.has_one_lane = true;
    strait_rig_run(&rig, &strait_fluid);
    CU_ASSERT_EQUAL(rig.rc, can_share ? -1 : 0);
    if (can_share)
        CU_ASSERT_STRING_EQUAL(rig.err.text,
                               "rank 1: expected one lane, as its strategy says, found another");
    strait_rig_release(&rig);
}

static const struct strait_test tests[] = {
    {"each finds its variables as it left them, on its own stack and on one for all",
     own_and_shared},
    {"a large star of ranks on one stack, or on none, has every time of one with a stack each",
     large_stars},
    {"a rank of a strategy that says it has one lane may not start another", two_lanes},
};
STRAIT_SUITE("sim/coroutine", tests);
