/* Replay of a recorded program (ATLAHS: Shen et al., SC 2025; ASTRA-sim with Chakra graphs: Won et
 * al., ISPASS 2023): every rank does what the trace says, when what it waits for has ended.
 *
 * Lane 0 keeps the books: it starts nodes, and takes the events that end them. Each computing unit,
 * group and the clock has a lane that does one node at a time:
 *
 *   lane 0      start compute 1 > unit 0 | send 2 | recv 3: from rank 1, not there yet
 *   unit 0      compute 1 ............... > ended: 1
 *   lane 0      < ended 1: start 4 > group 0 | < message for 3: its end
 *   group 0     all_reduce 4 ............ > ended: 4
 *
 * A message carries the number of the node that receives it, so that none is searched for. A round
 * is the whole trace; it ends for rank 0 when all others have told that they have ended it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"

struct replay {
    const struct strait_program *graph;
    const struct strait_program_rank *trace;
    double flop_per_s, slowness;
    uint32_t *n_before; /* of each node: what it still waits for in this round */
    uint32_t *n_here;   /* of each receive: messages that came before it was its turn */
    bool *is_open;      /* of each receive: it is its turn */
    bool *may_call;     /* of each collective: what it waits for has ended */
    uint32_t *ready;    /* nodes to be started, a ring of n_nodes */
    size_t n_ready, first_ready, n_ended, n_reported;
    size_t next_call[STRAIT_PROGRAM_MAX_GROUPS]; /* collectives are called in the trace's order */
    struct strait_replay_group groups[STRAIT_PROGRAM_MAX_GROUPS];
    struct strait_rank *lanes[STRAIT_MAX_CHANNELS];
};

struct worker {
    struct replay *p;
    int channel;
};

static double cost_s(const struct replay *p, const struct strait_rank *r,
                     const struct strait_program_node *node)
{
    const double counted_s = node->flop > 0 ? node->flop / p->flop_per_s : 0;
    return node->kind == STRAIT_PROGRAM_SLEEP
               ? node->time_s
               : (node->time_s + counted_s) / strait_device_speed(r) * p->slowness;
}

/* --- lanes that do one node at a time ----------------------------------------------------- */

static void do_node(struct strait_rank *lane, struct replay *p, int channel,
                    const struct strait_program_node *node)
{
    if (node->kind == STRAIT_PROGRAM_COLLECTIVE)
        strait_replay_collective(lane, &p->groups[channel - STRAIT_REPLAY_GROUPS], node);
    /* Each stream on a CPU has a core of its own, so that only its lane keeps it busy. */
    const enum strait_resource resource =
        channel == STRAIT_REPLAY_UNITS + STRAIT_PROGRAM_ACCEL ? strait_device(lane) : STRAIT_TIMER;
    const double takes_s = cost_s(p, lane, node);
    if (takes_s > 0)
        strait_work(lane, STRAIT_SPAN_COMPUTE, resource, takes_s, NULL, NULL);
}

static void work(struct strait_rank *lane, void *arg)
{
    const struct worker *w = arg;
    int node;
    while ((node = strait_pend(lane, w->channel)) != STRAIT_REPLAY_END) {
        do_node(lane, w->p, w->channel, &w->p->trace->nodes[node]);
        strait_post(lane, STRAIT_REPLAY_EVENTS, node);
    }
}

static int channel_of(const struct strait_program_node *node)
{
    return node->kind == STRAIT_PROGRAM_COMPUTE ? STRAIT_REPLAY_UNITS + node->unit
           : node->kind == STRAIT_PROGRAM_SLEEP ? STRAIT_REPLAY_SLEEP
                                                : STRAIT_REPLAY_GROUPS + node->group;
}

static void give(struct strait_rank *r, struct replay *p, size_t node)
{
    const int channel = channel_of(&p->trace->nodes[node]);
    if (!p->lanes[channel]) {
        struct worker *w = strait_alloc(r, 1, sizeof(*w));
        *w = (struct worker){p, channel};
        p->lanes[channel] = strait_spawn(r, work, w);
    }
    strait_post(r, channel, (int)node);
}

/* --- lane 0 ------------------------------------------------------------------------------- */

static void release(struct replay *p, uint32_t node)
{
    if (--p->n_before[node] == 0)
        p->ready[(p->first_ready + p->n_ready++) % p->trace->n_nodes] = node;
}

static void follow(struct replay *p, uint32_t node, bool on_start)
{
    for (uint32_t e = p->trace->first_edge[node]; e < p->trace->first_edge[node + 1]; e++)
        if (p->trace->edges[e].on_start == on_start)
            release(p, p->trace->edges[e].to);
}

static void end(struct replay *p, uint32_t node)
{
    p->n_ended++;
    follow(p, node, false);
}

/* Give the group's lane all calls that are next in the trace and may begin. */
static void call(struct strait_rank *r, struct replay *p, int group)
{
    size_t *at = &p->next_call[group];
    for (; *at < p->trace->n_nodes; (*at)++) {
        const struct strait_program_node *node = &p->trace->nodes[*at];
        if (node->kind != STRAIT_PROGRAM_COLLECTIVE || node->group != group)
            continue;
        if (!p->may_call[*at])
            return;
        give(r, p, *at);
    }
}

static void receive(struct replay *p, uint32_t node)
{
    if (p->n_here[node] > 0 && p->is_open[node]) {
        p->n_here[node]--;
        p->is_open[node] = false;
        end(p, node);
    }
}

static void start(struct strait_rank *r, struct replay *p, uint32_t at)
{
    const struct strait_program_node *node = &p->trace->nodes[at];
    follow(p, at, true);
    switch ((enum strait_program_kind)node->kind) {
    case STRAIT_PROGRAM_COMPUTE:
    case STRAIT_PROGRAM_SLEEP:
        give(r, p, at);
        break;
    case STRAIT_PROGRAM_COLLECTIVE:
        p->may_call[at] = true;
        call(r, p, node->group);
        break;
    case STRAIT_PROGRAM_RECV:
        p->is_open[at] = true;
        receive(p, at);
        break;
    case STRAIT_PROGRAM_SEND:
        strait_send(r, node->peer, STRAIT_REPLAY_EVENTS, (int)node->mate,
                    strait_filler(r, node->bytes));
        end(p, at);
        break;
    case STRAIT_PROGRAM_NOTHING:
    case STRAIT_N_PROGRAM_KINDS:
        end(p, at);
        break;
    }
}

static void take_event(struct strait_rank *r, struct replay *p)
{
    struct strait_message m = strait_recv(r, STRAIT_ANY, STRAIT_REPLAY_EVENTS);
    strait_drop(r, m.packet);
    if (m.src == strait_me(r)) {
        end(p, (uint32_t)m.tag);
    } else if (m.tag == STRAIT_REPLAY_END) {
        p->n_reported++;
    } else {
        p->n_here[m.tag]++; /* maybe of a round that its sender has begun before us */
        receive(p, (uint32_t)m.tag);
    }
}

static void replay_once(struct strait_rank *r, struct replay *p)
{
    const size_t n = p->trace->n_nodes;
    p->n_ended = p->n_ready = p->first_ready = 0;
    for (int g = 0; g < STRAIT_PROGRAM_MAX_GROUPS; g++)
        p->next_call[g] = 0;
    for (size_t i = 0; i < n; i++) {
        p->may_call[i] = false;
        p->n_before[i] = p->trace->n_before[i] + 1;
        release(p, (uint32_t)i);
    }
    while (p->n_ended < n) {
        for (; p->n_ready > 0;) {
            const uint32_t node = p->ready[p->first_ready];
            p->first_ready = (p->first_ready + 1) % n;
            p->n_ready--;
            start(r, p, node);
        }
        if (p->n_ended < n)
            take_event(r, p);
    }
}

/* Rank 0's round ends when those of all others have. */
static void end_round(struct strait_rank *r, struct replay *p)
{
    if (strait_me(r) != 0) {
        strait_send(r, 0, STRAIT_REPLAY_EVENTS, STRAIT_REPLAY_END, strait_control(r, 0));
        return;
    }
    for (; p->n_reported + 1 < (size_t)strait_n_ranks(r);)
        take_event(r, p);
    p->n_reported -= (size_t)strait_n_ranks(r) - 1;
}

static bool is_member(const struct strait_program *g, int group, int rank)
{
    for (int i = 0; i < strait_program_group_n(g, group); i++)
        if (strait_program_group_rank(g, group, i) == rank)
            return g->groups[group].kinds != 0;
    return false;
}

static void replay(struct strait_rank *r)
{
    const struct strait_experiment *e = strait_experiment(r);
    struct replay *p = strait_alloc(r, 1, sizeof(*p));
    const struct strait_program_rank *trace = &e->graph->ranks[strait_me(r)];
    *p = (struct replay){.graph = e->graph,
                         .trace = trace,
                         .flop_per_s = strait_param(r, "speed"),
                         .slowness = strait_experiment_slowness(e, strait_me(r))};
    p->n_before = strait_alloc(r, trace->n_nodes, sizeof(*p->n_before));
    p->n_here = strait_alloc(r, trace->n_nodes, sizeof(*p->n_here));
    p->is_open = strait_alloc(r, trace->n_nodes, sizeof(*p->is_open));
    p->may_call = strait_alloc(r, trace->n_nodes, sizeof(*p->may_call));
    p->ready = strait_alloc(r, trace->n_nodes, sizeof(*p->ready));
    for (int g = 0; g < e->graph->n_groups; g++)
        if (is_member(e->graph, g, strait_me(r)))
            p->groups[g] = strait_replay_group_of(
                r, e->graph, g, (enum strait_all_reduce)(int)strait_param(r, "all_reduce"));
    while (strait_round(r)) {
        replay_once(r, p);
        end_round(r, p);
    }
    for (int c = 0; c < STRAIT_MAX_CHANNELS; c++)
        if (p->lanes[c]) {
            strait_post(r, c, STRAIT_REPLAY_END);
            strait_join(r, p->lanes[c]);
        }
}

static enum strait_all_reduce how_of(const struct strait_experiment *e)
{
    return (enum strait_all_reduce)(int)strait_experiment_param(e, "all_reduce");
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    if (channel == STRAIT_REPLAY_EVENTS)
        return dst == 0 || strait_program_sends(e->graph, src, dst);
    const int group = channel - STRAIT_REPLAY_GROUPS;
    return group >= 0 && group < e->graph->n_groups &&
           strait_replay_group_uses(e->graph, group, how_of(e), src, dst);
}

static const char *const all_reduces[] = {"ring", "halving", "tree", "all_to_all", NULL};

static bool counts_flop(const struct strait_program *g)
{
    for (int r = 0; r < g->n_ranks; r++)
        for (size_t i = 0; i < g->ranks[r].n_nodes; i++)
            if (g->ranks[r].nodes[i].flop > 0)
                return true;
    return false;
}

static int refuse(const struct strait_experiment *e, struct strait_error *err, const char *pointer,
                  const char *text)
{
    char where[512];
    snprintf(where, sizeof(where), "%s#%s", e->file, pointer);
    return strait_refuse(err, where, "%s", text);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    char text[160];
    if (e->n_clients != e->graph->n_ranks) {
        snprintf(text, sizeof(text), "expected %d clients, the ranks of the trace, found %d",
                 e->graph->n_ranks, e->n_clients);
        return refuse(e, err, "/clients", text);
    }
    if (e->up.spec.ops->id != e->down.spec.ops->id || strcmp(e->up.spec.ops->name, "none") != 0)
        return refuse(e, err, "/codec",
                      "expected none: a replay carries the trace's bytes as they are");
    if (counts_flop(e->graph) && !(strait_experiment_param(e, "speed") > 0))
        return refuse(
            e, err, "/strategy/speed",
            "expected operations a second, since the trace counts operations, found none");
    return strait_all_reduce_check(e, how_of(e), all_reduces[how_of(e)], err);
}

static const struct strait_param params[] = {
    {"rounds", "times that the trace is replayed, one after the other", STRAIT_PARAM_INTEGER,
     .min = 1, .max = 1e6, .fallback = 1},
    {"speed", "operations a second of a rank, for traces that count them", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 1e21},
    {"all_reduce", "how an all-reduce of the trace is done", STRAIT_PARAM_CHOICE, .min = 0,
     .max = STRAIT_AR_ALL_TO_ALL, .fallback = STRAIT_AR_RING, .choices = all_reduces},
};
const struct strait_strategy strait_strategy_replay = {
    .name = "replay",
    .summary = "a recorded program as it is: its computing, messages and collectives",
    .source = "ATLAHS: Shen et al., SC 2025; ASTRA-sim 2.0: Won et al., ISPASS 2023",
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .rank_main = replay,
};
