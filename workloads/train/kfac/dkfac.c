/* D-KFAC (as SPD-KFAC measures it, Shi, Zhang and Li, ICDCS 2021): K-FAC by data parallelism.
 * After the backward pass everybody computes the factors of its batch, all are all-reduced, and
 * everybody inverts all of them. */
#include "kfac_parts.h"

static void dkfac(struct strait_rank *r)
{
    struct kfac *k = kfac_begin(r);
    kfac_plan_full_buffers(k, strait_param(r, "factor_fusion"));
    kfac_start(k);
    while (strait_round(r)) {
        const bool update = kfac_updates(k);
        kfac_forward(k, false);
        kfac_backward(k, false);
        kfac_wait(k, KFAC_GRADIENTS);
        if (update) {
            for (int i = 0; i < k->n; i++)
                kfac_compute(k, i);
            kfac_send_groups(k);
            kfac_wait(k, KFAC_FACTORS);
            kfac_invert_and_broadcast(k); /* nothing to broadcast: all is done everywhere */
        }
        kfac_finish(k);
    }
    kfac_end(k);
}

static const struct strait_strategy_param params[] = {KFAC_PARAMS, KFAC_FUSION_PARAM};
const struct strait_strategy strait_strategy_dkfac = {
    .name = "dkfac",
    .summary = "K-FAC: factors all-reduced after backward, inverted by everybody",
    .source = "D-KFAC of Shi et al., ICDCS 2021; K-FAC: Martens and Grosse, ICML 2015",
    .uplink_kind = "grad",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .check = kfac_check,
    .uses_stream = kfac_uses_stream,
    .rank_main = dkfac,
};
