/* Jobs on slots: begun in their order, on the ideal timeline, whatever this machine is late. */
#include "process/padded_slots.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"
#include "workloads/timing/readings.h"

enum { MS = 1000000 };

struct world {
    pthread_mutex_t lock;
    sem_t compute;
    struct strait_proc_slots slots;
    int64_t begin_ns;
};

/* Two of the CPU's slots, one of everything else. */
static void set_up(struct world *w, double dilation)
{
    unsigned n_slots[STRAIT_N_RESOURCES] = {0};
    struct strait_error err = {0};
    memset(w, 0, sizeof(*w));
    n_slots[STRAIT_CPU] = 2;
    pthread_mutex_init(&w->lock, NULL);
    sem_init(&w->compute, 0, 1);
    CU_ASSERT_EQUAL_FATAL(strait_proc_slots_init(&w->slots, &w->lock, &w->compute, n_slots, &err),
                          0);
    w->begin_ns = strait_proc_mono_ns();
    const struct strait_proc_clock clock = {.start_ns = w->begin_ns, .dilation = dilation};
    strait_proc_slots_begin(&w->slots, &clock);
}

static void tear_down(struct world *w)
{
    strait_proc_slots_release(&w->slots);
    sem_destroy(&w->compute);
    pthread_mutex_destroy(&w->lock);
}

static void start(struct world *w, struct strait_op *op, enum strait_resource resource,
                  unsigned n_slots, double cost_s)
{
    struct strait_error err = {0};
    *op = (struct strait_op){.job = {.resource = resource, .n_slots = n_slots, .cost_s = cost_s},
                             .queued_ns = w->begin_ns};
    CU_ASSERT_EQUAL(strait_proc_slots_start(&w->slots, op, &err), 0);
}

static void await(struct world *w, struct strait_op *op)
{
    pthread_cond_t done;
    pthread_cond_init(&done, NULL);
    op->waiter = &done;
    while (!op->done)
        pthread_cond_wait(&done, &w->lock);
    op->waiter = NULL;
    pthread_cond_destroy(&done);
}

static void expect_times(const struct world *w, const struct strait_op *op, int64_t start_ms,
                         int64_t end_ms)
{
    CU_ASSERT_EQUAL(op->started_ns - w->begin_ns, start_ms * MS);
    CU_ASSERT_EQUAL(op->ended_ns - w->begin_ns, end_ms * MS);
}

/* Jobs of 10, 20, 5 ms on two slots, then one of both, then one: at dilation 2
 *   slot 1  a 0-20, c 20-30, waits, d 40-50, e 50-52
 *   slot 2  b 0-40,                 d 40-50 */
static void order(void)
{
    struct world w;
    struct strait_op ops[5];
    static const struct {
        unsigned n;
        double cost_s;
        int64_t start_ms, end_ms;
    } jobs[] = {{1, 0.010, 0, 20},
                {1, 0.020, 0, 40},
                {0, 0.005, 20, 30},
                {2, 0.005, 40, 50},
                {1, 0.001, 50, 52}};
    set_up(&w, 2);
    pthread_mutex_lock(&w.lock);
    for (size_t i = 0; i < 5; i++)
        start(&w, &ops[i], STRAIT_CPU, jobs[i].n, jobs[i].cost_s);
    for (size_t i = 0; i < 5; i++) {
        await(&w, &ops[i]);
        expect_times(&w, &ops[i], jobs[i].start_ms, jobs[i].end_ms);
    }
    CU_ASSERT_EQUAL(w.slots.resources[STRAIT_CPU].n_free, 2);
    CU_ASSERT_EQUAL(w.slots.n_measured, 0);
    CU_ASSERT_EQUAL(w.slots.slip_sum_s, 0); /* nothing ran that could end late */
    pthread_mutex_unlock(&w.lock);
    tear_down(&w);
}

/* Timers wait for nobody; a resource without slots has one. */
static void timers(void)
{
    struct world w;
    struct strait_op ops[6];
    set_up(&w, 1);
    pthread_mutex_lock(&w.lock);
    for (size_t i = 0; i < 3; i++)
        start(&w, &ops[i], STRAIT_TIMER, 1, 0.01);
    for (size_t i = 3; i < 6; i++)
        start(&w, &ops[i], STRAIT_ACCEL, 1, 0.002);
    for (size_t i = 0; i < 6; i++)
        await(&w, &ops[i]);
    for (size_t i = 0; i < 3; i++)
        expect_times(&w, &ops[i], 0, 10);
    for (int64_t i = 0; i < 3; i++)
        expect_times(&w, &ops[3 + i], 2 * i, 2 * i + 2);
    pthread_mutex_unlock(&w.lock);
    tear_down(&w);
}

static void burn(void *arg)
{
    const int64_t until_ns = strait_proc_thread_cpu_ns() + *(const int64_t *)arg;
    while (strait_proc_thread_cpu_ns() < until_ns)
        ;
}

/* 5 ms of work, measured: its job lasts at least as long in dilated time, and no longer than the
 * readings of the same work say. */
static void measured(void)
{
    struct world w;
    struct strait_op ops[3];
    struct strait_error err = {0};
    int64_t work_ns = 5 * MS;
    struct strait_readings before = {.n = 1, .s = {0.004}}; /* a quicker one was seen */
    set_up(&w, 4);
    pthread_mutex_lock(&w.lock);
    for (size_t i = 0; i < 3; i++) {
        ops[i] = (struct strait_op){.job = {.resource = STRAIT_CPU,
                                            .n_slots = 1,
                                            .cost_s = i == 2 ? 0.001 : NAN,
                                            .fn = burn,
                                            .arg = &work_ns,
                                            .readings = i == 1 ? &before : NULL},
                                    .queued_ns = w.begin_ns};
        CU_ASSERT_EQUAL(strait_proc_slots_start(&w.slots, &ops[i], &err), 0);
    }
    for (size_t i = 0; i < 3; i++)
        await(&w, &ops[i]);
    CU_ASSERT_AT_LEAST(ops[0].ended_ns - ops[0].started_ns, 4 * work_ns);
    CU_ASSERT_AT_LEAST(ops[1].ended_ns - ops[1].started_ns, 4 * 4 * MS);
    CU_ASSERT_EQUAL(atomic_load(&before.s[0]), 0.004);
    CU_ASSERT_EQUAL(atomic_load(&before.n), 2);
    CU_ASSERT_EQUAL(w.slots.n_measured, 2);
    CU_ASSERT_AT_LEAST(w.slots.n_slow, 1); /* 5 ms are more than 1.05 times 4 */
    CU_ASSERT_AT_MOST(w.slots.n_slow, 1);
    CU_ASSERT_AT_LEAST(w.slots.cpu_s, 0.010);
    CU_ASSERT_AT_MOST(w.slots.slip_max_s, w.slots.slip_sum_s);
    pthread_mutex_unlock(&w.lock);
    tear_down(&w);
}

static atomic_int n_ran;

static void count(void *arg)
{
    (void)arg;
    atomic_fetch_add(&n_ran, 1);
}

/* 5 ms where 1 ms was told: it ends late by at least 4 - dilation 1 - and says so. */
static void late(void)
{
    struct world w;
    struct strait_op op;
    struct strait_error err = {0};
    int64_t work_ns = 5 * MS;
    set_up(&w, 1);
    pthread_mutex_lock(&w.lock);
    op = (struct strait_op){
        .job = {.resource = STRAIT_CPU, .cost_s = 0.001, .fn = burn, .arg = &work_ns},
        .queued_ns = w.begin_ns};
    CU_ASSERT_EQUAL(strait_proc_slots_start(&w.slots, &op, &err), 0);
    await(&w, &op);
    CU_ASSERT_AT_LEAST(op.ended_ns - op.started_ns, work_ns);
    CU_ASSERT_AT_LEAST(w.slots.slip_sum_s, 0.004);
    CU_ASSERT_EQUAL(w.slots.slip_max_s, w.slots.slip_sum_s);
    CU_ASSERT_DOUBLE_EQUAL(w.slots.slip_sum_s, (double)(op.ended_ns - op.started_ns) / 1e9 - 0.001,
                           1e-9);
    /* one that ends in time adds nothing */
    const double before_s = w.slots.slip_sum_s;
    op = (struct strait_op){.job = {.resource = STRAIT_CPU, .cost_s = 30, .fn = count},
                            .queued_ns = strait_proc_mono_ns() - (int64_t)29900 * MS};
    CU_ASSERT_EQUAL(strait_proc_slots_start(&w.slots, &op, &err), 0);
    await(&w, &op);
    CU_ASSERT_EQUAL(w.slots.slip_sum_s >= before_s, true);
    CU_ASSERT_EQUAL(atomic_load(&n_ran), 1);
    pthread_mutex_unlock(&w.lock);
    tear_down(&w);
}

static const struct strait_test tests[] = {
    {"jobs begin when the slots that they need are free, in their order", order},
    {"timers need no slot, and a resource has one at least", timers},
    {"measured work takes what it took, or the least that it ever took", measured},
    {"work that takes longer than its job is late by that", late},
};
STRAIT_SUITE("process/padded_slots", tests);
