/* The operations of a rank in virtual time. */
#include "engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"

/* From so many ranks on, those of one lane are kept aside while they wait, in a tenth of the memory
 * of a stack of their own. */
enum { SHARING_RANKS = 512 };
/* And from so many on, whose variables fill the caches, comparing them with others' pays. */
enum { MANY_RANKS = 4096 };
static struct strait_lane *lane_of(const struct strait_rank *r)
{
    return (struct strait_lane *)(uintptr_t)r; /* the handle is the lane's first member */
}

/* What does not lie in the simulation's own memory. */
static void release(void *engine)
{
    struct strait_engine *m = engine;
    strait_lanes_release(&m->lanes);
    for (int i = 0; i < m->run->n_ranks; i++) {
        for (int which = 0; which < STRAIT_TIMER; which++)
            strait_slots_release(&m->nodes[i].slots[which]);
        for (struct strait_inbox *inbox = m->nodes[i].inboxes; inbox; inbox = inbox->next)
            strait_heap_release(&inbox->streams);
    }
    strait_packets_free(m->packets);
    free(m->streams);
}

struct strait_engine *strait_engine_new(struct strait_run *run,
                                        const struct strait_backend *backend,
                                        const struct strait_kernel *kernel, void *world,
                                        struct strait_child *child)
{
    struct strait_engine *m = strait_child_alloc(child, 1, sizeof(*m));
    m->run = run;
    m->backend = backend;
    m->kernel = kernel;
    m->world = world;
    m->child = child;
    m->lanes.coroutines = child->coroutines;
    m->lanes.coroutines->stack_bytes = (size_t)STRAIT_LANE_STACK_KIB * 1024;
    if (run->has_one_lane && run->n_ranks >= SHARING_RANKS)
        strait_coroutines_share(m->lanes.coroutines, run->n_ranks >= MANY_RANKS);
    m->ramp = !(run->control && strcmp(run->control, "no-ramp") == 0);
    m->frame_bytes = strait_network_frame_bytes(run->network);
    m->nodes = strait_child_alloc(child, (size_t)run->n_ranks, sizeof(*m->nodes));
    m->n_ranks_running = run->n_ranks;
    strait_child_defer(child, release, m);
    if (strait_network_by_packets(run->network)) {
        m->packets =
            strait_packets_new(run->network, run->seed + (run->network_draw << 32), m->ramp);
        if (!m->packets)
            strait_child_no_memory(child);
    }
    return m;
}

double strait_engine_next_s(struct strait_engine *m)
{
    const double lanes_s = strait_lanes_next_s(&m->lanes);
    if (!m->packets)
        return lanes_s;
    if (!m->arrived)
        m->arrived_s = strait_packets_run(m->packets, lanes_s, &m->arrived);
    if (isnan(m->arrived_s))
        strait_child_no_memory(m->child);
    return strait_least(lanes_s, m->arrived_s);
}

void strait_engine_due(struct strait_engine *m, double now_s)
{
    if (m->arrived && m->arrived_s <= now_s) {
        struct strait_stream *s = strait_pipe_owner(m->arrived);
        m->arrived = NULL;
        strait_stream_arrived(s, m->arrived_s);
    }
    strait_lanes_due(&m->lanes, now_s);
}

__attribute__((noreturn)) static void engine_fail(struct strait_rank *r,
                                                  const struct strait_error *err)
{
    strait_child_fail(lane_of(r)->machine->child, err);
}

static double engine_now_s(const struct strait_rank *r)
{
    return lane_of(r)->now_s;
}

static struct strait_op *new_op(struct strait_engine *m, double queued_s)
{
    struct strait_op *op = m->spare_ops;
    if (op)
        m->spare_ops = op->next;
    else
        op = strait_child_alloc(m->child, 1, sizeof(*op));
    *op = (struct strait_op){.times = {queued_s, queued_s, queued_s}};
    return op;
}

static struct strait_slots *slots_of(struct strait_engine *m, int rank, enum strait_resource which)
{
    struct strait_slots *slots = &m->nodes[rank].slots[which];
    if (slots->n == 0 && strait_slots_init(slots, m->run->n_slots(m->run, rank, which)) != 0)
        strait_child_no_memory(m->child);
    return slots;
}

/* An error is large, and these functions are called for each message: it lies in frames of its
 * own. */
__attribute__((noinline, noreturn)) static void refuse_job(struct strait_rank *r,
                                                           const struct strait_job *job)
{
    struct strait_error err = {0};
    if (!(job->cost_s >= 0) || isinf(job->cost_s))
        strait_error_set(&err, STRAIT_ERR_BACKEND, r->backend->name,
                         "rank %d: expected a job with a finite cost of at least 0 s, found %g",
                         r->me, job->cost_s);
    else
        strait_error_set(&err, STRAIT_ERR_BACKEND, r->backend->name,
                         "rank %d: expected a job of at most %u slots, found %u", r->me,
                         slots_of(lane_of(r)->machine, r->me, job->resource)->n, job->n_slots);
    engine_fail(r, &err);
}

static void check_job(struct strait_rank *r, const struct strait_job *job)
{
    if (!(job->cost_s >= 0) || isinf(job->cost_s) ||
        (job->resource != STRAIT_TIMER &&
         job->n_slots > slots_of(lane_of(r)->machine, r->me, job->resource)->n))
        refuse_job(r, job);
}

/* On another thread, beside that of other ranks. */
__attribute__((noinline)) static void do_long_work(struct strait_engine *m, struct strait_op *op,
                                                   const struct strait_job *job)
{
    struct strait_error err = {0};
    if (!m->pool)
        m->pool = strait_work_pool_new(m->run->n_threads, &err);
    if (m->pool)
        op->work = strait_work_pool_start(m->pool, job->fn, job->arg, &err);
    if (!op->work)
        strait_child_fail(m->child, &err);
}

static struct strait_op *engine_start(struct strait_rank *r, const struct strait_job *job)
{
    struct strait_lane *lane = lane_of(r);
    check_job(r, job);
    struct strait_op *op = new_op(lane->machine, lane->now_s);
    if (job->resource != STRAIT_TIMER)
        op->times.started_s =
            strait_slots_queue(slots_of(lane->machine, r->me, job->resource), lane->now_s,
                               job->n_slots > 0 ? job->n_slots : 1, job->cost_s);
    op->times.ended_s = op->times.started_s + job->cost_s;
    op->known = true;
    if (job->fn && job->is_long)
        do_long_work(lane->machine, op, job);
    else if (job->fn)
        job->fn(job->arg);
    return op;
}

/* Asks again what a send has asked, for the error. */
__attribute__((noinline, noreturn)) static void refuse_message(struct strait_rank *r, int dst,
                                                               int channel,
                                                               struct strait_packet *packet,
                                                               bool is_first)
{
    struct strait_error err = {0};
    if (!is_first || strait_stream_check(r, dst, channel, &err) == 0)
        strait_packet_post(packet, r, dst, channel, &err);
    engine_fail(r, &err);
}

static void post_now(struct strait_turn *turn)
{
    struct strait_posting *posting = (struct strait_posting *)turn;
    struct strait_stream *s = posting->to;
    struct strait_engine *m = s->machine;
    m->nodes[s->src].n_postings--;
    posting->next = m->spare_postings;
    m->spare_postings = posting;
    strait_stream_post(s, posting->parcel, turn->timer.key);
    strait_engine_rest(m);
}

static void post_later(struct strait_stream *s, struct strait_parcel *parcel, double at_s)
{
    struct strait_engine *m = s->machine;
    struct strait_posting *posting = m->spare_postings;
    if (posting)
        m->spare_postings = posting->next;
    else
        posting = strait_child_alloc(m->child, 1, sizeof(*posting));
    posting->turn.call = post_now;
    posting->to = s;
    posting->parcel = parcel;
    m->n_active++;
    m->nodes[s->src].n_postings++;
    if (strait_lanes_call_at(&m->lanes, &posting->turn, at_s) != 0)
        strait_child_no_memory(m->child);
}

static struct strait_op *engine_send(struct strait_rank *r, int dst, int channel, int tag,
                                     struct strait_packet *packet, bool acked)
{
    struct strait_lane *lane = lane_of(r);
    struct strait_engine *m = lane->machine;
    assert(dst >= 0 && dst < m->run->n_ranks && channel >= 0 && channel < STRAIT_MAX_CHANNELS);
    const unsigned *n_postings = &m->nodes[r->me].n_postings; /* which none may overtake */
    const bool is_later = lane->seen_s < lane->now_s || *n_postings > 0;
    /* Packets of real values may be views that others pass on: then nobody runs ahead of what is
     * sent, since it might change what others have yet to read. */
    const bool goes_on = is_later && !acked && dst != r->me && !m->run->real_payload;
    while (!goes_on && (lane->seen_s < lane->now_s || *n_postings > 0))
        strait_lane_block(lane, lane->now_s, STRAIT_ON_TIME);
    struct strait_stream *s = strait_stream_find(m, r->me, dst, channel);
    if ((s->n_sent == 0 && strait_stream_check(r, dst, channel, NULL) != 0) ||
        strait_packet_post(packet, r, dst, channel, NULL) != 0)
        refuse_message(r, dst, channel, packet, s->n_sent == 0);
    struct strait_parcel *parcel = strait_parcel_new(m);
    struct strait_op *op = acked ? new_op(m, lane->now_s) : NULL;
    parcel->packet = packet;
    parcel->tag = tag;
    parcel->ack = op;
    if (goes_on)
        post_later(s, parcel, lane->now_s);
    else
        strait_stream_post(s, parcel, lane->now_s);
    return op;
}

static void engine_wait(struct strait_rank *r, struct strait_op *op, struct strait_times *times)
{
    struct strait_lane *lane = lane_of(r);
    op->waiter = lane;
    while (!op->known)
        strait_lane_block(lane, INFINITY, STRAIT_ON_LANE);
    strait_lane_sleep_until(lane, op->times.ended_s);
    if (op->work) {
        strait_lane_meet(
            lane); /* so that others start their work before this lane waits for its own */
        strait_work_join(op->work);
    }
    if (times)
        *times = op->times;
    op->next = lane->machine->spare_ops;
    lane->machine->spare_ops = op;
}

static void take(struct strait_engine *m, struct strait_message *out, struct strait_stream *s)
{
    struct strait_parcel *parcel = strait_stream_take(s);
    strait_packet_landed(parcel->packet);
    *out = (struct strait_message){.packet = parcel->packet,
                                   .src = s->src,
                                   .tag = parcel->tag,
                                   .posted_s = parcel->posted_s,
                                   .arrived_s = parcel->arrived_s,
                                   .seq = parcel->seq};
    strait_parcel_free(m, parcel);
}

static bool engine_recv(struct strait_rank *r, struct strait_message *out, int src, int channel,
                        double deadline_s)
{
    struct strait_lane *lane = lane_of(r);
    struct strait_engine *m = lane->machine;
    assert(src >= STRAIT_ANY && src < m->run->n_ranks && channel >= 0 &&
           channel < STRAIT_MAX_CHANNELS);
    struct strait_inbox *inbox = strait_inbox_of(m, r->me, channel);
    assert(!inbox->reader);      /* one lane reads a channel */
    strait_child_look(m->child); /* one that polls for ever may not come back to the loop */
    const bool is_certain = src != STRAIT_ANY && deadline_s == INFINITY;
    if (!is_certain)
        strait_lane_meet(
            lane); /* afterwards it is known which message is first and whether one is in time */
    for (;;) {
        struct strait_stream *s = strait_inbox_first(m, inbox, r->me, src);
        const double arrival_s = s ? s->there.first->arrived_s : INFINITY;
        if (s && is_certain)
            strait_lane_sleep_until(lane, arrival_s);
        if (s && arrival_s <= lane->now_s) {
            take(m, out, s);
            return true;
        }
        const bool in_time = s && arrival_s <= deadline_s + STRAIT_SAME_EVENT_S;
        if (!in_time && deadline_s <= lane->now_s)
            return false;
        inbox->reader = lane;
        inbox->wanted = lane->wanted = src;
        lane->channel = channel;
        strait_lane_block(lane, in_time ? arrival_s : deadline_s, STRAIT_ON_MESSAGE);
        inbox->reader = NULL;
    }
}

static void engine_serve(struct strait_rank *r, int src, int channel,
                         bool (*turn)(struct strait_rank *, void *), void *arg)
{
    if (r->run->has_one_lane)
        strait_lane_serve(lane_of(r), src, channel, turn, arg);
}

static struct strait_rank *engine_spawn(struct strait_rank *r,
                                        void (*fn)(struct strait_rank *, void *), void *arg)
{
    struct strait_lane *maker = lane_of(r);
    struct strait_error err = {0};
    if (maker->machine->lanes.coroutines->shared) {
        strait_error_set(&err, STRAIT_ERR_BACKEND, r->backend->name,
                         "rank %d: expected one lane, as its strategy says, found another", r->me);
        engine_fail(r, &err);
    }
    strait_lane_meet(maker);
    struct strait_lane *lane = strait_lane_new(maker->machine, r->me);
    lane->fn = fn;
    lane->arg = arg;
    lane->rank.wrap = r->wrap;
    lane->now_s = maker->now_s;
    strait_lane_begin(lane);
    return &lane->rank;
}

static void engine_join(struct strait_rank *r, struct strait_rank *other)
{
    struct strait_lane *lane = lane_of(r), *joined = lane_of(other);
    joined->joiner = lane;
    while (!joined->ended && !(lane->machine->run->is_over && r->me == 0))
        strait_lane_block(lane, INFINITY, STRAIT_ON_LANE);
    joined->joiner = NULL;
}

const struct strait_rank_ops strait_engine_ops = {
    .fail = engine_fail,
    .now_s = engine_now_s,
    .start = engine_start,
    .send = engine_send,
    .wait = engine_wait,
    .recv = engine_recv,
    .serve = engine_serve,
    .spawn = engine_spawn,
    .join = engine_join,
};
