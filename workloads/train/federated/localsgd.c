/* Local SGD (Stich, ICLR 2019; Lin et al., ICLR 2020): every rank trains alone for some steps, then
 * all average their parameters by a ring all-reduce. */
#include "workloads/ask/experiment.h"
#include "federated.h"
#include "workloads/train/collectives/legal.h"

enum { PARAMETERS = 0 };

static void localsgd(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, PARAMETERS);
    world.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    struct strait_tensor *w[2]; /* alternating, see strait_average; recorded values do not change */
    w[0] = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    w[1] = strait_trains(r) ? strait_like(r, w[0]) : w[0];
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *trained = w[(round + 1) % 2];
        strait_train(r, w[round % 2], trained, (int)strait_param(r, "local_steps"));
        strait_average(r, world, strait_codec(r, "up"), trained);
        strait_learns(r, trained);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return strait_ring_uses_stream(e, PARAMETERS, src, dst, channel);
}

static const struct strait_param params[] = {
    {"rounds", "means of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "training steps between two means", STRAIT_PARAM_INTEGER, .min = 0, .max = 1e9,
     .fallback = 20},
};
const struct strait_strategy strait_strategy_localsgd = {
    .name = "localsgd",
    .summary = "local SGD: local steps, then the mean of the parameters by a ring all-reduce",
    .source = "Stich, ICLR 2019; Lin et al., ICLR 2020",
    .trains = true,
    .sums = true,
    .uplink_kind = "param",
    STRAIT_PARAMS(params),
    .check = strait_ring_check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = localsgd,
};
