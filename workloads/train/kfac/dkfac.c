/* D-KFAC (as measured by SPD-KFAC, Shi, Zhang and Li, ICDCS 2021): data-parallel K-FAC. After the
 * backward pass every rank computes the factors of its batch, all factors are all-reduced, and
 * every rank inverts all of them. */
#include "kfac_parts.h"

static void dkfac(struct strait_rank *r)
{
    struct kfac *k = kfac_begin(r);
    kfac_plan_full_buffers(k, strait_param(r, "factor_fusion"));
    kfac_train(k);
}

static const struct strait_param params[] = {KFAC_PARAMS, KFAC_FUSION_PARAM};
const struct strait_strategy strait_strategy_dkfac = {
    .name = "dkfac",
    .summary = "K-FAC: factors all-reduced after backward, inverted by everybody",
    .source = "D-KFAC of Shi et al., ICDCS 2021; K-FAC: Martens and Grosse, ICML 2015",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = kfac_check,
    .uses_stream = kfac_uses_stream,
    .rank_main = dkfac,
};
