/* Wait-free back-propagation (Zhang et al., USENIX ATC 2017): the gradient of a layer is
 * all-reduced as soon as it is there, while the layers before it are still being computed. */
#include "../overlap.h"

static void wfbp(struct strait_rank *r)
{
    const struct strait_layer_costs layers = strait_rank_layer_costs(r);
    struct strait_fusion f = strait_rank_fusion(r);
    strait_fuse_none(&f, &layers);
    strait_train_overlapped(r, &f);
}

static const struct strait_strategy_param params[] = {
    {"rounds", "training steps of the run", STRAIT_PARAM_INTEGER, 1, 1e6, 5, NULL},
};
const struct strait_strategy strait_strategy_wfbp = {
    .name = "wfbp",
    .summary = "wait-free back-propagation: a ring all-reduce for each layer as its gradient comes",
    .source = "Zhang et al., Poseidon, USENIX ATC 2017",
    .uplink_kind = "grad",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .check = strait_overlap_check,
    .uses_stream = strait_overlap_uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = wfbp,
};
