/* Streaming DiLoCo (Douillard et al. 2025): the layers are cut into fragments that are synchronised
 * one after another, each once in H inner steps. A fragment's all-reduce overlaps the next
 * `overlap_steps` inner steps, on its own lane; then its outer step is taken, and the result is
 * mixed with what the rank has trained meanwhile.
 *
 * Overlapped with a whole round (Kale et al. 2025) the outer step at the end of round t is taken at
 * once, `delayed` along the mean of round t - 1, or `eager` with the rank's own share made new:
 *     own_t / M + (mean_(t - 1) - own_(t - 1) / M)
 * so that the steps that follow begin with what the rank has just learnt. Ranks then differ by
 * their own shares. */
#include "workloads/ask/experiment.h"
#include "federated.h"
#include "workloads/train/plans/fragments.h"
#include "workloads/train/collectives/legal.h"

enum { MIXED, DELAYED, EAGER };
static const char *const outers[] = {"mixed", "delayed", "eager", NULL};
enum { MOVED = 0, TO_COMM, REDUCED, END = -1 }; /* channels; messages are fragment numbers */

struct fragment {
    struct strait_tensor *update, *moved[2], *momentum, *global, *local;
    struct strait_tensor *own[2], *step; /* eager: this rank's shares; what the outer step takes */
    int n_begun;
    long due; /* the step after which its outer step is taken; -1: not under way */
};
struct streaming {
    struct strait_group world;
    struct fragment *fragments;
    int n, n_inner, outer;
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

static struct streaming begin(struct strait_rank *r)
{
    const struct strait_model *m = strait_model(r);
    struct streaming s = {.world = strait_world(r, MOVED),
                          .n = (int)strait_param(r, "fragments"),
                          .n_inner = (int)strait_param(r, "local_steps"),
                          .outer = (int)strait_param(r, "outer")};
    size_t *sizes = strait_alloc(r, m->n_layers, sizeof(*sizes));
    int *first = strait_alloc(r, (size_t)s.n + 1, sizeof(*first));
    for (size_t l = 0; l < m->n_layers; l++)
        sizes[l] = m->layers[l].n_elems;
    strait_cut_fragments(first, s.n, sizes, (int)m->n_layers);
    s.fragments = strait_alloc(r, (size_t)s.n, sizeof(*s.fragments));
    for (int p = 0; p < s.n; p++) {
        struct fragment *f = &s.fragments[p];
        f->due = -1;
        f->update = strait_tensor(r, STRAIT_UPDATE, first[p], first[p + 1]);
        f->global = strait_tensor(r, STRAIT_WEIGHTS, first[p], first[p + 1]);
        f->local = strait_tensor(r, STRAIT_WEIGHTS, first[p], first[p + 1]);
        strait_learns(r, f->global);
        strait_owns(r, f->local);
        f->momentum = strait_tensor(r, STRAIT_SCRATCH, first[p], first[p + 1]);
        f->moved[0] = strait_tensor(r, STRAIT_SCRATCH, first[p], first[p + 1]);
        f->moved[1] = strait_tensor(r, STRAIT_SCRATCH, first[p], first[p + 1]);
        for (int i = 0; i < 3 && s.outer != MIXED; i++)
            *(i < 2 ? &f->own[i] : &f->step) = strait_like(r, f->moved[0]);
    }
    return s;
}

static void streaming_diloco(struct strait_rank *r)
{
    struct streaming s = begin(r);
    struct strait_rank *lane = strait_spawn(r, communicate, &s);
    long step = 0;
    while (strait_round(r))
        for (int i = 1; i <= s.n_inner; i++) {
            strait_train(r, NULL, s.fragments[0].update, 1);
            step++;
            for (int p = 0; p < s.n; p++) /* fragment p: after step (p + 1) H / n of each round */
                if (i == (p + 1) * s.n_inner / s.n)
                    begin_fragment(r, &s, p, step);
            for (int p = 0; p < s.n; p++)
                if (s.fragments[p].due == step)
                    end_fragment(r, &s);
        }
    for (int p = 0; p < s.n; p++) /* after the run: no steps are left to overlap with */
        if (s.fragments[p].due > step)
            end_fragment(r, &s);
    strait_post(r, TO_COMM, END);
    strait_join(r, lane);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const int n = (int)strait_experiment_param(e, "fragments");
    const int n_inner = (int)strait_experiment_param(e, "local_steps");
    if ((size_t)n > e->model->n_layers || n > n_inner)
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
    return strait_all_reduce_check(e, STRAIT_AR_RING, "ring", err);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == MOVED && dst == (src + 1) % e->n_ranks;
}

static const struct strait_param params[] = {
    {"rounds", "times that every fragment is synchronised", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two synchronisations of a fragment", STRAIT_PARAM_INTEGER,
     .min = 1, .max = 1e6, .fallback = 100},
    {"fragments", "parts of the model, whole layers in a row", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e4, .fallback = 3},
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
    .period = strait_strategy_repeats,
    .rank_main = streaming_diloco,
};
