/* AC-SGD (Wang et al., NeurIPS 2022, algorithm 1; AQ-SGD in the proceedings): a pipeline over slow
 * links whose activations are coded as changes since the same sample came by last. Both sides of a
 * link keep m(s), what the receiver made of sample s an epoch ago. For each microbatch of samples s
 * that machine a passes on to b:
 *
 *     forward    a: d = a(s) - m(s), sends Q(d), m(s) = m(s) + Q(d)
 *                b: m(s) = m(s) + Q(d), goes on from m(s)
 *     backward   b: sends Q'(g) of the gradient g at m(s);  a: goes on with Q'(g)
 *
 * As the weights settle, samples change less from epoch to epoch, and so does what Q loses, which a
 * code of a(s) itself (`codes: values`) does not. In the first epoch a(s) is sent as it is. Q is
 * the experiment's `codec`, Q' its `download_codec`. The memories lie beside the accelerator, in
 * RAM or on a disk: they are read a microbatch ahead and written behind, at `memory_rate`. */
#include <math.h>

#include "stages.h"
#include "workloads/ask/experiment.h"

enum { GRADIENT = 2, STATE }; /* channels beside the directions'; a tag is a microbatch */
enum { CHANGES, VALUES };
static const char *const codes[] = {"changes", "values", NULL};

/* A link to the stage before or behind: tensors of a batch, a slice a microbatch. */
struct link {
    int rank;
    struct strait_tensor *a, *d, *g; /* activations of the stage before the link, their changes, and
                                        the gradient by them */
    struct strait_tensor *m, *memory; /* what both sides know of them; and of all samples */
    struct strait_rows *rows;         /* of each microbatch in the memory */
    struct strait_task **loads, **stores;
};

struct stage {
    struct strait_stages stages;
    bool keeps, knows; /* changes are coded; all samples came by before */
    struct strait_codec *q, *q_back;
    struct link *before, *behind; /* NULL: the first stage, the last */
    struct strait_tensor *w, *gradient;
};

static struct strait_tensor *part(struct strait_rank *r, const struct stage *s,
                                  struct strait_tensor *x, int micro)
{
    return strait_slice(r, x, micro, s->stages.n_micro);
}

/* --- the memory of a link ------------------------------------------------------------------- */

static void load(struct strait_rank *r, const struct stage *s, struct link *l, int micro)
{
    if (l && s->knows && micro < s->stages.n_micro)
        l->loads[micro] = strait_rows_load(r, &l->rows[micro]);
}

static void store(struct strait_rank *r, const struct stage *s, struct link *l, int micro)
{
    if (s->keeps)
        l->stores[micro] = strait_rows_store(r, &l->rows[micro]);
}

static void wait_for_stores(struct strait_rank *r, const struct stage *s, struct link *l)
{
    for (int i = 0; l && s->keeps && i < s->stages.n_micro; i++)
        strait_wait(r, l->stores[i]);
}

/* --- algorithm 1 ---------------------------------------------------------------------------- */

static void pass_on(struct strait_rank *r, const struct stage *s, struct link *l, int micro)
{
    struct strait_tensor *a = part(r, s, l->a, micro), *m = part(r, s, l->m, micro),
                         *d = part(r, s, l->d, micro);
    struct strait_packet *packet;
    if (!s->keeps) {
        packet = strait_encode(r, s->q, NAN, a);
    } else if (!s->knows) {
        packet = strait_encode(r, strait_codec(r, "none"), NAN, a);
        strait_set(r, m, a, 1);
    } else {
        strait_wait(r, l->loads[micro]);
        strait_set_change(r, d, a, m, a);
        packet = strait_encode(r, s->q, NAN, d);
        if (!strait_sends_views(s->q))
            strait_decode(r, d, strait_keep(packet));
        strait_add(r, m, d, 1);
    }
    strait_send(r, l->rank, STRAIT_FORWARD, micro, packet);
    store(r, s, l, micro);
}

static void take(struct strait_rank *r, const struct stage *s, struct link *l, int micro)
{
    struct strait_packet *packet = strait_recv(r, l->rank, STRAIT_FORWARD).packet;
    struct strait_tensor *m = part(r, s, l->m, micro), *d = part(r, s, l->d, micro);
    strait_decode(r, s->knows ? d : m, packet);
    if (s->knows) {
        strait_wait(r, l->loads[micro]);
        strait_add(r, m, d, 1);
    }
    store(r, s, l, micro);
}

static void do_pass(struct strait_rank *r, void *arg, int direction, struct strait_pass pass)
{
    const struct stage *s = arg;
    struct link *before = s->before, *behind = s->behind;
    const int i = pass.micro;
    const struct strait_microbatch m = {i, s->stages.n_micro, pass.first, pass.end};
    struct strait_tensor *in = before ? part(r, s, before->m, i) : NULL;
    if (direction == STRAIT_FORWARD) {
        load(r, s, before, i + 1);
        load(r, s, behind, i + 1);
        if (before)
            take(r, s, before, i);
        strait_forward_micro(r, &m, s->w, in, behind ? part(r, s, behind->a, i) : NULL);
        if (behind)
            pass_on(r, s, behind, i);
        return;
    }
    struct strait_tensor *dy = behind ? part(r, s, behind->g, i) : NULL,
                         *dx = before ? part(r, s, before->g, i) : NULL;
    if (behind)
        strait_decode(r, dy, strait_recv(r, behind->rank, STRAIT_BACKWARD).packet);
    strait_backward_micro(r, &m, s->w, in, dy, dx, s->gradient);
    if (before)
        strait_send(r, before->rank, STRAIT_BACKWARD, i, strait_encode(r, s->q_back, NAN, dx));
}

/* --- samples -------------------------------------------------------------------------------- */

/* Batches that pass before the same samples come again. */
static int epoch_of(struct strait_rank *r, const struct stage *s)
{
    const struct strait_experiment *e = strait_experiment(r);
    struct strait_error err = {0};
    if (!strait_trains(r))
        return (int)strait_param(r, "epoch");
    const double n = strait_n_examples(r, s->stages.at.replica);
    if ((long)n % e->training.batch == 0)
        return (int)n / e->training.batch;
    strait_refuse_at(&err, e->file, "/training/batch",
                     "expected a divisor of the %.0f samples of pipeline %d, found %d", n,
                     s->stages.at.replica, e->training.batch);
    strait_fail(r, &err);
}

/* Rows of the memory: one for each example, or where nobody trains for each microbatch. */
static size_t rows_of(struct strait_rank *r, const struct stage *s)
{
    return strait_trains(r) ? (size_t)(strait_experiment(r)->training.batch / s->stages.n_micro)
                            : 1;
}

static void find_samples(struct strait_rank *r, const struct stage *s, struct link *l, int batch)
{
    for (int i = 0; l && s->keeps && i < s->stages.n_micro; i++) {
        uint32_t *rows = (uint32_t *)(uintptr_t)l->rows[i].rows;
        const struct strait_microbatch m = {.micro = i, .n_micro = s->stages.n_micro};
        if (strait_trains(r))
            strait_microbatch_examples(r, &m, rows);
        else
            rows[0] = (uint32_t)(batch * s->stages.n_micro + i);
    }
}

/* --- the run -------------------------------------------------------------------------------- */

/* `ahead` 1: to the next stage, -1: from the one before; the layers before `layer` pass it on. */
static struct link *link_to(struct strait_rank *r, const struct stage *s, int ahead, int layer,
                            int epoch)
{
    const size_t n_micro = (size_t)s->stages.n_micro, n_rows = rows_of(r, s);
    struct link *l = strait_alloc(r, 1, sizeof(*l));
    if (!strait_stages_neighbour(&s->stages, 0, ahead, &l->rank))
        return NULL;
    const size_t n_elems = strait_trains(r) ? strait_n_passed_on(r, layer) *
                                                  (size_t)strait_experiment(r)->training.batch
                                            : (size_t)(strait_param(r, "activation") / 4);
    l->a = strait_scratch_of(r, n_elems, s->gradient);
    l->d = strait_like(r, l->a);
    l->m = strait_like(r, l->a);
    l->g = strait_scratch_of(r, n_elems, s->gradient);
    if (!s->keeps)
        return l;
    l->memory = strait_scratch(r, n_elems * (size_t)epoch);
    l->rows = strait_alloc(r, n_micro, sizeof(*l->rows));
    l->loads = strait_alloc(r, n_micro, sizeof(struct strait_task *));
    l->stores = strait_alloc(r, n_micro, sizeof(struct strait_task *));
    for (size_t i = 0; i < n_micro; i++)
        l->rows[i] = (struct strait_rows){.x = part(r, s, l->m, (int)i),
                                          .memory = l->memory,
                                          .rows = strait_alloc(r, n_rows, sizeof(uint32_t)),
                                          .n_rows = n_rows,
                                          .bytes_per_s = strait_param(r, "memory_rate")};
    return l;
}

static struct stage begin(struct strait_rank *r)
{
    struct stage s = {.stages = {.grid = strait_pipeline_grid(strait_experiment(r)),
                                 .n_chunks = 1,
                                 .n_micro = (int)strait_param(r, "microbatches")},
                      .keeps = (int)strait_param(r, "codes") == CHANGES,
                      .q = strait_codec(r, "up"),
                      .q_back = strait_codec(r, "down")};
    strait_pipeline_place(r, &s.stages.grid);
    s.stages.at = strait_grid_at(&s.stages.grid, strait_me(r));
    strait_stages_cut(r, &s.stages);
    strait_shares_data(r, s.stages.at.replica);
    return s;
}

/* The layers [first, end) of a whole model. */
static struct strait_tensor *layers_of(struct strait_rank *r, struct strait_tensor *model,
                                       int first, int end)
{
    const struct strait_model *m = strait_model(r);
    size_t lo = 0, hi = 0;
    for (int l = 0; l < end; l++) {
        lo += l < first ? m->layers[l].n_elems : 0;
        hi += m->layers[l].n_elems;
    }
    return strait_range(r, model, lo, hi);
}

/* Before rank 0's model is scored the other stages of its pipeline send it theirs. */
static void gather_model(struct strait_rank *r, const struct stage *s, struct strait_tensor *model,
                         int round)
{
    const int every = strait_experiment(r)->training.eval_every;
    const struct strait_stages *k = &s->stages;
    struct strait_codec *plain = strait_codec(r, "none");
    if (!strait_trains(r) || k->at.replica > 0 ||
        !(strait_is_last_round(r) || (every > 0 && (round + 1) % every == 0)))
        return;
    if (strait_me(r) != 0) {
        strait_send(r, 0, STATE, round, strait_snapshot(r, plain, NAN, s->w));
        return;
    }
    for (int i = 1; i < k->grid.n_stages; i++) {
        const int from = strait_grid_rank(&k->grid, (struct strait_grid_at){0, i, 0});
        strait_decode(r, layers_of(r, model, k->first[i], k->first[i + 1]),
                      strait_recv(r, from, STATE).packet);
    }
}

/* The mean gradient of the pipelines. */
static struct strait_tensor *sum_replicas(struct strait_rank *r, const struct stage *s,
                                          struct strait_group replicas, struct strait_tensor *sum)
{
    if (replicas.n == 1)
        return s->gradient;
    strait_set(r, sum, s->gradient, 1);
    strait_all_reduce(r, replicas, strait_codec(r, "none"), sum, STRAIT_AR_RING);
    return sum;
}

static void acsgd(struct strait_rank *r)
{
    struct stage s = begin(r);
    const int stage = s.stages.at.stage, first = s.stages.first[stage],
              end = s.stages.first[stage + 1], epoch = epoch_of(r, &s);
    struct strait_group replicas = strait_stages_replicas(r, &s.stages, GRADIENT);
    struct strait_tensor *model = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS), *sum[2];
    s.w = layers_of(r, model, first, end);
    s.gradient = strait_tensor(r, STRAIT_GRADIENTS, first, end);
    for (int i = 0; i < 2; i++)
        sum[i] = strait_like(r, s.gradient);
    s.before = link_to(r, &s, -1, first, epoch);
    s.behind = link_to(r, &s, 1, end, epoch);
    strait_owns(r, s.w);
    strait_learns(r, model);
    for (int round = 0; strait_round(r); round++) {
        s.knows = s.keeps && round >= epoch;
        find_samples(r, &s, s.before, round % epoch);
        find_samples(r, &s, s.behind, round % epoch);
        load(r, &s, s.before, 0);
        load(r, &s, s.behind, 0);
        strait_stages_run(r, &s.stages, do_pass, &s);
        wait_for_stores(r, &s, s.before);
        wait_for_stores(r, &s, s.behind);
        strait_step_layers(r, first, end, sum_replicas(r, &s, replicas, sum[round % 2]),
                           1.0 / replicas.n);
        gather_model(r, &s, model, round);
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const struct strait_grid g = strait_pipeline_grid(e);
    if (channel == STATE && (!e->trains || dst != 0))
        return false;
    if ((int)strait_experiment_param(e, "neighbours") == STRAIT_BY_NETWORK)
        return channel <= STATE; /* any pair may be neighbours */
    const struct strait_grid_at from = strait_grid_at(&g, src), to = strait_grid_at(&g, dst);
    if (channel == GRADIENT)
        return to.stage == from.stage && to.replica == (from.replica + 1) % g.n_replicas;
    if (to.replica != from.replica)
        return false;
    return channel == STATE || (channel == STRAIT_FORWARD && to.stage == from.stage + 1) ||
           (channel == STRAIT_BACKWARD && to.stage == from.stage - 1);
}

static int n_pipelines(const struct strait_experiment *e)
{
    return strait_pipeline_grid(e).n_replicas;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_grid g = strait_pipeline_grid(e);
    const int n_micro = (int)strait_experiment_param(e, "microbatches");
    const struct strait_codec_choice *const both[] = {&e->up, &e->down};
    if ((size_t)g.n_stages > e->model->n_layers || strait_grid_places(&g) != e->n_ranks)
        return strait_refuse_at(
            err, e->file, "/strategy/stages",
            "expected at most the model's %zu layers and a divisor of the %d ranks, found %d",
            e->model->n_layers, e->n_ranks, g.n_stages);
    if (e->trains && e->training.batch % n_micro != 0)
        return strait_refuse_at(err, e->file, "/strategy/microbatches",
                                "expected a divisor of the batch of %d, found %d",
                                e->training.batch, n_micro);
    if (!e->trains && fmod(strait_experiment_param(e, "activation"), 4.0 * n_micro) != 0)
        return strait_refuse_at(err, e->file, "/strategy/activation",
                                "expected a multiple of %d B, whole values of %d microbatches, "
                                "found %.0f B",
                                4 * n_micro, n_micro, strait_experiment_param(e, "activation"));
    for (int i = 0; i < 2; i++)
        if (strait_feedback_needed(&both[i]->spec))
            return strait_refuse_at(err, e->file, i ? "/download_codec" : "/codec",
                                    "expected a sender that remembers nothing "
                                    "(\"error_feedback\": false), found \"%s\"",
                                    both[i]->spec.ops->name);
    return 0;
}

/* The activation unless asked for: a sample of GPT-2 small, 1024 tokens of 768 values of 4
 * bytes. */
static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"stages",
     "parts of the model, each on n / stages replicas; 0: as many as ranks and layers allow",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    {"microbatches", "parts of the batch of each pipeline", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e5, .fallback = 8},
    {"schedule", "all forward passes first, or one forward, one backward", STRAIT_PARAM_CHOICE,
     .min = 0, .max = STRAIT_ONE_F_ONE_B, .choices = strait_schedules},
    {"activation",
     "bytes of a whole batch that a stage passes on, and of their gradients back; where it trains, "
     "what the task has",
     STRAIT_PARAM_BYTES, .min = 4, .max = 1e12, .fallback = 1024 * 768 * 4},
    {"epoch", "batches until the same samples come again; where it trains, what the data have",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 100},
    {"codes", "what of activations the codec codes: changes since the last epoch, or values",
     STRAIT_PARAM_CHOICE, .min = 0, .max = VALUES, .choices = codes},
    {"memory_rate",
     "speed at which the activations of an epoch are read, and written, beside the "
     "accelerator",
     STRAIT_PARAM_SPEED, .min = 1, .max = 1e15, .fallback = 2e9},
    {"neighbours",
     "what ranks next to each other are: a pipeline's stages, a stage's replicas, or as is best "
     "for the network",
     STRAIT_PARAM_CHOICE, .min = 0, .max = STRAIT_BY_NETWORK, .fallback = STRAIT_STAGES_FIRST,
     .choices = strait_pipeline_neighbours},
};
const struct strait_strategy strait_strategy_acsgd = {
    .name = "ac-sgd",
    .summary = "AC-SGD: a pipeline whose activations are coded as changes since the last epoch",
    .source = "Wang et al., Fine-tuning Language Models over Slow Networks using Activation "
              "Quantization with Guarantees, NeurIPS 2022 (arXiv 2206.01299)",
    .approximates = "activations, their changes and their gradients are coded as recorded "
                    "gradients of parameters are, unless it trains",
    .trains = true,
    .n_workers = n_pipelines,
    .uplink_kind = "grad",
    .downlink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .rank_main = acsgd,
};
