/* Pipeline parallelism: the layers are cut into stages, one a rank, and the batch into microbatches
 * that follow one another through them. GPipe (Huang et al., NeurIPS 2019) runs all forward passes,
 * then all backward passes; 1F1B (PipeDream-flush: Narayanan et al., ICML 2021) has at most as many
 * microbatches under way at a stage as there are stages from it on, so that it keeps fewer
 * activations. Two stages, four microbatches; capitals are backward passes:
 *
 *     gpipe   stage 0   0 1 2 3 . . . . 0 0 1 1 2 2 3 3       (a backward pass takes two columns)
 *             stage 1   . 0 1 2 3 0 0 1 1 2 2 3 3 . . .
 *     1f1b    stage 0   0 1 . . 0 0 2 1 1 3 2 2 . 3 3
 *             stage 1   . 0 0 0 1 1 1 2 2 2 3 3 3 . .
 *
 * Without a network both take (m + s - 1) times a microbatch's passes on one of s equal stages.
 * Ranks beyond the stages are replicas: those of a stage sum its gradient by a ring after the last
 * backward pass. Then all step: no weights are stale. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/collectives.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/train/plans/fragments.h"

enum { FORWARD = 0, BACKWARD, GRADIENT }; /* channels; a tag is a microbatch */
enum { GPIPE, ONE_F_ONE_B };
enum { STAGES, REPLICAS };
enum { ALL, STAGES_ONLY, REPLICAS_ONLY };
static const char *const schedules[] = {"gpipe", "1f1b", NULL};
static const char *const neighbours[] = {"stages", "replicas", NULL};
static const char *const coded[] = {"all", "stages", "replicas", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

/* Where a rank is. */
struct grid {
    int n_stages, n_replicas;
    bool replicas_first; /* neighbouring ranks are replicas of a stage */
};

static struct grid grid_of(const struct strait_experiment *e)
{
    const int asked = (int)strait_experiment_param(e, "stages");
    struct grid g = {asked > 0 ? asked : e->n_ranks, 1,
                     (int)strait_experiment_param(e, "neighbours") == REPLICAS};
    while (asked == 0 && ((size_t)g.n_stages > e->model->n_layers || e->n_ranks % g.n_stages != 0))
        g.n_stages--;
    g.n_replicas = e->n_ranks / g.n_stages;
    return g;
}

static int stage_of(const struct grid *g, int rank)
{
    return g->replicas_first ? rank / g->n_replicas : rank % g->n_stages;
}

static int replica_of(const struct grid *g, int rank)
{
    return g->replicas_first ? rank % g->n_replicas : rank / g->n_stages;
}

static int rank_at(const struct grid *g, int stage, int replica)
{
    return g->replicas_first ? stage * g->n_replicas + replica : replica * g->n_stages + stage;
}

struct pipeline {
    struct grid grid;
    int stage, replica, first, end; /* the layers [first, end) */
    int n_micro;
    double share; /* of a pass that a microbatch takes */
    struct strait_codec *codec;
    struct strait_tensor *out, *in; /* activations of the batch; they keep their values */
};

/* Stages of equal compute, as far as whole layers go. */
static void cut(struct strait_rank *r, struct pipeline *p)
{
    const struct strait_model *m = strait_model(r);
    size_t *ns = strait_alloc(r, m->n_layers, sizeof(*ns));
    int *first = strait_alloc(r, (size_t)p->grid.n_stages + 1, sizeof(*first));
    for (size_t l = 0; l < m->n_layers; l++)
        ns[l] = (size_t)(1e9 * (m->layers[l].fwd_s_p50 + m->layers[l].bwd_s_p50));
    strait_cut_fragments(first, p->grid.n_stages, ns, (int)m->n_layers);
    p->first = first[p->stage];
    p->end = first[p->stage + 1];
}

/* Of the experiment's size, with the values of recorded gradients where there are any. */
static struct strait_tensor *activations(struct strait_rank *r, struct strait_tensor *recorded)
{
    const size_t n = (size_t)(strait_param(r, "activation") / 4);
    struct strait_tensor *x = strait_scratch(r, n);
    float *to = strait_values(r, x), *from = strait_values(r, recorded);
    for (size_t i = 0, period = strait_n_elems(recorded); to && from && i < n; i++)
        to[i] = from[i % period];
    return x;
}

static struct strait_codec *codec_for(struct strait_rank *r, int others)
{
    return strait_codec(r, (int)strait_param(r, "coded") == others ? "none" : "up");
}

static void pass_on(struct strait_rank *r, const struct pipeline *p, int channel, int micro)
{
    const int to = p->stage + (channel == FORWARD ? 1 : -1);
    if (to >= 0 && to < p->grid.n_stages)
        strait_send(r, rank_at(&p->grid, to, p->replica), channel, micro,
                    strait_encode(r, p->codec, NAN, strait_slice(r, p->out, micro, p->n_micro)));
}

static void take(struct strait_rank *r, const struct pipeline *p, int channel, int micro)
{
    const int from = p->stage - (channel == FORWARD ? 1 : -1);
    if (from >= 0 && from < p->grid.n_stages)
        strait_decode(r, strait_slice(r, p->in, micro, p->n_micro),
                      strait_recv(r, rank_at(&p->grid, from, p->replica), channel).packet);
}

/* One batch: at most `most` microbatches are under way here, forward passes first. */
static void run_batch(struct strait_rank *r, const struct pipeline *p, int most)
{
    const bool recomputes = (int)strait_param(r, "recompute") == 1;
    for (int n_forward = 0, n_backward = 0; n_backward < p->n_micro;) {
        if (n_forward < p->n_micro && n_forward - n_backward < most) {
            take(r, p, FORWARD, n_forward);
            strait_forward_share(r, p->first, p->end, p->share);
            pass_on(r, p, FORWARD, n_forward++);
        } else {
            take(r, p, BACKWARD, n_backward);
            if (recomputes)
                strait_forward_share(r, p->first, p->end, p->share);
            strait_backward_share(r, p->first, p->end, p->share);
            pass_on(r, p, BACKWARD, n_backward++);
        }
    }
}

static struct strait_group replicas(struct strait_rank *r, const struct pipeline *p)
{
    int *ranks = strait_alloc(r, (size_t)p->grid.n_replicas, sizeof(*ranks));
    for (int i = 0; i < p->grid.n_replicas; i++)
        ranks[i] = rank_at(&p->grid, p->stage, i);
    return strait_group_of(r, ranks, p->grid.n_replicas, GRADIENT);
}

static void pipeline(struct strait_rank *r)
{
    struct pipeline p = {.grid = grid_of(strait_experiment(r)),
                         .n_micro = (int)strait_param(r, "microbatches"),
                         .codec = codec_for(r, REPLICAS_ONLY)};
    p.stage = stage_of(&p.grid, strait_me(r));
    p.replica = replica_of(&p.grid, strait_me(r));
    p.share = 1.0 / p.n_micro;
    cut(r, &p);
    struct strait_group group = replicas(r, &p);
    struct strait_tensor *gradient = strait_tensor(r, STRAIT_GRADIENTS, p.first, p.end), *sum[2];
    p.out = activations(r, gradient);
    p.in = strait_like(r, p.out);
    for (int i = 0; i < 2; i++) /* alternating: views of the other may still be read */
        sum[i] = strait_like(r, gradient);
    const int most =
        (int)strait_param(r, "schedule") == GPIPE ? p.n_micro : p.grid.n_stages - p.stage;
    for (int round = 0; strait_round(r); round++) {
        run_batch(r, &p, most);
        if (group.n > 1) {
            strait_set(r, sum[round % 2], gradient, 1);
            strait_all_reduce(r, group, codec_for(r, STAGES_ONLY), sum[round % 2], STRAIT_AR_RING);
        }
        strait_step_layers(r, p.first, p.end, NULL, 1);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const struct grid g = grid_of(e);
    const int ahead = stage_of(&g, dst) - stage_of(&g, src);
    if (channel == GRADIENT)
        return ahead == 0 && replica_of(&g, dst) == (replica_of(&g, src) + 1) % g.n_replicas;
    return replica_of(&g, src) == replica_of(&g, dst) &&
           ((channel == FORWARD && ahead == 1) || (channel == BACKWARD && ahead == -1));
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    char where[512];
    const struct grid g = grid_of(e);
    const int what = (int)strait_experiment_param(e, "coded"),
              n_micro = (int)strait_experiment_param(e, "microbatches");
    snprintf(where, sizeof(where), "%s#/strategy/stages", e->file);
    if ((size_t)g.n_stages > e->model->n_layers || g.n_stages * g.n_replicas != e->n_ranks)
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected at most the model's %zu layers and a divisor of the %d "
                                "ranks, found %d",
                                e->model->n_layers, e->n_ranks, g.n_stages);
    snprintf(where, sizeof(where), "%s#/strategy/activation", e->file);
    if (strait_experiment_param(e, "activation") < 4.0 * n_micro)
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected at least a value of 4 bytes for each of the %d "
                                "microbatches, found %.0f B",
                                n_micro, strait_experiment_param(e, "activation"));
    snprintf(where, sizeof(where), "%s#/codec", e->file);
    if (what != REPLICAS_ONLY && strait_feedback_needed(&e->up.spec))
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a sender that remembers nothing (\"error_feedback\": "
                                "false), since no activations come again, found \"%s\"",
                                e->up.spec.ops->name);
    return what == STAGES_ONLY || g.n_replicas == 1
               ? 0
               : strait_all_reduce_check(e, STRAIT_AR_RING, "ring", err);
}

/* The activation unless asked for: a sample of GPT-2 small, 1024 tokens of 768 values of 4 bytes. */
static const struct strait_param params[] = {
    {"rounds", "training steps of the run", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6,
     .fallback = 5},
    {"stages",
     "parts of the model, each on n / stages replicas; 0: as many as ranks and layers allow",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    {"microbatches", "parts of the batch of each pipeline", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e5, .fallback = 8},
    {"schedule", "all forward passes first, or one forward, one backward", STRAIT_PARAM_CHOICE,
     .min = 0, .max = ONE_F_ONE_B, .fallback = ONE_F_ONE_B, .choices = schedules},
    {"activation", "bytes of a whole batch that a stage passes on, and of their gradients back",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 1024 * 768 * 4},
    {"recompute", "whether a backward pass computes its activations again", STRAIT_PARAM_CHOICE,
     .min = 0, .max = 1, .choices = no_yes},
    {"neighbours", "what ranks next to each other are: a pipeline's stages, or a stage's replicas",
     STRAIT_PARAM_CHOICE, .min = 0, .max = REPLICAS, .fallback = STAGES, .choices = neighbours},
    {"coded", "what the codec codes: activations between stages, sums between replicas, or all",
     STRAIT_PARAM_CHOICE, .min = 0, .max = REPLICAS_ONLY, .fallback = ALL, .choices = coded},
};
const struct strait_strategy strait_strategy_pipeline = {
    .name = "pipeline",
    .summary = "layers in stages, microbatches one after another: GPipe or 1F1B, with replicas",
    .source = "Huang et al., GPipe, NeurIPS 2019; 1F1B with a flush: Narayanan et al., ICML 2021",
    .approximates = "activations and their gradients are coded as recorded gradients of "
                    "parameters are",
    .uplink_kind = "grad",
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = pipeline,
};
