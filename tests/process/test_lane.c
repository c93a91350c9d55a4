/* The operations of an emulated rank, on a rank in this process to which the test brings
 * messages. */
#include "process/lane.h"
#include "emu/process/rank_process.h"
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

/* Rank 0 of two, links of 1 Gbps and 10 ms each, so that a message is under way for 20 ms and its
 * bytes. Lane 0 is the test itself. */
struct bench {
    struct world w;
    struct strait_emu_shared *shared;
    struct strait_emu_rank rank;
    const struct strait_rank_ops *ops;
    struct strait_rank *lane;
};

static void set_up(struct bench *b, double dilation)
{
    const unsigned n_slots[STRAIT_N_RESOURCES] = {[STRAIT_CPU] = 1};
    struct strait_error err = {0};
    memset(b, 0, sizeof(*b));
    world_init(&b->w, 2, 1e9, 0.04);
    b->shared = strait_emu_shared_new(&b->w.run, dilation, 1, &err);
    CU_ASSERT_FATAL(b->shared != NULL);
    struct strait_emu_rank *r = &b->rank;
    strait_emu_rank_init(r, &(struct strait_emu_rank_plan){
                                .run = &b->w.run, .backend = &strait_emu, .shared = b->shared});
    r->base.clock = (struct strait_proc_clock){strait_proc_mono_ns(), dilation};
    r->base.max_lag_ns = INT64_MAX;
    r->base.news = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&r->base.lock, NULL);
    strait_proc_inbox_init(&r->base.inbox);
    CU_ASSERT_EQUAL_FATAL(
        strait_proc_slots_init(&r->base.slots, &r->base.lock, &b->shared->compute, n_slots, &err),
        0);
    strait_proc_slots_begin(&r->base.slots, &r->base.clock);
    r->base.first = strait_proc_lane_new(&r->base);
    CU_ASSERT_FATAL(r->base.first != NULL && r->base.news >= 0);
    r->base.n_spawned = 1; /* lane 0 */
    b->ops = &strait_proc_ops;
    b->lane = &r->base.first->base;
}

static void tear_down(struct bench *b)
{
    struct strait_emu_rank *r = &b->rank;
    CU_ASSERT_PTR_NULL(r->base.lanes); /* those that were joined are gone */
    strait_proc_inbox_release(&r->base.inbox);
    strait_proc_slots_release(&r->base.slots);
    pthread_cond_destroy(&r->base.first->moved);
    free(r->base.first);
    pthread_mutex_destroy(&r->base.lock);
    close(r->base.news);
    strait_emu_shared_free(b->shared);
    world_release(&b->w);
}

/* A message of rank 1 comes; posted and arrived: virtual seconds. */
static void bring(struct bench *b, int channel, int tag, size_t n_bytes, double posted_s,
                  double arrived_s)
{
    struct strait_packet *p = strait_packet_new(n_bytes);
    CU_ASSERT_FATAL(p != NULL);
    struct strait_message m = {.packet = p, .src = 1, .tag = tag, .posted_s = posted_s};
    strait_emu_rank_arrived(&b->rank, &m, channel,
                            strait_proc_clock_mono_ns(&b->rank.base.clock, arrived_s));
}

static void until(atomic_int *n, int wanted)
{
    while (atomic_load(n) != wanted) /* the suite's deadline ends it */
        sched_yield();
}

/* --- lanes that wait ------------------------------------------------------------------------ */

struct receiver {
    struct bench *b;
    int channel;
    bool found;
    struct strait_message m;
    struct strait_rank *joins; /* a lane to join instead */
};

static void receive(struct strait_rank *r, void *arg)
{
    struct receiver *w = arg;
    w->found = w->b->ops->recv(r, &w->m, 1, w->channel, INFINITY);
    if (w->found)
        strait_packet_drop(w->m.packet);
}

static void join(struct strait_rank *r, void *arg)
{
    struct receiver *w = arg;
    w->b->ops->join(r, w->joins);
}

/* Stuck is who receives without a deadline or joins, until it moves; of two lanes both. */
static void stuck_lanes_are_counted(void)
{
    struct bench b;
    set_up(&b, 1);
    struct strait_emu_rank_shared *mine = b.rank.mine;
    struct receiver first = {.b = &b, .channel = 3}, second = {.b = &b};
    second.joins = b.ops->spawn(b.lane, receive, &first);
    CU_ASSERT_EQUAL(second.joins->lane, 1);
    until(&mine->state.n_stuck, 1);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.stuck_src), 1);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.stuck_channel), 3);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.n_lanes), 1);
    struct strait_rank *joiner = b.ops->spawn(b.lane, join, &second);
    CU_ASSERT_EQUAL(joiner->lane, 2);
    until(&mine->state.n_stuck, 2);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.n_lanes), 2);
    bring(&b, 2, 5, 0, 0, 0.02); /* for nobody yet: another channel */
    CU_ASSERT_EQUAL(atomic_load(&mine->state.n_stuck), 2);
    bring(&b, 3, 7, 0, 0, 0.02);
    b.ops->join(b.lane, joiner);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.n_stuck), 0);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.n_lanes), 0);
    CU_ASSERT_EQUAL(atomic_load(&mine->state.n_landed), 2);
    CU_ASSERT(first.found);
    CU_ASSERT_EQUAL(first.m.tag, 7);
    CU_ASSERT_EQUAL(first.m.src, 1);
    CU_ASSERT_DOUBLE_EQUAL(first.m.arrived_s, 0.02, 1e-8);
    struct strait_message m;
    CU_ASSERT(b.ops->recv(b.lane, &m, STRAIT_ANY, 2, INFINITY));
    CU_ASSERT_EQUAL(m.tag, 5);
    strait_packet_drop(m.packet);
    tear_down(&b);
}

/* The deadline of a receive passes: nothing, the lane's time is the deadline, and it was not stuck.
 * A message that came may be taken at any deadline, and the lane's time becomes its arrival. */
static void deadlines_pass(void)
{
    struct bench b;
    struct strait_message m;
    set_up(&b, 1);
    const double by_s =
        strait_proc_clock_virtual_s(&b.rank.base.clock, strait_proc_mono_ns()) + 0.01;
    CU_ASSERT_FALSE(b.ops->recv(b.lane, &m, 1, 0, by_s));
    CU_ASSERT_EQUAL(b.rank.base.first->now_ns, strait_proc_clock_mono_ns(&b.rank.base.clock, by_s));
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.n_stuck), 0);
    CU_ASSERT_FALSE(b.rank.base.first->receiving);
    bring(&b, 0, 1, 0, -1, by_s + 1000); /* in the future, as the clock has it */
    CU_ASSERT_FALSE(b.ops->recv(b.lane, &m, 1, 0, by_s));
    CU_ASSERT(b.ops->recv(b.lane, &m, 1, 0, by_s + 1001));
    CU_ASSERT_EQUAL(b.rank.base.first->now_ns,
                    strait_proc_clock_mono_ns(&b.rank.base.clock, m.arrived_s));
    strait_packet_drop(m.packet);
    tear_down(&b);
}

/* Messages to oneself are there at once, in their order by channel. */
static void messages_to_oneself(void)
{
    struct bench b;
    struct strait_message m;
    set_up(&b, 1);
    b.rank.base.first->now_ns = strait_proc_clock_mono_ns(&b.rank.base.clock, 0.5);
    for (int i = 0; i < 4; i++) {
        struct strait_op *op = b.ops->send(b.lane, 0, i / 2, i, strait_packet_new(0), i == 3);
        CU_ASSERT_EQUAL(op != NULL, i == 3);
        if (op) {
            struct strait_times t;
            b.ops->wait(b.lane, op, &t);
            CU_ASSERT_DOUBLE_EQUAL(t.queued_s, 0.5, 1e-8);
            CU_ASSERT_DOUBLE_EQUAL(t.ended_s, 0.5, 1e-8);
        }
    }
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_FATAL(b.ops->recv(b.lane, &m, 0, i / 2, INFINITY));
        CU_ASSERT_EQUAL(m.tag, i);
        CU_ASSERT_EQUAL(m.seq, i % 2);
        CU_ASSERT_EQUAL(m.src, 0);
        CU_ASSERT_DOUBLE_EQUAL(m.posted_s, 0.5, 1e-8);
        CU_ASSERT_DOUBLE_EQUAL(m.arrived_s, 0.5, 1e-8);
        strait_packet_drop(m.packet);
    }
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.n_sent), 0); /* none left this process */
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.n_landed), 0);
    tear_down(&b);
}

/* --- figures ---------------------------------------------------------------------------------- */

/* 20 ms of delay; 1 MB at 1 Gbps with headers of 1514 for 1448 takes 8 ms x 1514 / 1448 = 8.3646
 * ms a link, of which the path's goodput counts one. Tolerance: 2 %, and half a real millisecond,
 * which is 0.125 ms at k = 4. */
static void messages_faster_than_their_links(void)
{
    static const struct {
        size_t n_bytes;
        double took_s;
        unsigned n;
    } cases[] = {{0, 0.98 * 0.02 - 0.000125 + 1e-6, 0},
                 {0, 0.98 * 0.02 - 0.000125 - 1e-6, 1},
                 {1000000, 0.98 * 0.0283646 - 0.000125 + 1e-5, 1},
                 {1000000, 0.98 * 0.0283646 - 0.000125 - 1e-5, 2}};
    struct bench b;
    struct strait_message m;
    set_up(&b, 4);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bring(&b, 0, 0, cases[i].n_bytes, 1, 1 + cases[i].took_s);
        CU_ASSERT_EQUAL(b.rank.mine->n_too_fast, cases[i].n);
        CU_ASSERT(b.ops->recv(b.lane, &m, 1, 0, INFINITY));
        strait_packet_drop(m.packet);
    }
    CU_ASSERT_EQUAL(b.rank.mine->too_fast_bytes, 1000000);
    CU_ASSERT_DOUBLE_EQUAL(b.rank.mine->too_fast_least_s, 0.0283646, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(b.rank.mine->too_fast_took_s, cases[3].took_s, 1e-8);
    b.shared->credit_s = 0.001; /* what idle links let through earlier */
    bring(&b, 0, 0, 0, 1, 1 + cases[1].took_s - 0.0009);
    CU_ASSERT_EQUAL(b.rank.mine->n_too_fast, 2);
    tear_down(&b);
}

/* A lane that is late keeps its time as long as that can be compensated, and then jumps. */
static void lag_is_compensated_up_to_its_limit(void)
{
    struct bench b;
    set_up(&b, 2);
    const int64_t late_ns = b.rank.base.clock.start_ns - 6000000000; /* 6 s, 3 virtual ones */
    b.rank.base.first->now_ns = late_ns;
    CU_ASSERT_DOUBLE_EQUAL(b.ops->now_s(b.lane), -3, 1e-8);
    CU_ASSERT_EQUAL(b.rank.base.first->now_ns, late_ns);
    CU_ASSERT_EQUAL(b.rank.mine->state.lag_sum_s, 0);
    b.rank.base.max_lag_ns = 5000000000;
    CU_ASSERT_AT_LEAST(b.ops->now_s(b.lane), 0);
    CU_ASSERT_AT_LEAST(b.rank.mine->state.lag_max_s, 6);
    CU_ASSERT_EQUAL(b.rank.mine->state.lag_sum_s, b.rank.mine->state.lag_max_s);
    tear_down(&b);
}

/* Each operation of rank 0's first lane shows how many rounds its log has, and counts as
 * progress. */
static void rounds_are_shown(void)
{
    struct bench b;
    set_up(&b, 1);
    const uint64_t before = atomic_load(&b.rank.mine->state.progress);
    b.w.logs[0].n_of_kind[STRAIT_SPAN_ROUND] = 3;
    b.w.logs[0].total_s[STRAIT_SPAN_ROUND] = 1.5;
    b.ops->now_s(b.lane);
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.n_rounds), 3);
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.rounds_s), 1.5);
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.progress), before + 1);
    b.w.logs[0].n_of_kind[STRAIT_SPAN_ROUND] = 4;
    b.rank.base.first->base.lane = 1; /* another lane does not log rounds */
    b.ops->now_s(b.lane);
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.n_rounds), 3);
    b.rank.base.first->base.lane = 0;
    b.rank.base.first->base.me = 1; /* nor does another rank */
    b.ops->now_s(b.lane);
    CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.n_rounds), 3);
    b.rank.base.first->base.me = 0;
    memset(&b.w.logs[0], 0, sizeof(b.w.logs[0]));
    tear_down(&b);
}

/* A padded job of 10 ms begins when it was queued and ends 10 ms later, on the ideal timeline. */
static void jobs_take_their_cost(void)
{
    struct bench b;
    struct strait_times t;
    set_up(&b, 1);
    const struct strait_job job = {.resource = STRAIT_TIMER, .n_slots = 1, .cost_s = 0.01};
    b.ops->wait(b.lane, b.ops->start(b.lane, &job), &t);
    CU_ASSERT_DOUBLE_EQUAL(t.queued_s, 0, 1e-8);
    CU_ASSERT_DOUBLE_EQUAL(t.started_s, 0, 1e-8);
    CU_ASSERT_DOUBLE_EQUAL(t.ended_s, 0.01, 1e-8);
    CU_ASSERT_EQUAL(b.rank.base.first->now_ns, strait_proc_clock_mono_ns(&b.rank.base.clock, 0.01));
    tear_down(&b);
}

/* --- failures --------------------------------------------------------------------------------- */

static void start_without_cost(struct bench *b)
{
    const struct strait_job job = {.resource = STRAIT_TIMER, .n_slots = 1, .cost_s = NAN};
    b->ops->start(b->lane, &job);
}

static bool only_back(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run, (void)dst, (void)channel;
    return src == 1;
}

static void send_undeclared(struct bench *b)
{
    b->w.run.uses_stream = only_back;
    b->ops->send(b->lane, 1, 0, 0, strait_packet_new(0), false);
}

static void say_so(struct bench *b)
{
    struct strait_error err = {.code = STRAIT_ERR_BACKEND, .text = "of the test"};
    b->ops->fail(b->lane, &err);
}

/* The first error ends the process and stands in the shared memory. */
static void failures_end_the_rank(void)
{
    static const struct {
        void (*fails)(struct bench *b);
        const char *text;
    } cases[] = {
        {start_without_cost, "rank 0 starts a job without a cost in a run that measures none"},
        {send_undeclared, "rank 0 sends to rank 1 on channel 0"},
        {say_so, "of the test"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        int status = 0;
        set_up(&b, 1);
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            cases[i].fails(&b);
            _exit(0);
        }
        CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
        CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
        CU_ASSERT_EQUAL(atomic_load(&b.rank.mine->state.has_error), 2);
        CU_ASSERT_EQUAL(b.rank.mine->state.error.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_CONTAINS(b.rank.mine->state.error.text, cases[i].text);
        tear_down(&b);
    }
}

static const struct strait_test tests[] = {
    {"lanes that wait for others are counted until they move", stuck_lanes_are_counted},
    {"a receive ends at its deadline, or takes what has come", deadlines_pass},
    {"messages to oneself are there at once and in order", messages_to_oneself},
    {"messages faster than their links are counted", messages_faster_than_their_links},
    {"lag is compensated up to its limit", lag_is_compensated_up_to_its_limit},
    {"rounds of rank 0 are shown to who watches", rounds_are_shown},
    {"jobs take their cost from when they were queued", jobs_take_their_cost},
    {"the first error of a rank ends it and is told", failures_end_the_rank},
};
STRAIT_SUITE_WITH("process/lane", tests, .threads = true);
