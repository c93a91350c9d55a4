/* NoLoCo (Kolehmainen et al., 2025): DiLoCo without an all-reduce. After H inner steps every rank
 * exchanges with one other, drawn anew, how far it has moved and where it was, and steps by itself:
 *     d_i <- alpha d_i + beta / 2 (D_i + D_j) - gamma (x_i - (x_i + x_j) / 2),   x_i <- x_i + d_i
 * where D is what the inner steps changed. The last term pulls the two together, so that ranks stay
 * near each other although nobody ever has the mean. Where a rank was is sent before its inner
 * steps, and so beside them. With an odd number one rank steps alone in each round. */
#include <math.h>

#include "federated.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/plans/graph.h"

enum { WHERE = 0, MOVED }; /* channels; a tag is the round */

/* Add w times what the other rank sent. */
static void add_theirs(struct strait_rank *r, struct strait_tensor *sum, int from, int channel,
                       double w)
{
    struct strait_tensor *theirs = strait_spare(r, sum);
    strait_decode(r, theirs, strait_recv(r, from, channel).packet);
    strait_add(r, sum, theirs, w);
}

/* What is sent is copied: the other rank may read it when this one is rounds ahead. */
static void noloco(struct strait_rank *r)
{
    const double alpha = strait_param(r, "outer_momentum"), beta = strait_param(r, "outer_lr"),
                 gamma = strait_param(r, "pull");
    struct strait_tensor *x = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                         *d = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                         *moved = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    strait_learns(r, x);
    for (int round = 0; strait_round(r); round++) {
        const int other = strait_graph_partner(strait_experiment(r)->seed, strait_n_ranks(r), round,
                                               strait_me(r));
        if (other >= 0)
            strait_send(r, other, WHERE, round,
                        strait_snapshot(r, strait_codec(r, "down"), NAN, x));
        strait_train(r, x, moved, (int)strait_param(r, "local_steps"));
        if (other >= 0)
            strait_send(r, other, MOVED, round,
                        strait_snapshot(r, strait_codec(r, "up"), NAN, moved));
        strait_set(r, d, d, alpha);
        strait_add(r, d, moved, other >= 0 ? beta / 2 : beta);
        if (other >= 0) {
            strait_add(r, d, x, -gamma / 2);
            add_theirs(r, d, other, WHERE, gamma / 2);
            add_theirs(r, d, other, MOVED, beta / 2);
        }
        strait_add(r, x, d, 1);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int n_rounds = (int)strait_experiment_param(e, "rounds");
    for (int round = 0; round < n_rounds && channel <= MOVED; round++)
        if (strait_graph_partner(e->seed, e->n_ranks, round, src) == dst)
            return true;
    return false;
}

/* alpha, beta and gamma are those of the authors' code and its configurations (jkolehm/noloco:
 * sparse_optimizer_c.py takes beta for gamma); with gamma 1 a pair would meet in the middle. */
static const struct strait_param params[] = {
    {"rounds", "outer steps", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two outer steps", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 50},
    {"outer_lr", "beta: share of the mean movement that a step takes", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 100, .fallback = 0.7},
    {"outer_momentum", "alpha: share of the last step that the next one keeps", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 0.9999, .fallback = 0.5},
    {"pull", "gamma: share of the way to the middle of the pair", STRAIT_PARAM_NUMBER, .min = 0,
     .max = 2, .fallback = 0.7},
};
const struct strait_strategy strait_strategy_noloco = {
    .name = "noloco",
    .summary = "NoLoCo: inner steps, then an outer step with one other rank, drawn anew",
    .source = "Kolehmainen et al., 2025 (arXiv 2506.10911)",
    .trains = true,
    .uplink_kind = "update",
    .downlink_kind = "param",
    STRAIT_PARAMS(params),
    .uses_stream = uses_stream,
    .needs_packets = strait_strategy_fills_both_ways,
    .has_one_lane = true,
    .rank_main = noloco,
};
