/* DiLoCo (Douillard et al. 2023): every rank trains alone for H inner steps; the change of its
 * parameters is averaged by a ring all-reduce with the codec, and an outer Nesterov step applies
 * the mean. The inner step is the model's own. */
#include "workloads/ask/experiment.h"
#include "federated.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/train/parallel/pipeline_grid.h"

enum { MOVED = 0 };
enum { BY_RANK, BY_NETWORK };
static const char *const orders[] = {"ranks", "network", NULL};

static void diloco(struct strait_rank *r)
{
    const int n = strait_n_ranks(r);
    struct strait_group world = (int)strait_param(r, "order") == BY_NETWORK
                                    ? strait_group_of(r, strait_ring_order(r), n, MOVED)
                                    : strait_world(r, MOVED);
    world.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *momentum = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *moved[2]; /* alternating, see strait_average */
    for (int i = 0; i < 2; i++)
        moved[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    strait_learns(r, w);
    for (int round = 0; strait_round(r); round++) {
        strait_train(r, w, update, (int)strait_param(r, "local_steps"));
        struct strait_tensor *g = moved[round % 2];
        strait_set(r, g, update, 1);
        strait_average(r, world, strait_codec(r, "up"), g);
        strait_outer_step(r, w, momentum, g);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return strait_ring_uses_stream(e, MOVED, src, dst, channel) ||
           (channel == MOVED && (int)strait_experiment_param(e, "order") == BY_NETWORK);
}

static const struct strait_param params[] = {
    {"rounds", "outer steps", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two outer steps", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 500},
    {"order", "of the ring: as ranks are numbered, or what is fastest on the network",
     STRAIT_PARAM_CHOICE, .min = 0, .max = BY_NETWORK, .choices = orders},
    STRAIT_OUTER_PARAMS,
};
const struct strait_strategy strait_strategy_diloco = {
    .name = "diloco",
    .summary = "DiLoCo: many inner steps, then an outer Nesterov step along the mean movement",
    .source = "Douillard et al., 2023 (arXiv 2311.08105); order: INTELLECT-1, 2024 (arXiv "
              "2412.01152)",
    .trains = true,
    .sums = true,
    .uplink_kind = "update",
    STRAIT_PARAMS(params),
    .check = strait_ring_check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = diloco,
};
