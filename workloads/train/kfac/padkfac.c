/* PAD-KFAC (after its public code; no paper was found): after both passes a factor is reduced to
 * the one worker that inverts it instead of being all-reduced. Owners have contiguous ranges of
 * factors, A in the order of the forward pass and then G in that of the backward pass, with the
 * smallest possible largest load; adjacent factors of one owner share a reduction and a broadcast.
 * Factors up to `reduce_above` are all-reduced, those of a pass together, and every rank inverts
 * them. */
#include "kfac_parts.h"

static void plan(struct kfac *k)
{
    const double small = strait_param(k->r, "reduce_above");
    double *cost_s = strait_alloc(k->r, (size_t)k->n, sizeof(*cost_s));
    int *owner = strait_alloc(k->r, (size_t)k->n, sizeof(*owner)), n = 0;
    int block = -1, together[2] = {-1, -1}; /* buckets: this owner's; the small G; the small A */
    for (int i = 0; i < k->n; i++)
        if ((double)k->factors[i].dim > small)
            cost_s[n++] = kfac_inverse_s(k, i);
    if (strait_place_contiguous(owner, n, cost_s, strait_n_ranks(k->r)) != 0)
        kfac_no_memory(k);
    n = 0;
    for (int i = 0; i < k->n; i++) {
        int *bucket = &together[k->factors[i].of_input];
        k->plan.owner[i] = STRAIT_EVERYWHERE;
        if ((double)k->factors[i].dim > small) {
            k->plan.owner[i] = owner[n];
            if (n > 0 && owner[n] != owner[n - 1])
                block = -1;
            bucket = &block;
            n++;
        }
        if (*bucket < 0)
            *bucket = k->plan.n_buckets++;
        k->plan.bucket_of[i] = *bucket;
    }
    k->plan.to_owner = true;
    k->plan.pipelined = true;
    k->plan.broadcasts = KFAC_BUCKETS_OF_INVERSES;
}

static void padkfac(struct strait_rank *r)
{
    struct kfac *k = kfac_begin(r);
    plan(k);
    kfac_train(k);
}

static const struct strait_param params[] = {
    KFAC_PARAMS,
    KFAC_PIECE_PARAM,
    {"reduce_above", "smaller factors, and those of this dimension, are all-reduced",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
};
const struct strait_strategy strait_strategy_padkfac = {
    .name = "padkfac",
    .summary = "K-FAC: factors reduced to their owners behind both passes, in contiguous blocks",
    .source = "the public code of PAD-KFAC (shyhuai/kfac_pytorch, 2021); no paper was found",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = kfac_check,
    .uses_stream = kfac_uses_stream,
    .rank_main = padkfac,
};
