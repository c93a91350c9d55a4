/* Streaming DiLoCo (Douillard et al. 2025): the layers are cut into fragments that are synchronised
 * one after another, each once in H inner steps. A fragment's all-reduce overlaps the next
 * `overlap_steps` inner steps, on its own lane; then its outer step is taken, and the result is
 * mixed with what the rank has trained meanwhile.
 *
 * Overlapped with a whole round (Kale et al. 2025) the outer step at the end of round t is taken at
 * once, `delayed` along the mean of round t - 1, or `eager` with the rank's own share made new:
 *     own_t / M + (mean_(t - 1) - own_(t - 1) / M)
 * so that the steps that follow begin with what the rank has just learnt. Ranks then differ by
 * their own shares.
 *
 * `sends` layers is the schedule of the simulations in both papers: a fragment's layers are sent
 * one by one, each when its backward pass ends, and only the forward pass of a layer waits for its
 * sum. Layers 2 and 3 are a fragment here, overlap_steps 0:
 *
 *     rank   F0 F1 F2 F3 B3 B2 B1 B0   F0 F1 F2    F3 ...
 *     lane                 3--- 2---------         layer 2 waits a little, layer 3 does not */
#include "workloads/ask/experiment.h"
#include "federated.h"
#include "workloads/train/plans/fragments.h"
#include "workloads/train/collectives/legal.h"

enum { MIXED, DELAYED, EAGER };
static const char *const outers[] = {"mixed", "delayed", "eager", NULL};
enum { FRAGMENTS, LAYERS };
static const char *const sent[] = {"fragments", "layers", NULL};
enum { SEQUENTIAL, STRIDED };
static const char *const patterns[] = {"sequential", "strided", NULL};
enum { MOVED = 0, TO_COMM, REDUCED, END = -1 }; /* channels; messages are fragment numbers */

struct fragment { /* or a layer of one */
    struct strait_tensor *update, *moved[2], *momentum, *global, *local;
    struct strait_tensor *own[2], *step; /* eager: this rank's shares; what the outer step takes */
    int n_begun;
    long at;  /* the step of each period in which it is sent */
    long due; /* the step after which its outer step is taken; -1: not under way */
    bool is_back;
};
struct streaming {
    struct strait_group world;
    struct fragment *fragments;
    int n, n_inner, outer;
    long period; /* steps */
};

static struct strait_tensor *moved_now(const struct fragment *f)
{
    return f->moved[f->n_begun % 2]; /* alternating, see strait_average */
}

static void communicate(struct strait_rank *r, void *arg)
{
    const struct streaming *s = arg;
    for (int p; (p = strait_pend(r, TO_COMM)) != END;) {
        strait_average(r, s->world, strait_codec(r, "up"), moved_now(&s->fragments[p]));
        strait_post(r, REDUCED, p);
    }
}

static void take_outer_step(struct strait_rank *r, struct fragment *f, struct strait_tensor *g)
{
    const double own = strait_param(r, "mixing");
    strait_outer_step(r, f->global, f->momentum, g);
    strait_set(r, f->local, f->local, own);
    strait_add(r, f->local, f->global, 1 - own);
}

/* At the end of round t, once the mean of round t - 1 is there: start the next, and step along the
 * last. */
static void step_at_once(struct strait_rank *r, struct streaming *s, int p)
{
    struct fragment *f = &s->fragments[p];
    const bool eager = s->outer == EAGER, is_first = f->n_begun == 0;
    struct strait_tensor *mean = moved_now(f), *was = f->own[f->n_begun % 2];
    if (!is_first)
        strait_pend(r, REDUCED); /* fragments return in the order in which they were started */
    f->n_begun++;
    struct strait_tensor *own = f->own[f->n_begun % 2];
    strait_set_change(r, moved_now(f), f->local, f->global, f->update);
    if (eager)
        strait_set(r, own, moved_now(f), 1.0 / s->world.n);
    strait_post(r, TO_COMM, p);
    if (is_first && !eager)
        return;
    strait_set(r, f->step, eager ? own : mean, 1);
    if (eager && !is_first) {
        strait_add(r, f->step, mean, 1);
        strait_add(r, f->step, was, -1);
    }
    take_outer_step(r, f, f->step);
}

static void begin_fragment(struct strait_rank *r, struct streaming *s, int p, long step)
{
    struct fragment *f = &s->fragments[p];
    if (s->outer != MIXED) {
        step_at_once(r, s, p);
        return;
    }
    f->due = step + (long)strait_param(r, "overlap_steps");
    f->n_begun++;
    strait_set_change(r, moved_now(f), f->local, f->global, f->update);
    strait_post(r, TO_COMM, p);
}

/* One lane, first come, first served: fragments return in the order in which they were started. */
static void end_fragment(struct strait_rank *r, struct streaming *s)
{
    struct fragment *f = &s->fragments[strait_pend(r, REDUCED)];
    take_outer_step(r, f, moved_now(f));
    f->due = -1;
}

/* Of the layers [lo, hi). */
static struct fragment fragment_of(struct strait_rank *r, const struct streaming *s, int lo, int hi,
                                   long at)
{
    struct fragment f = {.due = -1,
                         .at = at,
                         .update = strait_tensor(r, STRAIT_UPDATE, lo, hi),
                         .global = strait_tensor(r, STRAIT_WEIGHTS, lo, hi),
                         .local = strait_tensor(r, STRAIT_WEIGHTS, lo, hi)};
    strait_learns(r, f.global);
    strait_owns(r, f.local);
    f.momentum = strait_tensor(r, STRAIT_SCRATCH, lo, hi);
    f.moved[0] = strait_tensor(r, STRAIT_SCRATCH, lo, hi);
    f.moved[1] = strait_tensor(r, STRAIT_SCRATCH, lo, hi);
    for (int i = 0; i < 3 && s->outer != MIXED; i++)
        *(i < 2 ? &f.own[i] : &f.step) = strait_like(r, f.moved[0]);
    return f;
}

static struct streaming begin(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    const bool by_layer = (int)strait_param(r, "sends") == LAYERS,
               strided = (int)strait_param(r, "pattern") == STRIDED;
    const int n = (int)strait_param(r, "fragments"), n_inner = (int)strait_param(r, "local_steps"),
              gap = n_inner > n ? n_inner / n : 1;
    struct streaming s = {.world = strait_world(r, MOVED),
                          .n = by_layer ? (int)m->n_layers : n,
                          .n_inner = n_inner,
                          .period = n_inner > n ? n_inner : n,
                          .outer = (int)strait_param(r, "outer")};
    s.world.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    size_t *sizes = strait_alloc(r, m->n_layers, sizeof(*sizes));
    int *first = strait_alloc(r, (size_t)n + 1, sizeof(*first));
    for (size_t l = 0; l < m->n_layers; l++)
        sizes[l] = m->layers[l].n_elems;
    strait_cut_fragments(first, n, sizes, (int)m->n_layers);
    s.fragments = strait_alloc(r, (size_t)s.n, sizeof(*s.fragments));
    for (int p = 0; p < n; p++)
        if (by_layer && strided)
            for (int l = p; l < s.n; l += n)
                s.fragments[l] = fragment_of(r, &s, l, l + 1, (long)(p + 1) * gap);
        else if (by_layer)
            for (int l = first[p]; l < first[p + 1]; l++)
                s.fragments[l] = fragment_of(r, &s, l, l + 1, (long)(p + 1) * gap);
        else
            s.fragments[p] =
                fragment_of(r, &s, first[p], first[p + 1], (long)(p + 1) * n_inner / n);
    return s;
}

static void step_with_fragments(struct strait_rank *r, struct streaming *s, long step)
{
    strait_train(r, NULL, s->fragments[0].update, 1);
    for (int p = 0; p < s->n; p++)
        if ((step - 1) % s->period + 1 == s->fragments[p].at)
            begin_fragment(r, s, p, step);
    for (int p = 0; p < s->n; p++)
        if (s->fragments[p].due == step)
            end_fragment(r, s);
}

/* A layer's sum comes behind those of the layers above it, which are needed later. */
static void end_layer(struct strait_rank *r, struct streaming *s, int l)
{
    struct fragment *f = &s->fragments[l];
    while (!f->is_back)
        s->fragments[strait_pend(r, REDUCED)].is_back = true;
    f->is_back = false;
    f->due = -1;
    take_outer_step(r, f, moved_now(f));
}

static void step_with_layers(struct strait_rank *r, struct streaming *s, long step)
{
    for (int l = 0; l < s->n; l++) {
        if (s->fragments[l].due >= 0 && s->fragments[l].due < step)
            end_layer(r, s, l);
        strait_forward(r, l);
    }
    for (int l = s->n - 1; l >= 0; l--) {
        strait_backward(r, l);
        if ((step - 1) % s->period + 1 == s->fragments[l].at)
            begin_fragment(r, s, l, step);
    }
    strait_step(r, NULL, 0);
}

static void streaming_diloco(struct strait_rank *r)
{
    struct streaming s = begin(r);
    struct strait_rank *lane = strait_spawn(r, communicate, &s);
    const bool by_layer = (int)strait_param(r, "sends") == LAYERS;
    long step = 0;
    while (strait_round(r))
        for (int i = 0; i < s.n_inner; i++)
            (by_layer ? step_with_layers : step_with_fragments)(r, &s, ++step);
    for (int p = 0; p < s.n; p++) /* after the run: no steps are left to overlap with */
        if (s.fragments[p].due >= 0 && by_layer)
            end_layer(r, &s, p);
        else if (s.fragments[p].due >= 0)
            end_fragment(r, &s);
    strait_post(r, TO_COMM, END);
    strait_join(r, lane);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const int n = (int)strait_experiment_param(e, "fragments");
    const int n_inner = (int)strait_experiment_param(e, "local_steps");
    const bool by_layer = (int)strait_experiment_param(e, "sends") == LAYERS;
    if (by_layer && e->trains)
        return strait_refuse_at(err, e->file, "/strategy/sends",
                                "expected \"fragments\" for real training, where layers change "
                                "only when the step is done");
    if ((int)strait_experiment_param(e, "pattern") == STRIDED && !by_layer)
        return strait_refuse_at(err, e->file, "/strategy/pattern",
                                "expected \"sequential\", since a fragment that is sent whole is "
                                "of layers in a row, or \"sends\": \"layers\"");
    if ((size_t)n > e->model->n_layers || (n > n_inner && !by_layer))
        return strait_refuse_at(
            err, e->file, "/strategy/fragments",
            "expected at most the model's %zu layers and the %d local_steps, found %d",
            e->model->n_layers, n_inner, n);
    if ((int)strait_experiment_param(e, "outer") == MIXED &&
        strait_experiment_param(e, "overlap_steps") >= n_inner)
        return strait_refuse_at(err, e->file, "/strategy/overlap_steps",
                                "expected fewer than the %d local_steps, since a fragment is taken "
                                "before it is begun again, found %g",
                                n_inner, strait_experiment_param(e, "overlap_steps"));
    return strait_ring_check(e, err);
}

/* More fragments than a round has steps go on into the next round. */
static int period(const struct strait_experiment *e)
{
    return strait_experiment_param(e, "fragments") <= strait_experiment_param(e, "local_steps");
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return strait_ring_uses_stream(e, MOVED, src, dst, channel);
}

static const struct strait_param params[] = {
    {"rounds", "times that every fragment is synchronised", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two synchronisations of a fragment", STRAIT_PARAM_INTEGER,
     .min = 1, .max = 1e6, .fallback = 100},
    {"fragments", "parts of the model, of whole layers", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e4,
     .fallback = 3},
    {"pattern",
     "a fragment's layers: in a row, or every n-th for n fragments, as the paper has it; the "
     "latter needs \"sends\": \"layers\"",
     STRAIT_PARAM_CHOICE, .min = 0, .max = STRIDED, .fallback = SEQUENTIAL, .choices = patterns},
    {"sends",
     "a fragment after a step, or each of its layers when its backward pass ends; then more "
     "fragments than local_steps follow step by step",
     STRAIT_PARAM_CHOICE, .min = 0, .max = LAYERS, .fallback = FRAGMENTS, .choices = sent},
    {"overlap_steps", "inner steps beside which a fragment is all-reduced", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e6, .fallback = 5},
    {"outer", "the outer step: late, mixed in; or at once, of the last round's mean or eager",
     STRAIT_PARAM_CHOICE, .min = 0, .max = EAGER, .fallback = MIXED, .choices = outers},
    {"mixing", "share that a rank keeps of what it trained meanwhile", STRAIT_PARAM_NUMBER,
     .min = 0, .max = 1, .fallback = 0.5},
    STRAIT_OUTER_PARAMS,
};
const struct strait_strategy strait_strategy_streaming_diloco = {
    .name = "streaming-diloco",
    .summary = "DiLoCo by fragments of layers, all-reduced beside the inner steps that follow",
    .source = "Douillard et al., 2025 (arXiv 2501.18512); delayed and eager: Kale et al., 2025 "
              "(arXiv 2502.12996)",
    .trains = true,
    .uplink_kind = "update",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .period = period,
    .rank_main = streaming_diloco,
};
