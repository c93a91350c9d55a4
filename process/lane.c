/* The operations. A lane has its own time: when what it last waited for happened, on the ideal
 * timeline. Late wake-ups of its thread, and the short work between two operations, are compensated
 * by shorter padding of the next job, up to max_lag_ns; simulated lanes pay nothing for that
 * either. */
#include "lane.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct strait_proc_lane *lane_of(const struct strait_rank *r)
{
    return (struct strait_proc_lane *)(uintptr_t)r;
}

static _Noreturn void fail(struct strait_proc_lane *lane, const struct strait_error *err)
{
    strait_proc_rank_fail(lane->rank, err);
}

/* The run has ended while this lane runs: its log must not change any more. Under the lock. */
static void park_if_stopping(struct strait_proc_lane *lane)
{
    struct strait_proc_rank *rank = lane->rank;
    if (!rank->stopping)
        return;
    const uint64_t one = 1;
    rank->n_parked++;
    pthread_mutex_unlock(&rank->lock);
    TEMP_FAILURE_RETRY(write(rank->news, &one, sizeof(one)));
    for (;;)
        pause();
}

static void enter(struct strait_proc_lane *lane)
{
    pthread_mutex_lock(&lane->rank->lock);
    park_if_stopping(lane);
}

static void leave(struct strait_proc_lane *lane)
{
    struct strait_proc_state *state = lane->rank->state;
    atomic_fetch_add(&state->progress, 1);
    if (lane->base.me == 0 && lane->base.lane == 0) { /* this lane ends the rounds and logs them */
        const struct strait_log *log = &lane->base.run->logs[0];
        atomic_store(&state->n_rounds, (int)log->n_of_kind[STRAIT_SPAN_ROUND]);
        atomic_store(&state->rounds_s, log->total_s[STRAIT_SPAN_ROUND]);
    }
    pthread_mutex_unlock(&lane->rank->lock);
}

/* Sleep until something happened. Under the lock. False: until_ns passed. */
static bool sleep_lane(struct strait_proc_lane *lane, bool forever, int64_t until_ns)
{
    struct strait_proc_rank *rank = lane->rank;
    const struct timespec until = strait_proc_timespec(until_ns);
    const int result = forever ? pthread_cond_wait(&lane->moved, &rank->lock)
                               : pthread_cond_timedwait(&lane->moved, &rank->lock, &until);
    park_if_stopping(lane);
    return result != ETIMEDOUT;
}

/* For the stall watch: this lane depends on another one. Under the lock. */
static void set_stuck(struct strait_proc_lane *lane, bool stuck)
{
    if (lane->stuck == stuck)
        return;
    lane->stuck = stuck;
    atomic_fetch_add(&lane->rank->state->n_stuck, stuck ? 1 : -1);
}

static void advance(struct strait_proc_lane *lane, int64_t to_ns)
{
    if (to_ns > lane->now_ns)
        lane->now_ns = to_ns;
}

/* The lane's time at an operation. Under the lock. */
static int64_t sync_lane(struct strait_proc_lane *lane)
{
    struct strait_proc_rank *rank = lane->rank;
    const int64_t now = strait_proc_mono_ns(), lag = now - lane->now_ns;
    if (lag > rank->max_lag_ns) { /* too much to compensate: advance the lane's time */
        const double lag_s = (double)lag / 1e9;
        rank->state->lag_sum_s += lag_s;
        if (lag_s > rank->state->lag_max_s)
            rank->state->lag_max_s = lag_s;
        lane->now_ns = now;
    }
    return lane->now_ns;
}

static double lane_now_s(const struct strait_rank *r)
{
    struct strait_proc_lane *lane = lane_of(r);
    enter(lane);
    const int64_t now = sync_lane(lane);
    leave(lane);
    return strait_proc_clock_virtual_s(&lane->rank->clock, now);
}

static _Noreturn void lane_fail(struct strait_rank *r, const struct strait_error *err)
{
    fail(lane_of(r), err);
}

static struct strait_op *lane_start(struct strait_rank *r, const struct strait_job *job)
{
    struct strait_proc_lane *lane = lane_of(r);
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_op *op = calloc(1, sizeof(*op));
    if (!op)
        strait_error_set(&err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a job");
    else if (isnan(job->cost_s) && !r->run->measured_cost)
        strait_error_set(&err, STRAIT_ERR_BACKEND, NULL,
                         "rank %d starts a job without a cost in a run that measures none", r->me);
    if (!op || err.code != STRAIT_OK)
        fail(lane, &err);
    op->job = *job;
    enter(lane);
    op->queued_ns = sync_lane(lane);
    if (strait_proc_slots_start(&lane->rank->slots, op, &err) != 0)
        fail(lane, &err);
    leave(lane);
    return op;
}

static void lane_wait(struct strait_rank *r, struct strait_op *op, struct strait_times *times)
{
    struct strait_proc_lane *lane = lane_of(r);
    enter(lane);
    op->waiter = &lane->moved;
    while (!op->done)
        sleep_lane(lane, true, 0);
    advance(lane, op->ended_ns);
    leave(lane);
    const struct strait_proc_clock *c = &lane->rank->clock;
    if (times)
        *times = (struct strait_times){strait_proc_clock_virtual_s(c, op->queued_ns),
                                       strait_proc_clock_virtual_s(c, op->started_ns),
                                       strait_proc_clock_virtual_s(c, op->ended_ns)};
    free(op);
}

void strait_proc_rank_put(struct strait_proc_rank *rank, const struct strait_message *m,
                          int channel)
{
    if (!strait_proc_inbox_put(&rank->inbox, m, channel)) {
        struct strait_error err = {.code = STRAIT_OK};
        strait_error_set(&err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
        strait_proc_rank_fail(rank, &err);
    }
    for (struct strait_proc_lane *l = rank->lanes; l; l = l->next)
        if (l->receiving && l->want_channel == channel &&
            (l->want_src == STRAIT_ANY || l->want_src == m->src)) {
            set_stuck(l, false);
            pthread_cond_signal(&l->moved);
        }
}

void strait_proc_rank_acknowledged(struct strait_proc_rank *rank, void *ticket, int64_t mono_ns)
{
    struct strait_op *op = ticket;
    pthread_mutex_lock(&rank->lock);
    op->ended_ns = mono_ns;
    op->done = true;
    if (op->waiter)
        pthread_cond_signal(op->waiter);
    atomic_fetch_add(&rank->state->n_landed, 1);
    pthread_mutex_unlock(&rank->lock);
}

static struct strait_op *new_ack(struct strait_proc_lane *lane, int64_t now)
{
    struct strait_op *op = calloc(1, sizeof(*op));
    if (!op) {
        struct strait_error err = {.code = STRAIT_OK};
        strait_error_set(&err, STRAIT_ERR_NOMEM, NULL, "memory ran out for an acknowledgement");
        fail(lane, &err);
    }
    op->queued_ns = op->started_ns = op->ended_ns = now;
    return op;
}

static struct strait_op *lane_send(struct strait_rank *r, int dst, int channel, int tag,
                                   struct strait_packet *packet, bool acked)
{
    struct strait_proc_lane *lane = lane_of(r);
    struct strait_proc_rank *rank = lane->rank;
    assert(channel >= 0 && channel < STRAIT_MAX_CHANNELS && dst >= 0 && dst < r->run->n_ranks);
    struct strait_error err = {.code = STRAIT_OK};
    if (strait_stream_check(r, dst, channel, &err) != 0 ||
        strait_packet_post(packet, r, dst, channel, &err) != 0)
        lane_fail(r, &err);
    enter(lane);
    const int64_t now = sync_lane(lane);
    const double posted_s = strait_proc_clock_virtual_s(&rank->clock, now);
    struct strait_op *op = acked ? new_ack(lane, now) : NULL;
    if (dst == r->me) {
        const struct strait_message m = {.packet = packet,
                                         .src = dst,
                                         .tag = tag,
                                         .posted_s = posted_s,
                                         .arrived_s = posted_s,
                                         .seq = rank->seq_to_self[channel]++};
        if (op)
            op->done = true;
        strait_proc_rank_put(rank, &m, channel);
        leave(lane);
        return op;
    }
    atomic_fetch_add(&rank->state->n_sent, acked ? 2 : 1);
    leave(lane);
    if (rank->post(rank, dst, channel, tag, packet, posted_s, now, op, &err) != 0)
        fail(lane, &err);
    return op;
}

static bool lane_recv(struct strait_rank *r, struct strait_message *out, int src, int channel,
                      double deadline_s)
{
    struct strait_proc_lane *lane = lane_of(r);
    struct strait_proc_rank *rank = lane->rank;
    const struct strait_proc_clock *clock = &rank->clock;
    assert(channel >= 0 && channel < STRAIT_MAX_CHANNELS);
    const bool forever = deadline_s == INFINITY;
    const int64_t deadline_ns = strait_proc_clock_mono_ns(clock, deadline_s);
    enter(lane);
    sync_lane(lane);
    /* Messages that have arrived may be taken at any deadline: a poll. */
    const double now_s = strait_proc_clock_virtual_s(clock, strait_proc_mono_ns());
    bool found = strait_proc_inbox_take(&rank->inbox, out, src, channel, fmax(deadline_s, now_s));
    if (!found && deadline_s > now_s) {
        lane->receiving = true;
        lane->want_src = src;
        lane->want_channel = channel;
        atomic_store(&rank->state->stuck_src, src);
        atomic_store(&rank->state->stuck_channel, channel);
        for (bool in_time = true; !found && in_time;) {
            set_stuck(lane, forever);
            in_time = sleep_lane(lane, forever, deadline_ns);
            found = strait_proc_inbox_take(&rank->inbox, out, src, channel, deadline_s);
        }
        lane->receiving = false;
        set_stuck(lane, false);
    }
    if (found && out->src == r->me) /* it never left this process */
        strait_packet_landed(out->packet);
    if (found)
        advance(lane, strait_proc_clock_mono_ns(clock, out->arrived_s));
    else
        advance(lane, deadline_ns);
    leave(lane);
    return found;
}

struct strait_proc_lane *strait_proc_lane_new(struct strait_proc_rank *rank)
{
    struct strait_proc_lane *lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->base = (struct strait_rank){.backend = rank->backend, .run = rank->run, .me = rank->me};
    lane->rank = rank;
    lane->now_ns = rank->clock.start_ns;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lane->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return lane;
}

static void *live(void *of)
{
    struct strait_proc_lane *lane = of;
    struct strait_proc_rank *rank = lane->rank;
    const uint64_t one = 1;
    strait_proc_be_prompt();
    lane->fn(&lane->base, lane->arg);
    pthread_mutex_lock(&rank->lock);
    lane->ended = true;
    atomic_fetch_sub(&rank->state->n_lanes, 1);
    if (lane->joiner) {
        set_stuck(lane->joiner, false);
        pthread_cond_signal(&lane->joiner->moved);
    }
    leave(lane);
    TEMP_FAILURE_RETRY(write(rank->news, &one, sizeof(one)));
    return NULL;
}

int strait_proc_lane_begin(struct strait_proc_lane *lane, struct strait_error *err)
{
    struct strait_proc_rank *rank = lane->rank;
    lane->base.lane = rank->n_spawned++;
    lane->next = rank->lanes;
    rank->lanes = lane;
    atomic_fetch_add(&rank->state->n_lanes, 1);
    errno = pthread_create(&lane->thread, NULL, live, lane);
    if (errno != 0)
        return strait_error_system(err, "pthread_create", "cannot start a lane of rank %d",
                                   rank->me);
    return 0;
}

static struct strait_rank *lane_spawn(struct strait_rank *r,
                                      void (*fn)(struct strait_rank *, void *), void *arg)
{
    struct strait_proc_lane *lane = lane_of(r);
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_proc_lane *child = strait_proc_lane_new(lane->rank);
    if (!child) {
        strait_error_set(&err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a lane");
        fail(lane, &err);
    }
    child->base.wrap = r->wrap;
    child->fn = fn;
    child->arg = arg;
    enter(lane);
    child->now_ns = sync_lane(lane);
    if (strait_proc_lane_begin(child, &err) != 0)
        fail(lane, &err);
    leave(lane);
    return &child->base;
}

static void lane_join(struct strait_rank *r, struct strait_rank *other)
{
    struct strait_proc_lane *lane = lane_of(r), *child = lane_of(other);
    struct strait_proc_rank *rank = lane->rank;
    enter(lane);
    child->joiner = lane;
    while (!child->ended) {
        set_stuck(lane, true);
        sleep_lane(lane, true, 0);
    }
    set_stuck(lane, false);
    advance(lane, child->now_ns);
    struct strait_proc_lane **at = &rank->lanes;
    while (*at != child)
        at = &(*at)->next;
    *at = child->next;
    leave(lane);
    pthread_join(child->thread, NULL);
    pthread_cond_destroy(&child->moved);
    free(child);
}

const struct strait_rank_ops strait_proc_ops = {
    .fail = lane_fail,
    .now_s = lane_now_s,
    .start = lane_start,
    .send = lane_send,
    .wait = lane_wait,
    .recv = lane_recv,
    .spawn = lane_spawn,
    .join = lane_join,
};
