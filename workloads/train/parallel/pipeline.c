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
 * With v chunks a rank holds v stages of as many times s (interleaved 1F1B, Narayanan et al., SC
 * 2021): a microbatch goes round v times, and (m + (s - 1) / v) passes are left for v times the
 * messages. s microbatches take a chunk before any takes the next one:
 *
 *     interleaved, 2 ranks of 2 chunks, 2 microbatches (a, b: the second chunk)
 *             stage 0   0 1 a b . A A B B 0 0 1 1
 *             stage 1   . 0 1 a A A b B B 0 0 1 1 .
 *
 * Ranks beyond the stages are replicas: those of a stage sum its gradient by a ring after the last
 * backward pass. Then all step: no weights are stale.
 *
 * With `tensor` t > 1 ranks side by side share every layer (Megatron-LM: Shoeybi et al., 2019): a
 * pass takes a t-th, and twice in each transformer block, either way, they sum activations. A stage
 * passes a t-th on from each of its ranks, and the next one gathers (Narayanan et al., SC 2021,
 * section 4.1), so that a slow link between stages carries activations once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"

enum { GRADIENT = 2, TENSOR }; /* channels beside the directions'; a tag is a microbatch */
enum { ALL, STAGES_ONLY, REPLICAS_ONLY };
static const char *const coded[] = {"all", "stages", "replicas", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

struct pipeline {
    struct strait_stages stages;
    double share; /* of a pass that a microbatch takes */
    bool recomputes;
    struct strait_codec *codec;
    struct strait_tensor *out, *in;   /* activations of the batch; they keep their values */
    struct strait_group tensor;       /* ranks that share this one's layers */
    struct strait_tensor *partial[2]; /* what they sum, zeros; alternating, views may be read */
    int n_sums;
};

static struct strait_codec *codec_for(struct strait_rank *r, int others)
{
    return strait_codec(r, (int)strait_param(r, "coded") == others ? "none" : "up");
}

/* What this rank sends of a microbatch's activations: as in a ring, part (me + 1) mod n. */
static struct strait_tensor *own_part(struct strait_rank *r, const struct pipeline *p,
                                      struct strait_tensor *activations, int micro)
{
    struct strait_tensor *all = strait_slice(r, activations, micro, p->stages.n_micro);
    return strait_slice(r, all, (p->tensor.me + 1) % p->tensor.n, p->tensor.n);
}

static void pass_on(struct strait_rank *r, const struct pipeline *p, int direction,
                    struct strait_pass pass)
{
    int to;
    if (strait_stages_neighbour(&p->stages, pass.chunk, direction == STRAIT_FORWARD ? 1 : -1, &to))
        strait_send(r, to, direction, pass.micro,
                    strait_encode(r, p->codec, NAN, own_part(r, p, p->out, pass.micro)));
}

static void take(struct strait_rank *r, const struct pipeline *p, int direction,
                 struct strait_pass pass)
{
    int from;
    if (!strait_stages_neighbour(&p->stages, pass.chunk, direction == STRAIT_FORWARD ? -1 : 1,
                                 &from))
        return;
    strait_decode(r, own_part(r, p, p->in, pass.micro), strait_recv(r, from, direction).packet);
    strait_all_gather(r, p->tensor, strait_codec(r, "none"),
                      strait_slice(r, p->in, pass.micro, p->stages.n_micro));
}

/* Compute it; ranks that share the layers sum twice a transformer block. */
static void compute(struct strait_rank *r, struct pipeline *p, int direction,
                    struct strait_pass pass)
{
    const int n_stages = p->stages.grid.n_stages, n_cuts = n_stages * p->stages.n_chunks,
              k = pass.chunk * n_stages + p->stages.at.stage,
              n_blocks = p->tensor.n > 1 ? (int)strait_param(r, "blocks") : 0,
              n_sums = 2 * ((k + 1) * n_blocks / n_cuts - k * n_blocks / n_cuts),
              n_parts = n_sums > 0 ? n_sums : 1;
    for (int i = 0; i < n_parts; i++) {
        (direction == STRAIT_FORWARD ? strait_forward_share : strait_backward_share)(
            r, pass.first, pass.end, p->share / n_parts);
        if (n_sums > 0)
            strait_all_reduce(
                r, p->tensor, strait_codec(r, "none"),
                strait_slice(r, p->partial[p->n_sums++ % 2], pass.micro, p->stages.n_micro),
                STRAIT_AR_RING);
    }
}

static void do_pass(struct strait_rank *r, void *arg, int direction, struct strait_pass pass)
{
    struct pipeline *p = arg;
    take(r, p, direction, pass);
    if (direction == STRAIT_BACKWARD && p->recomputes)
        compute(r, p, STRAIT_FORWARD, pass);
    compute(r, p, direction, pass);
    pass_on(r, p, direction, pass);
}

static struct strait_group sharers(struct strait_rank *r, const struct pipeline *p)
{
    const int n = p->stages.grid.n_tensor;
    int *ranks = strait_alloc(r, (size_t)n, sizeof(*ranks));
    for (int i = 0; i < n; i++)
        ranks[i] = strait_me(r) - p->stages.at.tensor + i;
    return strait_group_of(r, ranks, n, TENSOR);
}

/* Gradients of a chunk, this rank's share of them, and the sums of replicas. */
struct chunk {
    int first, end;
    struct strait_tensor *all, *gradient;
    struct strait_tensor *sum[2]; /* alternating: views of the other may still be read */
};

static struct chunk *chunks_of(struct strait_rank *r, const struct strait_stages *s)
{
    struct chunk *all = strait_alloc(r, (size_t)s->n_chunks, sizeof(*all));
    for (int c = 0; c < s->n_chunks; c++) {
        const struct strait_pass pass = strait_stages_pass(s, STRAIT_FORWARD, c * s->grid.n_stages);
        all[c].first = pass.first;
        all[c].end = pass.end;
        all[c].all = strait_tensor(r, STRAIT_GRADIENTS, pass.first, pass.end);
        all[c].gradient = strait_slice(r, all[c].all, s->at.tensor, s->grid.n_tensor);
    }
    return all;
}

static struct pipeline begin(struct strait_rank *r)
{
    struct pipeline p = {.stages = {.grid = strait_pipeline_grid(strait_experiment(r)),
                                    .n_chunks = (int)strait_param(r, "chunks"),
                                    .n_micro = (int)strait_param(r, "microbatches")},
                         .recomputes = (int)strait_param(r, "recompute") == 1,
                         .codec = codec_for(r, REPLICAS_ONLY)};
    struct strait_stages *s = &p.stages;
    strait_pipeline_place(r, &s->grid);
    s->at = strait_grid_at(&s->grid, strait_me(r));
    p.share = 1.0 / s->n_micro / s->grid.n_tensor;
    p.tensor = sharers(r, &p);
    strait_stages_cut(r, s);
    return p;
}

static void step(struct strait_rank *r, const struct pipeline *p, const struct chunk *c)
{
    if (p->tensor.n > 1)
        strait_step_shard(r, c->gradient, 1);
    else
        strait_step_layers(r, c->first, c->end, NULL, 1);
}

static void pipeline(struct strait_rank *r)
{
    struct pipeline p = begin(r);
    struct strait_group group = strait_stages_replicas(r, &p.stages, GRADIENT);
    const int n_chunks = p.stages.n_chunks;
    struct chunk *chunks = chunks_of(r, &p.stages);
    p.out = strait_scratch_of(r, (size_t)(strait_param(r, "activation") / 4), chunks[0].all);
    p.in = strait_like(r, p.out);
    for (int i = 0; i < 2; i++)
        p.partial[i] = p.tensor.n > 1 ? strait_like(r, p.out) : NULL;
    for (int c = 0; c < n_chunks; c++)
        for (int i = 0; i < 2; i++)
            chunks[c].sum[i] = strait_like(r, chunks[c].gradient);
    for (int round = 0; strait_round(r); round++) {
        strait_stages_run(r, &p.stages, do_pass, &p);
        for (struct chunk *c = chunks; c < chunks + n_chunks; c++) {
            struct strait_tensor *sum = c->sum[round % 2];
            if (group.n > 1) {
                strait_set(r, sum, c->gradient, 1);
                strait_all_reduce(r, group, codec_for(r, STAGES_ONLY), sum, STRAIT_AR_RING);
            }
            step(r, &p, c);
        }
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    if ((int)strait_experiment_param(e, "neighbours") ==
        STRAIT_BY_NETWORK) /* any pair may be neighbours */
        return channel <= TENSOR;
    const struct strait_grid g = strait_pipeline_grid(e);
    const struct strait_grid_at from = strait_grid_at(&g, src), to = strait_grid_at(&g, dst);
    const int ahead = to.stage - from.stage;
    if (channel == TENSOR)
        return ahead == 0 && to.replica == from.replica &&
               to.tensor == (from.tensor + 1) % g.n_tensor;
    if (to.tensor != from.tensor)
        return false;
    if (channel == GRADIENT)
        return ahead == 0 && to.replica == (from.replica + 1) % g.n_replicas;
    const int round = strait_experiment_param(e, "chunks") > 1 ? g.n_stages : 0; /* last to first */
    return from.replica == to.replica &&
           ((channel == STRAIT_FORWARD && (ahead == 1 || ahead == 1 - round)) ||
            (channel == STRAIT_BACKWARD && (ahead == -1 || ahead == round - 1)));
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_grid g = strait_pipeline_grid(e);
    const int what = (int)strait_experiment_param(e, "coded"),
              n_micro = (int)strait_experiment_param(e, "microbatches"),
              n_chunks = (int)strait_experiment_param(e, "chunks"),
              n_blocks = (int)strait_experiment_param(e, "blocks");
    if (e->n_ranks % g.n_tensor != 0)
        return strait_refuse_at(err, e->file, "/strategy/tensor",
                                "expected a divisor of the %d ranks, found %d", e->n_ranks,
                                g.n_tensor);
    if (g.n_tensor > 1 && n_blocks < g.n_stages * n_chunks)
        return strait_refuse_at(err, e->file, "/strategy/blocks",
                                "expected at least a transformer block for each of the %d stages, "
                                "since \"tensor\" shares blocks, found %d",
                                g.n_stages * n_chunks, n_blocks);
    if ((size_t)g.n_stages > e->model->n_layers ||
        g.n_tensor * strait_grid_places(&g) != e->n_ranks)
        return strait_refuse_at(
            err, e->file, "/strategy/stages",
            "expected at most the model's %zu layers and a divisor of the %d ranks, found %d",
            e->model->n_layers, e->n_ranks, g.n_stages);
    if (n_chunks > 1 && (n_micro % g.n_stages != 0 || g.n_stages == 1 ||
                         (size_t)n_chunks * (size_t)g.n_stages > e->model->n_layers))
        return strait_refuse_at(
            err, e->file, "/strategy/chunks",
            "expected 1, or at least 2 stages, at most as many chunks of them as the model has "
            "layers (%zu), and microbatches by the %d stages, found %d chunks and %d microbatches",
            e->model->n_layers, g.n_stages, n_chunks, n_micro);
    if (strait_experiment_param(e, "activation") < 4.0 * n_micro * g.n_tensor)
        return strait_refuse_at(
            err, e->file, "/strategy/activation",
            "expected at least a value of 4 bytes for each of the %d microbatches, found %.0f B",
            n_micro * g.n_tensor, strait_experiment_param(e, "activation"));
    if (what != REPLICAS_ONLY && strait_feedback_needed(&e->up.spec))
        return strait_refuse_at(err, e->file, "/codec",
                                "expected a sender that remembers nothing (\"error_feedback\": "
                                "false), since no activations come again, found \"%s\"",
                                e->up.spec.ops->name);
    return what == STAGES_ONLY || g.n_replicas == 1 ? 0 : strait_ring_check(e, err);
}

/* The activation unless asked for: a sample of GPT-2 small, 1024 tokens of 768 values of 4
 * bytes. */
static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"stages",
     "parts of the model, each on n / stages replicas; 0: as many as ranks and layers allow",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    {"tensor", "ranks side by side that share every layer (tensor parallelism)",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 1e4, .fallback = 1},
    {"blocks", "with tensor: transformer blocks of the model, of two sums of activations each way",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e5},
    {"microbatches", "parts of the batch of each pipeline", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e5, .fallback = 8},
    {"schedule", "all forward passes first, or one forward, one backward", STRAIT_PARAM_CHOICE,
     .min = 0, .max = STRAIT_ONE_F_ONE_B, .fallback = STRAIT_ONE_F_ONE_B,
     .choices = strait_schedules},
    {"chunks", "stages of each rank: a microbatch goes round as often (interleaved)",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 1e4, .fallback = 1},
    {"activation", "bytes of a whole batch that a stage passes on, and of their gradients back",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 1024 * 768 * 4},
    {"recompute", "whether a backward pass computes its activations again", STRAIT_PARAM_CHOICE,
     .min = 0, .max = 1, .choices = no_yes},
    {"neighbours",
     "what ranks next to each other are: a pipeline's stages, a stage's replicas, or as is best "
     "for "
     "the network",
     STRAIT_PARAM_CHOICE, .min = 0, .max = STRAIT_BY_NETWORK, .fallback = STRAIT_STAGES_FIRST,
     .choices = strait_pipeline_neighbours},
    {"coded", "what the codec codes: activations between stages, sums between replicas, or all",
     STRAIT_PARAM_CHOICE, .min = 0, .max = REPLICAS_ONLY, .fallback = ALL, .choices = coded},
};
const struct strait_strategy strait_strategy_pipeline = {
    .name = "pipeline",
    .summary = "layers in stages and shared by tensor, microbatches: GPipe or 1F1B, with replicas",
    .source = "Huang et al., GPipe, NeurIPS 2019; 1F1B with a flush: Narayanan et al., ICML 2021; "
              "interleaved: Narayanan et al., SC 2021; tensor: Shoeybi et al., Megatron-LM, 2019; "
              "network: Yuan et al., DT-FM, NeurIPS 2022",
    .is_exact = true,
    .approximates = "activations and their gradients are coded as recorded gradients of "
                    "parameters are",
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = pipeline,
};
