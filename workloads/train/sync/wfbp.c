/* Wait-free back-propagation (Zhang et al., USENIX ATC 2017): the gradient of a layer is
 * all-reduced, or pushed to parameter servers, as soon as it is ready, while earlier layers are
 * still being computed. */
#include "servers.h"

enum { LAYER, TENSOR };
static const char *const grains[] = {"layer", "tensor", NULL};

static void over_servers(struct strait_rank *r)
{
    struct strait_servers *s = strait_servers_new(r, STRAIT_AS_THEY_COME, 0);
    if (!strait_servers_trains(r, s)) {
        strait_servers_serve(r, s);
        return;
    }
    strait_servers_start(r, s);
    for (int round = 0; strait_round(r); round++) {
        int n_parts = 0;
        strait_forward(r, STRAIT_ALL_LAYERS);
        for (int l = s->n_layers - 1; l >= 0; l--) {
            strait_backward_of(r, &s->gradients, round, l);
            strait_post(r, STRAIT_SERVERS_READY, l);
            n_parts += strait_servers_n_parts(s, l);
        }
        for (; n_parts > 0; n_parts--)
            strait_pend(r, STRAIT_SERVERS_SUMMED);
        strait_step(r, s->gradients.whole[round % 2], 1.0 / strait_n_workers(r));
    }
    strait_servers_stop(r, s);
}

static void wfbp(struct strait_rank *r)
{
    if (strait_uses_servers(strait_experiment(r))) {
        over_servers(r);
        return;
    }
    const struct strait_layer_costs layers = strait_rank_layer_costs(r);
    struct strait_fusion f = strait_rank_fusion(r);
    strait_fuse_none(&f, &layers);
    strait_train_overlapped(r, &f, (int)strait_param(r, "grain") == TENSOR);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    return strait_uses_servers(e) ? strait_servers_check(e, err) : strait_overlap_check(e, err);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return strait_uses_servers(e) ? strait_servers_use_stream(e, src, dst, channel)
                                  : strait_overlap_uses_stream(e, src, dst, channel);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"grain",
     "what is all-reduced by itself: a layer; or each of its tensors, as PyTorch's hooks have them",
     STRAIT_PARAM_CHOICE, .min = 0, .max = TENSOR, .fallback = LAYER, .choices = grains},
    STRAIT_LAUNCH_PARAM,
    STRAIT_NEGOTIATE_PARAM,
    STRAIT_UPDATE_PARAM,
    STRAIT_EXCHANGE_PARAM,
    STRAIT_SERVERS_PARAMS,
    {"partition", "largest bytes of what is pushed; a layer is cut into equal parts",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 4e6},
};
const struct strait_strategy strait_strategy_wfbp = {
    .name = "wfbp",
    .summary = "wait-free back-propagation: each layer summed as its gradient comes",
    .source = "Zhang et al., Poseidon, USENIX ATC 2017",
    .is_exact = true,
    .trains = true,
    .n_workers = strait_servers_n_training,
    .sums = true,
    .uplink_kind = "grad",
    .downlink_kind = "grad",
    .tracks = strait_servers_track,
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = wfbp,
};
