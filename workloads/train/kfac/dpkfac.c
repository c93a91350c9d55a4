/* DP-KFAC (distributed preconditioning: Zhang, Shi and Li, IEEE TCC 2022): no factor is sent. The
 * owner of a layer (round-robin) computes A and G of its own batch only, inverts them,
 * preconditions the averaged gradient and broadcasts the result. Rounds without new factors use the
 * old inverses. */
#include "kfac_parts.h"
#include "kfac_values.h"

static void dpkfac(struct strait_rank *r)
{
    struct kfac *k = kfac_begin(r);
    const int n = k->n / 2, me = strait_me(r); /* layers: A is i, G is k->n - 1 - i */
    strait_place_round_robin(k->plan.owner, n, 1, strait_n_ranks(r));
    k->plan.broadcasts = KFAC_EACH_GRADIENT;
    kfac_start(k);
    while (strait_round(r)) {
        const bool update = kfac_updates(k);
        kfac_forward(k, false);
        kfac_backward(k, false);
        kfac_wait(k, KFAC_GRADIENTS);
        for (int i = 0; i < n && update; i++)
            if (k->plan.owner[i] == me) {
                kfac_compute(k, i);
                kfac_compute(k, k->n - 1 - i);
            }
        if (update)
            kfac_take_traces(k);
        for (int i = 0; i < n && update; i++)
            if (k->plan.owner[i] == me) {
                kfac_invert(k, i);
                kfac_invert(k, k->n - 1 - i);
            }
        for (int i = 0; i < n; i++) {
            if (k->plan.owner[i] == me)
                kfac_precondition(k, i);
            kfac_broadcast_gradient(k, i);
        }
        kfac_wait(k, KFAC_INVERSES);
        kfac_step(k);
    }
    kfac_end(k);
}

static const struct strait_param params[] = {KFAC_PARAMS, KFAC_PIECE_PARAM};
const struct strait_strategy strait_strategy_dpkfac = {
    .name = "dpkfac",
    .summary = "K-FAC: layers preconditioned by their owner from its own batch, then broadcast",
    .source = "DP-KFAC: Zhang, Shi and Li, IEEE TCC 2022",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = kfac_check,
    .uses_stream = kfac_uses_stream,
    .rank_main = dpkfac,
};
