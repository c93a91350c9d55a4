/* SparseLoCo (Sarfi et al. 2025): every rank trains alone for H inner steps; the change of its
 * parameters is added to what it has not sent yet, which decays, and the largest of each chunk are
 * gathered by all ranks, who step along the mean. There is no outer momentum: the memory of what
 * was not sent, which is the codec's (chunktopk), takes its place. */
#include "workloads/ask/experiment.h"
#include "federated.h"

enum { CHANGE = 0 };

static void sparseloco(struct strait_rank *r)
{
    const int n = strait_n_ranks(r);
    struct strait_group world = strait_world(r, CHANGE);
    struct strait_codec *codec = strait_codec(r, "up");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *update[2]; /* alternating: others may still read the last one */
    for (int i = 0; i < 2; i++)
        update[i] = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    const bool sizes_first = !strait_size_is_fixed(r, codec, y);
    struct strait_packet **all = strait_alloc(r, (size_t)n, sizeof(struct strait_packet *));
    strait_learns(r, w);
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = update[round % 2];
        strait_train(r, w, x, (int)strait_param(r, "local_steps"));
        all[strait_me(r)] = strait_encode(r, codec, NAN, x);
        strait_gather_packets(r, world, all, sizes_first);
        for (int i = 0; i < n; i++) { /* in rank order: the same sum everywhere */
            strait_decode(r, y, all[i]);
            strait_add(r, w, y, strait_param(r, "outer_lr") / n);
        }
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == CHANGE && dst == (src + 1) % e->n_ranks;
}

static const struct strait_param params[] = {
    {"rounds", "outer steps", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two outer steps", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 30},
    {"outer_lr", "learning rate of the outer step", STRAIT_PARAM_NUMBER, .min = 0, .max = 100,
     .fallback = 1},
};
const struct strait_strategy strait_strategy_sparseloco = {
    .name = "sparseloco",
    .summary = "SparseLoCo: many inner steps, then the largest changes of each chunk gathered",
    .source = "Sarfi et al., 2025 (arXiv 2508.15706)",
    .trains = true,
    .uplink_kind = "update",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = sparseloco,
};
