/* Training without a sum over all ranks: each averages with its neighbours in a graph.
 *
 * D-PSGD (Lian et al., NIPS 2017, algorithm 1), with the gradient beside the messages:
 *     x_i <- sum over j of w_ij x_j - lr g_i(x_i)
 * With a delay d the others' x_j are those of d rounds before, which arrive beside as
 * many gradients.
 *
 * CHOCO-SGD (Koloskova, Stich and Jaggi, ICML 2019, algorithm 2), where q is what the codec makes
 * of a difference, and everybody has the same copy h_j of what j has told so far:
 *     x_i <- x_i - lr g_i(x_i);   h_j <- h_j + q_j,   q_j = Q(x_j - h_j);
 *     x_i <- x_i + gamma sum over j of w_ij (h_j - h_i)
 * The weights do not change, so a rank keeps the sum s of w_ij h_j instead of its neighbours' h.
 * All begin with the same parameters, which h_j and s begin with too (the paper: with 0). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "workloads/ask/experiment.h"
#include "workloads/rank/rank.h"
#include "workloads/train/plans/graph.h"

enum { PARAMETERS = 0 };
static const char *const graphs[] = {"ring",     "torus", "exponential", "one_peer",
                                     "complete", "file",  NULL};

static enum strait_graph graph_of(const struct strait_experiment *e)
{
    return (enum strait_graph)(int)strait_experiment_param(e, "graph");
}

/* Whether src sends to dst in this round. */
static bool has(const struct strait_experiment *e, int round, int src, int dst)
{
    for (size_t i = 0; i < e->n_edges && graph_of(e) == STRAIT_GRAPH_FILE; i++)
        if ((e->edges[i][0] == src && e->edges[i][1] == dst) ||
            (e->edges[i][1] == src && e->edges[i][0] == dst))
            return true;
    return strait_graph_has(graph_of(e), e->n_ranks, round, src, dst);
}

static int n_senders(const struct strait_experiment *e, int round, int dst)
{
    int n = 0;
    for (int i = 0; i < e->n_ranks; i++)
        n += has(e, round, i, dst);
    return n;
}

/* Weight of what src sends: that of all senders alike, or in a graph from a file, where they may
 * have other numbers of neighbours, what keeps the mean (Metropolis). */
static double weight_of(const struct strait_rank *r, int round, int src)
{
    const struct strait_experiment *e = strait_experiment(r);
    int n = n_senders(e, round, strait_me(r));
    if (graph_of(e) == STRAIT_GRAPH_FILE && n_senders(e, round, src) > n)
        n = n_senders(e, round, src);
    return 1.0 / (n + 1);
}

/* Weight of a rank's own parameters: what is left. */
static double own_weight(const struct strait_rank *r, int round)
{
    const struct strait_experiment *e = strait_experiment(r);
    double left = 1;
    if (graph_of(e) != STRAIT_GRAPH_FILE)
        return weight_of(r, round, strait_me(r));
    for (int i = 0; i < e->n_ranks; i++)
        left -= has(e, round, i, strait_me(r)) ? weight_of(r, round, i) : 0;
    return left;
}

static void send_to_neighbours(struct strait_rank *r, int round, struct strait_packet *taken)
{
    for (int i = 0; i < strait_n_ranks(r); i++)
        if (has(strait_experiment(r), round, strait_me(r), i))
            strait_send(r, i, PARAMETERS, round, strait_keep(taken));
    strait_drop(r, taken);
}

/* sum += what each neighbour sent by its weight, in rank order. */
static void add_neighbours(struct strait_rank *r, int round, struct strait_tensor *sum)
{
    const struct strait_experiment *e = strait_experiment(r);
    const double alike = weight_of(r, round, strait_me(r));
    for (int i = 0; i < strait_n_ranks(r); i++)
        if (has(e, round, i, strait_me(r))) {
            struct strait_tensor *theirs = strait_spare(r, sum);
            strait_decode(r, theirs, strait_recv(r, i, PARAMETERS).packet);
            strait_add(r, sum, theirs,
                       graph_of(e) == STRAIT_GRAPH_FILE ? weight_of(r, round, i) : alike);
        }
}

/* Read and drop what neighbours sent in this round. */
static void skip_neighbours(struct strait_rank *r, int round)
{
    for (int i = 0; i < strait_n_ranks(r); i++)
        if (has(strait_experiment(r), round, i, strait_me(r)))
            strait_drop(r, strait_recv(r, i, PARAMETERS).packet);
}

/* A neighbour of a directed graph may be behind: what it has not read is a copy. With a delay the
 * first rounds mix nothing, and the last messages are not used. */
static void dpsgd(struct strait_rank *r)
{
    struct strait_tensor *g = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS), *x[2];
    const int delay = (int)strait_param(r, "delay");
    int round = 0;
    for (int i = 0; i < 2; i++)
        x[i] = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    strait_owns(r, x[0]);
    for (; strait_round(r); round++) {
        struct strait_tensor *old = x[round % 2], *mixed = x[(round + 1) % 2];
        const double w = round < delay ? 1 : own_weight(r, round - delay);
        send_to_neighbours(r, round, strait_snapshot(r, strait_codec(r, "up"), NAN, old));
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, g);
        strait_set(r, mixed, old, w);
        if (round >= delay)
            add_neighbours(r, round - delay, mixed);
        strait_owns(r, mixed);
        strait_learns(r, mixed);
        strait_step(r, g, 1);
    }
    for (int old = round > delay ? round - delay : 0; old < round; old++)
        skip_neighbours(r, old);
}

/* Differences alternate: a neighbour reads one until it has sent its next. */
static void choco(struct strait_rank *r)
{
    const double gamma = strait_param(r, "gamma"), w = own_weight(r, 0);
    struct strait_tensor *g = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS),
                         *x = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                         *h = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                         *s = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                         *recorded = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS),
                         *told = strait_like(r, x), *difference[2] = {NULL};
    for (int i = 0; i < 2; i++)
        difference[i] = strait_like(r, recorded);
    strait_owns(r, x);
    for (int round = 0; strait_round(r); round++) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, g);
        strait_step(r, g, 1);
        strait_set_change(r, difference[round % 2], x, h, recorded);
        struct strait_packet *q =
            strait_encode(r, strait_codec(r, "up"), NAN, difference[round % 2]);
        send_to_neighbours(r, round, strait_keep(q));
        strait_decode(r, told, q);
        strait_add(r, h, told, 1);
        strait_add(r, s, told, w);
        add_neighbours(r, round, s);
        strait_add(r, x, s, gamma);
        strait_add(r, x, h, -gamma);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    for (int round = 0; round < strait_graph_period(graph_of(e), e->n_ranks); round++)
        if (has(e, round, src, dst))
            return channel == PARAMETERS;
    return false;
}

static int period(const struct strait_experiment *e)
{
    return strait_graph_period(graph_of(e), e->n_ranks);
}

/* With a delay the next parameters are under way behind the last, on every link both ways. */
static bool needs_packets(const struct strait_experiment *e)
{
    return strait_experiment_param(e, "delay") > 0;
}

/* All ranks are reached from the first. */
static bool is_connected(const struct strait_experiment *e)
{
    bool *reached = calloc((size_t)e->n_ranks, sizeof(*reached));
    int n = 1;
    if (!reached)
        return false;
    reached[0] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < e->n_edges; i++)
            if (reached[e->edges[i][0]] != reached[e->edges[i][1]]) {
                reached[e->edges[i][0]] = reached[e->edges[i][1]] = more = true;
                n++;
            }
    }
    free(reached);
    return n == e->n_ranks;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const bool by_file = graph_of(e) == STRAIT_GRAPH_FILE;
    if (by_file != (e->n_edges > 0) || (by_file && !is_connected(e)))
        return strait_refuse_at(
            err, e->file, "/strategy/edges",
            "expected pairs of ranks that reach all %d of them beside \"graph\": "
            "\"file\", and none beside another one, found %zu beside \"%s\"",
            e->n_ranks, e->n_edges, graphs[graph_of(e)]);
    return 0;
}

static int check_choco(const struct strait_experiment *e, struct strait_error *err)
{
    const int graph = (int)strait_experiment_param(e, "graph");
    if (!strait_graph_is_symmetric((enum strait_graph)graph))
        return strait_refuse_at(err, e->file, "/strategy/graph",
                                "expected ring, torus, complete or file, since \"choco\" needs the "
                                "same weights in both directions, found \"%s\"",
                                graphs[graph]);
    if (strait_feedback_needed(&e->up.spec))
        return strait_refuse_at(
            err, e->file, "/codec",
            "expected a sender that remembers nothing (\"error_feedback\": "
            "false), since \"choco\" sends later what was left out, found \"%s\"",
            e->up.spec.ops->name);
    return check(e, err);
}

#define GRAPH_PARAMS                                                                               \
    {"rounds",     "training steps of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,        \
     .fallback = 5},                                                                               \
    {                                                                                              \
        "graph", "who sends to whom", STRAIT_PARAM_CHOICE,                                         \
            .min = 0, .max = STRAIT_GRAPH_FILE, .fallback = STRAIT_GRAPH_RING, .choices = graphs   \
    }
static const struct strait_param dpsgd_params[] = {
    GRAPH_PARAMS,
    {"delay", "rounds that the neighbours' parameters may be old: messages beside so many",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e4},
};
static const struct strait_param choco_params[] = {
    GRAPH_PARAMS,
    {"gamma", "share of the way to what the neighbours told", STRAIT_PARAM_NUMBER, .min = 0,
     .max = 1, .fallback = 0.3},
};
const struct strait_strategy strait_strategy_dpsgd = {
    .name = "dpsgd",
    .summary = "D-PSGD: each rank averages its parameters with its neighbours in a graph",
    .source = "Lian et al., NIPS 2017; exponential graphs: Ying et al., NeurIPS 2021",
    .trains = true,
    .takes_edges = true,
    .uplink_kind = "param",
    STRAIT_PARAMS(dpsgd_params),
    .check = check,
    .uses_stream = uses_stream,
    .needs_packets = needs_packets,
    .period = period,
    .rank_main = dpsgd,
};
const struct strait_strategy strait_strategy_choco = {
    .name = "choco",
    .summary = "CHOCO-SGD: neighbours are told compressed differences, and none is forgotten",
    .source = "Koloskova, Stich and Jaggi, ICML 2019",
    .trains = true,
    .takes_edges = true,
    .uplink_kind = "update",
    STRAIT_PARAMS(choco_params),
    .check = check_choco,
    .uses_stream = uses_stream,
    .period = period,
    .rank_main = choco,
};
