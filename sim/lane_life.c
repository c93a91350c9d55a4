/* How lanes begin, wait, serve and end. */
#include "engine.h"

#include <math.h>
#include <stddef.h>
#include "core/heap.h"

struct strait_lane *strait_lane_new(struct strait_engine *m, int rank)
{
    struct strait_node *node = &m->nodes[rank];
    struct strait_lane *lane = strait_child_alloc(m->child, 1, sizeof(*lane));
    lane->rank = (struct strait_rank){
        .backend = m->backend, .run = m->run, .me = rank, .lane = node->n_lanes++};
    lane->machine = m;
    lane->next = node->lanes;
    node->lanes = lane;
    node->n_running++;
    m->n_active++;
    return lane;
}

static struct strait_lane *of_turn(struct strait_turn *turn)
{
    return (struct strait_lane *)((char *)turn - offsetof(struct strait_lane, turn));
}

static void run(struct strait_lane *lane, void (*body)(void *))
{
    if (strait_lanes_begin(&lane->machine->lanes, &lane->task, body, lane) != 0)
        strait_child_no_memory(lane->machine->child);
}

static void lane_main(void *of);

static void start(struct strait_turn *turn)
{
    run(of_turn(turn), lane_main);
}

void strait_lane_begin(struct strait_lane *lane)
{
    lane->turn.call = start;
    strait_lanes_call(&lane->machine->lanes, &lane->turn);
}

void strait_engine_begin(struct strait_engine *m)
{
    for (int i = 0; i < m->run->n_ranks; i++)
        strait_lane_new(m, i);
    for (int i = 0; i < m->run->n_ranks; i++)
        strait_lane_begin(m->nodes[i].lanes);
}

/* Nothing more happens: run rank_end of every rank. */
static void end_ranks(struct strait_engine *m)
{
    for (int i = 0; i < m->run->n_ranks && m->run->rank_end; i++)
        for (struct strait_lane *l = m->nodes[i].lanes; l; l = l->next)
            if (!l->fn)
                m->run->rank_end(&l->rank);
}

static void finish(struct strait_engine *m, double end_s)
{
    strait_work_pool_halt(m->pool); /* ranks that are cut off leave work behind */
    end_ranks(m);
    json_t *report =
        json_pack("{s:f, s:I, s:I, s:I, s:I}", "end_s", end_s, "flows", (json_int_t)m->n_flows,
                  "messages", (json_int_t)m->n_messages, "streams", (json_int_t)m->n_used_streams,
                  "blocks", (json_int_t)m->n_blocks);
    if (!report)
        strait_child_no_memory(m->child);
    strait_child_finish(m->child, report);
}

void strait_lane_block(struct strait_lane *lane, double until_s, enum strait_blocked_on on)
{
    struct strait_engine *m = lane->machine;
    m->n_blocks++;
    lane->woken = false;
    lane->blocked = true;
    lane->for_ever = isinf(until_s);
    lane->on = on;
    if (lane->for_ever)
        strait_engine_rest(m);
    if (strait_lanes_block(&m->lanes, lane->task, until_s) != 0)
        strait_child_no_memory(m->child);
    lane->blocked = false;
    lane->on = STRAIT_ON_TIME;
    lane->seen_s = strait_most(lane->seen_s, lane->woken ? lane->woken_s : until_s);
    lane->now_s = strait_most(lane->now_s, lane->seen_s);
}

void strait_lane_sleep_until(struct strait_lane *lane, double until_s)
{
    const struct strait_engine *m = lane->machine;
    lane->now_s = strait_most(lane->now_s, until_s);
    if (m->nodes[lane->rank.me].n_running > 1 || m->run->ends_with_rank_0)
        strait_lane_meet(lane);
}

/* Wait until everything that the rank posted has been carried; then it counts as ended. */
static void drain(struct strait_lane *lane)
{
    struct strait_node *node = &lane->machine->nodes[lane->rank.me];
    while (node->n_under_way > 0 || node->n_postings > 0) {
        node->drainer = lane;
        strait_lane_block(lane, INFINITY, STRAIT_ON_LANE);
    }
    node->drainer = NULL;
    strait_lane_sleep_until(lane, node->drained_s);
    if (lane->rank.me == 0 && lane->machine->run->ends_with_rank_0) /* receivers still run */
        strait_lane_sleep_until(lane, node->drained_s + 2 * STRAIT_SAME_EVENT_S);
}

/* What comes after a lane's program. Does not return once the run is over. */
static void end(struct strait_lane *lane)
{
    struct strait_engine *m = lane->machine;
    struct strait_node *node = &m->nodes[lane->rank.me];
    if (!lane->fn)
        drain(lane);
    strait_lane_meet(lane);
    lane->ended = true;
    node->n_running--;
    if (!lane->fn && lane->rank.me == 0 && m->run->ends_with_rank_0)
        finish(m, lane->now_s);
    if (node->n_running == 0 && --m->n_ranks_running == 0)
        finish(m, lane->now_s);
    if (lane->joiner)
        strait_lane_wake(lane->joiner, lane->now_s);
    strait_engine_rest(m);
}

/* Body of a lane's coroutine. */
static void lane_main(void *of)
{
    struct strait_lane *lane = of;
    struct strait_engine *m = lane->machine;
    lane->seen_s = m->kernel->now_s(m->world);
    lane->now_s = strait_most(lane->now_s, lane->seen_s);
    if (lane->fn) {
        lane->fn(&lane->rank, lane->arg);
    } else {
        if (m->run->rank_begin)
            m->run->rank_begin(&lane->rank);
        m->run->rank_main(&lane->rank);
    }
    end(lane);
}

/* --- serving: between its turns a lane has no coroutine ----------------------------------------- */

static void wait_to_serve(struct strait_lane *lane)
{
    struct strait_engine *m = lane->machine;
    const int me = lane->rank.me;
    struct strait_inbox *inbox = lane->inbox;
    const struct strait_stream *s = strait_inbox_first(m, inbox, me, lane->wanted);
    m->n_blocks++;
    inbox->reader = lane;
    inbox->wanted = lane->wanted;
    lane->is_idle = true;
    lane->on = STRAIT_ON_MESSAGE;
    if (s)
        strait_lane_serve_at(lane,
                             strait_most(s->there.first->arrived_s, m->kernel->now_s(m->world)));
    strait_engine_rest(m);
}

static void serve_main(void *of)
{
    struct strait_lane *lane = of;
    if (lane->serve(&lane->rank, lane->arg))
        wait_to_serve(lane);
    else
        end(lane);
}

static void serve(struct strait_turn *turn)
{
    struct strait_lane *lane = of_turn(turn);
    lane->inbox->reader = NULL;
    lane->seen_s = strait_most(lane->seen_s, turn->timer.key);
    run(lane, serve_main);
}

void strait_lane_serve(struct strait_lane *lane, int src, int channel,
                       bool (*turn)(struct strait_rank *, void *), void *arg)
{
    lane->serve = turn;
    lane->arg = arg;
    lane->wanted = src;
    lane->channel = channel;
    lane->inbox = strait_inbox_of(lane->machine, lane->rank.me, channel);
    lane->turn.call = serve;
    wait_to_serve(lane);
    strait_lanes_end(&lane->machine->lanes);
}
