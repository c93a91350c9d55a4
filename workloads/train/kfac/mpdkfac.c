/* MPD-KFAC (model-parallel distributed K-FAC: Osawa et al., CVPR 2019; Pauloski et al., SC 2020, as
 * measured by SPD-KFAC): the factors of D-KFAC, but each layer's are inverted by one worker
 * (round-robin), which broadcasts A^-1 and G^-1 while it continues with its next layer. */
#include "kfac_parts.h"

static void mpdkfac(struct strait_rank *r)
{
    struct kfac *k = kfac_begin(r);
    kfac_plan_full_buffers(k, strait_param(r, "factor_fusion"));
    strait_place_round_robin(k->plan.owner, k->n / 2, 1, strait_n_ranks(r));
    for (int i = 0; i < k->n / 2; i++) /* A and G of a layer on the same worker */
        k->plan.owner[k->n - 1 - i] = k->plan.owner[i];
    k->plan.broadcasts = KFAC_EACH_INVERSE;
    kfac_train(k);
}

static const struct strait_param params[] = {KFAC_PARAMS, KFAC_FUSION_PARAM, KFAC_PIECE_PARAM};
const struct strait_strategy strait_strategy_mpdkfac = {
    .name = "mpdkfac",
    .summary = "K-FAC: factors all-reduced, layers inverted round-robin, inverses broadcast",
    .source = "MPD-KFAC: Osawa et al., CVPR 2019; Pauloski et al., SC 2020",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = kfac_check,
    .uses_stream = kfac_uses_stream,
    .rank_main = mpdkfac,
};
