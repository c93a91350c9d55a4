/* MG-WFBP (Shi et al., INFOCOM 2019): wait-free back-propagation that merges neighbouring layers
 * where saving an all-reduce gains more than waiting costs. The plan is made before the first step,
 * from the layers' times and the cost of an all-reduce on this network. */
#include <math.h>

#include "workloads/train/collectives/collectives.h"
#include "overlap.h"

enum { BY_RULE, BEST };
static const char *const merges[] = {"rule", "best", NULL};

static void mgwfbp(struct strait_rank *r)
{
    const struct strait_layer_costs layers = strait_rank_layer_costs(r);
    struct strait_linear_cost all_reduce = strait_rank_ring_cost(r);
    if (strait_param(r, "plan_alpha") > 0)
        all_reduce = (struct strait_linear_cost){strait_param(r, "plan_alpha"),
                                                 1 / strait_param(r, "plan_rate")};
    struct strait_fusion f = strait_rank_fusion(r);
    if ((int)strait_param(r, "merge") == BY_RULE)
        strait_fuse_merge(&f, &layers, all_reduce);
    else
        strait_fuse_best(&f, strait_alloc(r, (size_t)layers.n + 1, sizeof(double)), &layers,
                         all_reduce);
    strait_train_overlapped(r, &f, false);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"merge", "rule: as published, greedy; best: of all plans, by dynamic programming",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .fallback = BY_RULE, .choices = merges},
    {"plan_alpha",
     "start of an all-reduce as the plan has it, a fit from elsewhere; 0: as this network has it",
     STRAIT_PARAM_TIME, .min = 0, .max = 10},
    {"plan_rate", "gradient a second of an all-reduce, with plan_alpha", STRAIT_PARAM_SPEED,
     .min = 1, .max = 1e15, .fallback = INFINITY},
    STRAIT_LAUNCH_PARAM,
    STRAIT_NEGOTIATE_PARAM,
    STRAIT_UPDATE_PARAM,
};
const struct strait_strategy strait_strategy_mgwfbp = {
    .name = "mgwfbp",
    .summary = "wait-free back-propagation with layers merged by what an all-reduce costs",
    .source = "Shi et al., MG-WFBP, INFOCOM 2019",
    .is_exact = true,
    .trains = true,
    .sums = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = strait_overlap_check,
    .uses_stream = strait_overlap_uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = mgwfbp,
};
