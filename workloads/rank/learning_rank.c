/* A rank that trains: where its parameters are, whose data it has, what it holds; and one that is a
 * stage of a pipeline. */
#include "learning.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "learn/factors.h"
#include "workloads/ask/experiment.h"
#include "workloads/live/workspaces.h"

static size_t n_elems_of(const struct strait_trial *p)
{
    return p->experiment->model->n_elems;
}

/* The optimiser begins anew at a stateless client's every round only. */
bool strait_learning_keeps_state(const struct strait_trial *p)
{
    return p->experiment->training.keep_state || !p->experiment->strategy->has_server;
}

static int worker_of(const struct strait_trial *p, int rank)
{
    const int worker = rank - (p->experiment->strategy->has_server ? 1 : 0);
    return worker < p->n_workers ? worker : -1;
}

static void add_part(struct strait_rank *r, struct strait_parts *parts, struct strait_tensor *x)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->x[i]->lo == x->lo && parts->x[i]->hi == x->hi) {
            parts->x[i] = x;
            return;
        }
    struct strait_tensor **more = strait_alloc(r, parts->n + 1, sizeof(struct strait_tensor *));
    if (parts->n > 0)
        memcpy(more, parts->x, parts->n * sizeof(struct strait_tensor *));
    more[parts->n] = x;
    *parts = (struct strait_parts){more, parts->n + 1};
}

void strait_owns(struct strait_rank *r, struct strait_tensor *w)
{
    if (strait_trains(r))
        add_part(r, &strait_rank_state_of(r)->learning->own, w);
}

void strait_learns(struct strait_rank *r, struct strait_tensor *w)
{
    if (strait_trains(r))
        add_part(r, &strait_rank_state_of(r)->learning->model, w);
}

static bool is_whole(const struct strait_parts *parts, size_t n_elems)
{
    return parts->n == 1 && strait_n_elems(parts->x[0]) == n_elems;
}

static void gather(struct strait_rank *r, float *to, const struct strait_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        memcpy(to + parts->x[i]->lo, strait_values(r, parts->x[i]),
               strait_n_elems(parts->x[i]) * sizeof(float));
}

float *strait_learning_new_model(struct strait_rank *r)
{
    const size_t n_bytes = n_elems_of(strait_rank_state_of(r)->point) * sizeof(float);
    float *w = strait_buffer_new(n_bytes);
    if (!w)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a model does not fit in memory");
    strait_rank_state_hold(strait_rank_state_of(r), (double)n_bytes);
    return w;
}

/* This rank's parameters in one piece, to be read or written until put_own. */
float *strait_learning_take_own(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    if (is_whole(&l->own, n_elems_of(w->point)))
        return strait_values(r, l->own.x[0]);
    if (!l->w) {
        l->w = strait_learning_new_model(r);
        if (l->own.n == 0)
            strait_learn_init(w->point->learn, l->w);
    }
    gather(r, l->w, &l->own);
    return l->w;
}

void strait_learning_mark_changed(struct strait_tensor *x)
{
    x->version++;
    if (x->parent)
        x->parent->version++;
}

void strait_learning_put_own(struct strait_rank *r)
{
    struct strait_learning *l = strait_rank_state_of(r)->learning;
    for (size_t i = 0; i < l->own.n; i++) {
        struct strait_tensor *x = l->own.x[i];
        if (l->w)
            memcpy(strait_values(r, x), l->w + x->lo, strait_n_elems(x) * sizeof(float));
        strait_learning_mark_changed(x);
    }
}

struct strait_learning *strait_learning_new(const struct strait_trial *p, int rank)
{
    struct strait_learning *l = calloc(1, sizeof(*l));
    const struct strait_codec_spec *up = &p->experiment->up.spec;
    if (l)
        *l = (struct strait_learning){
            .worker = worker_of(p, rank),
            .loss = NAN,
            .bound = up->bound.kind == STRAIT_BOUND_NONE ? NAN : up->bound.value};
    return l;
}

void strait_learning_free(struct strait_learning *l)
{
    if (!l)
        return;
    strait_optimiser_free(l->optimiser);
    strait_buffer_free(l->w);
    strait_buffer_free(l->gradient);
    strait_buffer_free(l->triangles);
    for (struct strait_scoring *s = l->scorings, *next; s; s = next) {
        next = s->next;
        strait_buffer_free(s->model);
        free(s->of_workers);
        free(s);
    }
    free(l);
}

double strait_n_examples(const struct strait_rank *r, int rank)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    const int worker = strait_trains(r) ? worker_of(p, rank) : -1;
    return worker >= 0 ? (double)strait_learn_examples(p->learn, worker) : 1;
}

double strait_train_loss(const struct strait_rank *r)
{
    return strait_trains(r) ? strait_rank_state_of(r)->learning->loss : NAN;
}

static void fail_unless_finite(struct strait_rank *r, double loss)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    char where[64], codec[STRAIT_SPEC_CHARS];
    struct strait_error err = {0};
    if (isfinite(loss))
        return;
    snprintf(where, sizeof(where), "round %d, rank %d", atomic_load(&w->round), w->me);
    strait_error_set(&err, STRAIT_ERR_BACKEND, where,
                     "training diverged: the loss is %s, with codec \"%s\"",
                     isnan(loss) ? "not a number" : "infinite",
                     strait_codec_spec_text(codec, &w->point->experiment->up.spec));
    strait_fail(r, &err);
}

void strait_learning_note(struct strait_rank *r, int n_batches, double loss)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    if (n_batches == 0)
        return;
    fail_unless_finite(r, loss);
    l->n_batches += (uint64_t)n_batches;
    l->loss = loss;
    const struct strait_trained now = {.round = atomic_load(&w->round),
                                       .n_batches = n_batches,
                                       .time_s = strait_now_s(r),
                                       .loss = loss};
    pthread_mutex_lock(&w->mutex);
    const bool noted = strait_log_add_trained(w->log, &now);
    pthread_mutex_unlock(&w->mutex);
    if (!noted)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
}

void strait_note_bound(struct strait_rank *r, double bound)
{
    if (strait_trains(r))
        strait_rank_state_of(r)->learning->bound = bound;
}

double strait_learning_bytes(const struct strait_trial *p)
{
    const struct strait_experiment *e = p->experiment;
    const double model_bytes = (double)strait_buffer_bytes(4 * n_elems_of(p));
    const bool stays = strait_learning_keeps_state(p);
    const int n_threads = p->run.n_threads > 0 ? p->run.n_threads : 1;
    const int n_spaces =
        p->run.measured_cost || n_threads > p->n_workers ? p->n_workers + 1 : n_threads + 1;
    const double one = e->strategy->has_server ? 0 : model_bytes;
    return (double)strait_learn_bytes(p->learn) +
           n_spaces * (double)strait_workspace_bytes(&e->training, p->learn) +
           p->n_workers *
               (one + (double)strait_learn_kfac_bytes(p->learn) +
                (stays ? (double)strait_optimiser_bytes(&e->training, n_elems_of(p)) : 0));
}

/* --- a stage of a pipeline ------------------------------------------------------------------ */

/* A microbatch through some of the layers, whose values come from the stage before and go to the
 * one behind. Time is what the model's table says. */
struct stage {
    const struct strait_trial *point;
    const struct strait_learning *learning;
    struct strait_learn_part part;
    bool is_first, is_last;
    const float *w, *in, *dy;
    float *out, *dx, *gradient;
    size_t n_gradient; /* values of the gradient, which begins; 0: it goes on */
    double loss;
    struct strait_error err;
};

static struct stage stage_of(struct strait_rank *r, const struct strait_microbatch *m,
                             struct strait_tensor *w)
{
    const struct strait_rank_state *state = strait_rank_state_of(r);
    const int n = strait_experiment(r)->training.batch / m->n_micro;
    return (struct stage){.point = state->point,
                          .learning = state->learning,
                          .part = {.step = (uint64_t)atomic_load(&state->round),
                                   .from = m->micro * n,
                                   .n = n,
                                   .first = (size_t)m->first,
                                   .end = (size_t)m->end},
                          .is_first = m->first == 0,
                          .is_last = (size_t)m->end == strait_model(r)->n_layers,
                          .w = w ? strait_values(r, w) : NULL};
}

static struct strait_workspace *take(struct stage *s)
{
    return strait_workspace_take(s->point->workspaces, s->learning->worker, &s->err);
}

static void work(struct strait_rank *r, double cost_s, void (*fn)(void *), struct stage *s)
{
    const struct strait_job job = {
        .resource = strait_device(r), .cost_s = cost_s, .fn = fn, .arg = s, .is_long = true};
    strait_rank_state_work(r, STRAIT_SPAN_COMPUTE, &job);
    if (s->err.code != STRAIT_OK)
        strait_fail(r, &s->err);
}

static void forward_now(void *arg)
{
    struct stage *s = arg;
    struct strait_workspace *x = take(s);
    if (!x)
        return;
    strait_learner_forward(x->learner, s->w, &s->part, s->in, s->out);
    strait_workspace_give(s->point->workspaces, x);
}

static void backward_now(void *arg)
{
    struct stage *s = arg;
    struct strait_workspace *x = take(s);
    if (!x)
        return;
    memset(s->gradient, 0, s->n_gradient * sizeof(*s->gradient));
    s->loss = strait_learner_backward(x->learner, s->w, &s->part, s->in, s->dy, s->dx, s->gradient);
    strait_workspace_give(s->point->workspaces, x);
}

void strait_learning_forward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                                   struct strait_tensor *w, struct strait_tensor *in,
                                   struct strait_tensor *out, double cost_s)
{
    struct stage s = stage_of(r, m, w);
    s.in = s.is_first ? NULL : strait_values(r, in);
    s.out = s.is_last ? NULL : strait_values(r, out);
    work(r, cost_s, s.is_last ? NULL : forward_now, &s); /* the backward pass does it again */
    if (!s.is_last)
        strait_learning_mark_changed(out);
}

void strait_learning_backward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                                    struct strait_tensor *w, struct strait_tensor *in,
                                    struct strait_tensor *dy, struct strait_tensor *dx,
                                    struct strait_tensor *gradient, double cost_s)
{
    struct strait_learning *l = strait_rank_state_of(r)->learning;
    struct stage s = stage_of(r, m, w);
    s.in = s.is_first ? NULL : strait_values(r, in);
    s.dx = s.is_first ? NULL : strait_values(r, dx);
    s.dy = s.is_last ? NULL : strait_values(r, dy);
    s.gradient = strait_values(r, gradient);
    s.n_gradient = m->micro == 0 ? strait_n_elems(gradient) : 0;
    work(r, cost_s, backward_now, &s);
    strait_learning_mark_changed(gradient);
    if (!s.is_first)
        strait_learning_mark_changed(dx);
    if (!s.is_last)
        return;
    l->part_loss = s.loss + (m->micro == 0 ? 0 : l->part_loss);
    if (m->micro + 1 == m->n_micro)
        strait_learning_note(r, 1, l->part_loss);
}

void strait_shares_data(struct strait_rank *r, int worker)
{
    assert(worker >= 0 && worker < strait_n_workers(r));
    if (strait_trains(r))
        strait_rank_state_of(r)->learning->worker = worker;
}

size_t strait_n_passed_on(struct strait_rank *r, int layer)
{
    const struct strait_experiment *e = strait_experiment(r);
    const size_t n = strait_learn_width(strait_rank_state_of(r)->point->learn, (size_t)layer);
    struct strait_error err = {0};
    if (n > 0)
        return n;
    strait_refuse_at(&err, e->file, "/training/task",
                     "expected a task that can be cut into stages, \"fashion-mlp\", found \"%s\"",
                     e->training.task);
    strait_fail(r, &err);
}

void strait_microbatch_examples(struct strait_rank *r, const struct strait_microbatch *m,
                                uint32_t *examples)
{
    struct stage s = stage_of(r, m, NULL);
    struct strait_workspace *x = take(&s);
    if (!x)
        strait_fail(r, &s.err);
    strait_learner_places(x->learner, &s.part, examples);
    strait_workspace_give(s.point->workspaces, x);
}
