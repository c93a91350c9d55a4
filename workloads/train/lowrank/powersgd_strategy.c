/* PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019, algorithms 1 and 2): every gradient matrix is
 * sent as two low-rank factors, M ~ P Q^T, in two all-reduces, the second after the first; all
 * matrices of the model share a buffer in each. Vectors go with the first, unfactored. Q is
 * warm-started from the previous step; error feedback keeps what was not sent. */
#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "lowrank_work.h"
#include "workloads/ask/strategy.h"

enum { FACTORS = 0 };

static void powersgd(struct strait_rank *r)
{
    const int n = strait_n_ranks(r);
    const size_t rank = (size_t)strait_param(r, "rank");
    struct strait_group world = strait_world(r, FACTORS);
    struct strait_codec *none = strait_codec(r, "none");
    struct strait_lowrank_work *w = strait_lowrank_work_new(r, "powersgd", rank, false);
    while (strait_round(r)) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_lowrank_backward(r, STRAIT_ALL_LAYERS, w->gradient);
        strait_lowrank_p(r, w); /* M = gradient + error; P = M Q */
        strait_all_reduce(r, world, none, w->buffers[STRAIT_SIDE_P], STRAIT_AR_RING);
        strait_lowrank_q(r, w); /* P orthonormal; Q = M^T P */
        strait_all_reduce(r, world, none, w->buffers[STRAIT_SIDE_Q], STRAIT_AR_RING);
        strait_lowrank_finish(r, w, n); /* mean = P Q^T / n; error = M - mean */
        strait_step(r, w->mean, 1);
    }
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    return strait_lowrank_check(e, err);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == FACTORS && strait_all_reduce_uses(STRAIT_AR_RING, e->n_ranks, src, dst);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"rank", "columns of the factors", STRAIT_PARAM_INTEGER, .min = 1,
     .max = STRAIT_LOWRANK_MAX_RANK, .fallback = 4},
};
const struct strait_strategy strait_strategy_powersgd = {
    .name = "powersgd",
    .summary = "low-rank gradients: two dependent all-reduces of fused factors after backward",
    .source = "Vogels et al., NeurIPS 2019",
    .trains = true,
    .uplink_kind = "grad",
    .works_as = "powersgd",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = powersgd,
};
