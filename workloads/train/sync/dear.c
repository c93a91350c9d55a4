/* DeAR (Zhang et al., ICDCS 2023): each all-reduce is split. Its reduce-scatter overlaps the
 * backward pass, its all-gather the next forward pass, bucket by bucket ("groups" in DeAR); the
 * optimiser step of a bucket is delayed until its gather is complete. With the tuner `bayes` rank 0
 * searches the fusion threshold by Bayesian optimisation during the training. */
#include <math.h>

#include "workloads/train/plans/tuner.h"
#include "workloads/train/collectives/collectives.h"
#include "workloads/train/collectives/legal.h"
#include "overlap.h"

enum { GRADIENT = 0, TO_COMM = 1, SCATTERED = 2, GATHERED = 3, THRESHOLD = 4, END = -1 };
enum { FIXED, BAYES };
static const char *const tuners[] = {"fixed", "bayes", NULL};

struct dear {
    struct strait_layer_costs layers;
    struct strait_fusion f; /* its buckets are DeAR's groups */
    struct strait_gradients gradients;
    struct strait_agreement *agreement;
    struct strait_packet **sums; /* of each group, where packets are added encoded; else NULL */
};

static struct strait_tensor *group_of(struct strait_rank *lane, struct dear *d, int round, int g)
{
    return strait_layers_of(lane, &d->gradients, round, d->f.first[g], d->f.first[g + 1]);
}

static void sum_up(struct strait_rank *lane, struct strait_group world, struct strait_codec *codec,
                   struct strait_tensor *x)
{
    strait_agree_on_statistics(lane, world, codec, x);
    strait_reduce_scatter(lane, world, codec, x);
}

static void communicate(struct strait_rank *lane, void *arg)
{
    struct dear *d = arg;
    struct strait_group world = strait_world_by_library(lane, GRADIENT);
    struct strait_codec *codec = strait_codec(lane, "up");
    world.agreement = d->agreement;
    for (int round = 0; strait_pend(lane, TO_COMM) != END; round++) {
        const int n = d->f.n_buckets;      /* groups change only after all are gathered */
        for (int g = n - 1; g >= 0; g--) { /* the last group is ready first */
            strait_launch(lane);
            if (d->sums)
                d->sums[g] =
                    strait_reduce_scatter_encoded(lane, world, codec, group_of(lane, d, round, g));
            else
                sum_up(lane, world, codec, group_of(lane, d, round, g));
            if (g > 0)
                strait_pend(lane, TO_COMM);
        }
        strait_post(lane, SCATTERED, 0);
        for (int g = 0; g < n; g++) { /* one gather at a time, on request */
            strait_pend(lane, TO_COMM);
            strait_launch(lane);
            if (d->sums && world.n > 1)
                strait_all_gather_packet(lane, world, d->sums[g], group_of(lane, d, round, g));
            else
                strait_all_gather(lane, world, codec, group_of(lane, d, round, g));
            strait_post(lane, GATHERED, g);
        }
    }
}

/* Group g of this round is gathered: request the next one, then do the delayed step. */
static void finish_group(struct strait_rank *r, struct dear *d, int round, int g)
{
    strait_pend(r, GATHERED);
    if (g + 1 < d->f.n_buckets)
        strait_post(r, TO_COMM, g + 1);
    strait_step_layers(r, d->f.first[g], d->f.first[g + 1], d->gradients.whole[round % 2],
                       1.0 / strait_n_ranks(r));
}

/* --- the tuner ---------------------------------------------------------------------------- */

/* Published: 0.1 s; here 0.1 standard deviations of the observed times, to suit any model. */
static const double XI = 0.1;

/* Broadcast rank 0's next threshold while no group is under way. */
static void regroup(struct strait_rank *r, struct dear *d, struct strait_tuner *t)
{
    if (strait_me(r) == 0) {
        for (int i = 1; i < strait_n_ranks(r); i++)
            strait_send(r, i, THRESHOLD, 0, strait_control(r, t->fusion_bytes));
    } else {
        struct strait_message m = strait_recv(r, 0, THRESHOLD);
        t->fusion_bytes = m.packet->words[0];
        strait_drop(r, m.packet);
    }
    strait_fuse_forward(&d->f, &d->layers, t->fusion_bytes);
}

/* --- the training ------------------------------------------------------------------------- */

static void dear(struct strait_rank *r)
{
    struct strait_error err = {0};
    struct dear d = {.layers = strait_rank_layer_costs(r),
                     .f = strait_rank_fusion(r),
                     .gradients = strait_rank_gradients(r)};
    struct strait_tuner *t = strait_alloc(r, 1, sizeof(*t));
    *t = (struct strait_tuner){.bayes = {.lo = strait_param(r, "fusion_min"),
                                         .hi = strait_param(r, "fusion_max"),
                                         .xi = XI},
                               .n_trials = (int)strait_param(r, "trials"),
                               .n_rounds = (int)strait_param(r, "trial_rounds"),
                               .fusion_bytes = strait_param(r, "fusion")};
    const bool tunes = (int)strait_param(r, "tuner") == BAYES;
    if ((int)strait_param(r, "sums") == STRAIT_SUMS_ENCODED &&
        !strait_sends_views(strait_codec(r, "up"))) {
        d.sums = strait_alloc(r, strait_model(r)->n_layers, sizeof(struct strait_packet *));
        d.agreement = strait_agreement_of(r, strait_codec(r, "up"), strait_n_ranks(r));
    } else {
        d.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    }
    strait_fuse_forward(&d.f, &d.layers, t->fusion_bytes);
    struct strait_rank *lane = strait_spawn(r, communicate, &d);
    for (int round = 0; strait_round(r); round++) {
        if (tunes && strait_me(r) == 0 && round > 0 &&
            strait_tuner_mark(t, round, strait_now_s(r), &err) != 0)
            strait_fail(r, &err);
        for (int g = 0; g < d.f.n_buckets; g++) {
            if (round > 0)
                finish_group(r, &d, round - 1, g);
            for (int l = d.f.first[g]; l < d.f.first[g + 1]; l++)
                strait_forward(r, l);
        }
        if (tunes && strait_tuner_ends_trial(t, round))
            regroup(r, &d, t);
        for (int g = d.f.n_buckets - 1; g >= 0; g--) {
            for (int l = d.f.first[g + 1] - 1; l >= d.f.first[g]; l--)
                strait_backward_of(r, &d.gradients, round, l);
            strait_post(r, TO_COMM, g);
        }
        strait_pend(r, SCATTERED);
        strait_post(r, TO_COMM, 0);
        for (int g = 0; strait_is_last_round(r) && g < d.f.n_buckets; g++)
            finish_group(r, &d, round, g); /* no forward pass is left to overlap the last gathers */
    }
    strait_post(r, TO_COMM, END);
    strait_join(r, lane);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const bool encoded = (int)strait_experiment_param(e, "sums") == STRAIT_SUMS_ENCODED;
    if (channel == STRAIT_AGREEING)
        return encoded ? strait_spec_agrees(&e->up.spec)
                       : strait_codec_wants_statistics(&e->up.spec);
    if (strait_has_library(e) && channel != THRESHOLD)
        return strait_library_uses(e, channel, GRADIENT, src, dst);
    if (channel == THRESHOLD)
        return (int)strait_experiment_param(e, "tuner") == BAYES && src == 0 && dst != 0;
    return strait_overlap_uses_stream(e, src, dst, channel);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const double least = strait_experiment_param(e, "fusion_min"),
                 most = strait_experiment_param(e, "fusion_max");
    if (least < most && strait_has_library(e))
        return strait_all_reduce_check(e, STRAIT_AR_OPEN_MPI,
                                       strait_libraries[(int)strait_experiment_param(e, "library")],
                                       err);
    if (least < most && (int)strait_experiment_param(e, "sums") == STRAIT_SUMS_ENCODED)
        return strait_all_reduce_check(e, STRAIT_AR_RING_ENCODED, "sums encoded", err);
    if (least < most)
        return strait_overlap_check(e, err);
    return strait_refuse_at(err, e->file, "/strategy/fusion_max",
                            "expected more than \"fusion_min\", %.0f B, found %.0f B", least, most);
}

/* After a tuner has found its threshold all rounds are alike. */
static int period(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "tuner") == FIXED;
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"fusion", "bytes that a group stays below; with a tuner its first trial", STRAIT_PARAM_BYTES,
     .min = 1, .max = 1e12, .fallback = 25 * 1048576.0},
    {"tuner", "of the fusion threshold: fixed, or bayes while training goes on",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .fallback = FIXED, .choices = tuners},
    {"fusion_min", "bayes: smallest threshold that is tried", STRAIT_PARAM_BYTES, .min = 1,
     .max = 1e12, .fallback = 1048576},
    {"fusion_max", "bayes: largest threshold that is tried", STRAIT_PARAM_BYTES, .min = 1,
     .max = 1e12, .fallback = 256 * 1048576.0},
    {"trials", "bayes: thresholds that are tried", STRAIT_PARAM_INTEGER, .min = 1,
     .max = STRAIT_BAYES_MAX_POINTS, .fallback = 10},
    {"trial_rounds", "bayes: rounds of a trial; those after the third are timed",
     STRAIT_PARAM_INTEGER, .min = STRAIT_TUNER_MIN_ROUNDS, .max = 1e6, .fallback = 5},
    STRAIT_SUMS_PARAM,
    STRAIT_LAUNCH_PARAM,
    STRAIT_UPDATE_PARAM,
    STRAIT_SCATTER_LIBRARY_PARAMS,
};
const struct strait_strategy strait_strategy_dear = {
    .name = "dear",
    .summary = "reduce-scatter behind the backward pass, all-gather behind the next forward pass",
    .source = "Zhang et al., DeAR, ICDCS 2023",
    .is_exact = true,
    .trains = true,
    .sums = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .carrier = strait_library_carrier,
    .needs_packets = strait_library_needs_packets,
    .period = period,
    .rank_main = dear,
};
