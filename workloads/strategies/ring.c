/* Synchronous data parallelism with a ring all-reduce (Patarasuk and Yuan, JPDC 2009): forward,
 * backward, reduce-scatter, all-gather, step. */
#include "../collectives.h"
#include "../experiment.h"
#include "../strategy.h"

enum { GRADIENT = 0 };

static void ring(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, GRADIENT);
    struct strait_codec *codec = strait_codec(r, "up");
    struct strait_tensor *gradient = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    while (strait_round(r)) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward(r, STRAIT_ALL_LAYERS);
        strait_reduce_scatter(r, world, codec, gradient);
        strait_all_gather(r, world, codec, gradient);
        strait_step(r);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == GRADIENT && dst == (src + 1) % e->n_ranks;
}

static const struct strait_strategy_param params[] = {
    {"rounds", "training steps of the run", STRAIT_PARAM_INTEGER, 1, 1e6, 5, NULL},
};
const struct strait_strategy strait_strategy_ring = {
    .name = "ring",
    .summary = "data parallelism with a ring all-reduce; a codec is paid at every hop",
    .source = "Patarasuk and Yuan, JPDC 2009; with a codec as C-Coll does (Huang et al., 2023)",
    .uplink_kind = "grad",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = ring,
};
