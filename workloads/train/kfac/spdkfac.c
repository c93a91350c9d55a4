/* SPD-KFAC (Shi, Zhang and Li, ICDCS 2021): every A is computed before its layer's forward and
 * all-reduced during the forward pass, every G during the backward pass, merged so that the last
 * sum ends earliest; inversions go to the least loaded worker (LBP), except those that cost less
 * than their broadcast. */
#include <math.h>

#include "kfac_parts.h"

enum fusion { OPTIMAL, FULL_BUFFERS, LAYER_WISE, WAITING };
enum placement { BALANCED, ROUND_ROBIN, EVERYWHERE, LAYERS };
enum pipeline { PIPELINED, AFTER_BACKWARD };

/* Cut the n factors of one side from lo on; free_s: when the channel has sent the buckets before.
 * Returns when it has sent these. */
static double fuse(struct kfac *k, int lo, int n, double free_s)
{
    struct strait_rank *r = k->r;
    const enum fusion how = (enum fusion)(int)strait_param(r, "fusion");
    double *ready_s = strait_alloc(r, (size_t)n, sizeof(*ready_s));
    double *bytes = strait_alloc(r, (size_t)n, sizeof(*bytes)), alpha_s, beta_s_per_byte;
    int *first = strait_alloc(r, (size_t)n + 1, sizeof(*first)), n_buckets;
    for (int i = 0; i < n; i++) {
        ready_s[i] = k->factors[lo + i].ready_s / strait_device_speed(r);
        bytes[i] = 4.0 * (double)k->factors[lo + i].n_elems;
    }
    kfac_ring_cost(k, &alpha_s, &beta_s_per_byte);
    if (how == OPTIMAL)
        n_buckets =
            strait_fuse_ready(first, &free_s, n, ready_s, bytes, alpha_s, beta_s_per_byte, free_s);
    else if (how == WAITING)
        n_buckets = strait_fuse_waiting(first, &free_s, n, ready_s, bytes, alpha_s, beta_s_per_byte,
                                        free_s, strait_param(r, "factor_fusion"));
    else
        n_buckets = strait_fuse_full(first, n, bytes,
                                     how == LAYER_WISE ? 0 : strait_param(r, "factor_fusion"));
    if (n_buckets < 0)
        kfac_no_memory(k);
    kfac_plan_buckets(k, first, n_buckets, lo);
    return free_s;
}

/* As in the public code: by the dimension of A alone, both factors of a layer together. */
static void place_layers(struct kfac *k)
{
    const double local_dims = strait_param(k->r, "local_dims");
    double *dims = strait_alloc(k->r, (size_t)k->n, sizeof(*dims));
    double *least = strait_alloc(k->r, (size_t)k->n, sizeof(*least));
    for (int i = 0; i < k->n / 2; i++) {
        dims[i] = (double)k->factors[i].dim;
        least[i] = local_dims;
    }
    if (strait_place_balanced(k->plan.owner, k->n / 2, dims, least, strait_n_ranks(k->r)) != 0)
        kfac_no_memory(k);
    for (int i = 0; i < k->n / 2; i++)
        k->plan.owner[k->n - 1 - i] = k->plan.owner[i];
}

static void place(struct kfac *k)
{
    struct strait_rank *r = k->r;
    const enum placement how = (enum placement)(int)strait_param(r, "placement");
    const double local_dims = strait_param(r, "local_dims");
    double *cost_s = strait_alloc(r, (size_t)k->n, sizeof(*cost_s));
    double *send_s = strait_alloc(r, (size_t)k->n, sizeof(*send_s));
    for (int i = 0; i < k->n; i++) {
        const struct strait_factor *f = &k->factors[i];
        cost_s[i] = kfac_inverse_s(k, i);
        send_s[i] = kfac_broadcast_s(k, 4.0 * (double)f->n_elems);
        if (local_dims > 0)
            send_s[i] = (double)f->dim < local_dims ? INFINITY : 0;
        k->plan.owner[i] = STRAIT_EVERYWHERE;
    }
    if (how == BALANCED &&
        strait_place_balanced(k->plan.owner, k->n, cost_s, send_s, strait_n_ranks(r)) != 0)
        kfac_no_memory(k);
    if (how == ROUND_ROBIN)
        strait_place_round_robin(k->plan.owner, k->n, 1, strait_n_ranks(r));
    if (how == LAYERS)
        place_layers(k);
    k->plan.broadcasts = how == LAYERS ? KFAC_EACH_LAYERS_INVERSES : KFAC_EACH_INVERSE;
}

static void spdkfac(struct strait_rank *r)
{
    struct kfac *k = kfac_begin(r);
    k->plan.pipelined = (enum pipeline)(int)strait_param(r, "pipeline") == PIPELINED;
    if (k->plan.pipelined)
        fuse(k, k->n / 2, k->n / 2, fuse(k, 0, k->n / 2, 0));
    else
        kfac_plan_full_buffers(k, strait_param(r, "factor_fusion"));
    place(k);
    kfac_train(k);
}

static const char *const fusions[] = {"optimal", "full_buffers", "layer_wise", "waiting", NULL};
static const char *const placements[] = {"balanced", "round_robin", "everywhere", "layers", NULL};
static const char *const pipelines[] = {"yes", "no", NULL};
static const struct strait_param params[] = {
    KFAC_PARAMS,
    KFAC_FUSION_PARAM,
    KFAC_PIECE_PARAM,
    {"pipeline", "yes: factors behind the passes; no: after them, in buffers of factor_fusion",
     STRAIT_PARAM_CHOICE, .min = 0, .max = AFTER_BACKWARD, .fallback = PIPELINED,
     .choices = pipelines},
    {"fusion",
     "of factors: so that the last sum ends earliest; buffers of factor_fusion; none; or all that "
     "waits, up to factor_fusion",
     STRAIT_PARAM_CHOICE, .min = 0, .max = WAITING, .fallback = OPTIMAL, .choices = fusions},
    {"placement",
     "of inverses: by LBP, each factor in turn, all by everybody, or by LBP of whole layers",
     STRAIT_PARAM_CHOICE, .min = 0, .max = LAYERS, .fallback = BALANCED, .choices = placements},
    {"local_dims", "LBP leaves smaller factors to everybody; 0: those cheaper than a broadcast",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
};
const struct strait_strategy strait_strategy_spdkfac = {
    .name = "spdkfac",
    .summary = "K-FAC: factors all-reduced behind both passes, balanced inverses broadcast",
    .source = "SPD-KFAC: Shi, Zhang and Li, ICDCS 2021",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = kfac_check,
    .uses_stream = kfac_uses_stream,
    .rank_main = spdkfac,
};
