/* Training for real: gradients, steps and local training as jobs of a rank, and the scores of the
 * run's model. Time is what the model's table says; values are computed beside it. */
#include "learning.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coding.h"
#include "core/buffer.h"
#include "core/hash.h"
#include "workloads/live/kept.h"
#include "workloads/live/workspaces.h"

bool strait_trains(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->learning != NULL;
}

static size_t n_elems_of(const struct strait_trial *p)
{
    return p->experiment->model->n_elems;
}

/* The optimiser begins anew at a stateless client's every round only. */
static bool keeps_state(const struct strait_trial *p)
{
    return p->experiment->training.keep_state || !p->experiment->strategy->has_server;
}

static int worker_of(const struct strait_trial *p, int rank)
{
    const int worker = rank - (p->experiment->strategy->has_server ? 1 : 0);
    return worker < p->n_workers ? worker : -1;
}

/* --- parameters --------------------------------------------------------------------------- */

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

static float *new_model(struct strait_rank *r)
{
    const size_t n_bytes = n_elems_of(strait_rank_state_of(r)->point) * sizeof(float);
    float *w = strait_buffer_new(n_bytes);
    if (!w)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "a model does not fit in memory");
    strait_rank_state_hold(strait_rank_state_of(r), (double)n_bytes);
    return w;
}

/* This rank's parameters in one piece, to be read or written until put_own. */
static float *take_own(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    if (is_whole(&l->own, n_elems_of(w->point)))
        return strait_values(r, l->own.x[0]);
    if (!l->w) {
        l->w = new_model(r);
        if (l->own.n == 0)
            strait_learn_init(w->point->learn, l->w);
    }
    gather(r, l->w, &l->own);
    return l->w;
}

static void mark_changed(struct strait_tensor *x)
{
    x->version++;
    if (x->parent)
        x->parent->version++;
}

static void put_own(struct strait_rank *r)
{
    struct strait_learning *l = strait_rank_state_of(r)->learning;
    for (size_t i = 0; i < l->own.n; i++) {
        struct strait_tensor *x = l->own.x[i];
        if (l->w)
            memcpy(strait_values(r, x), l->w + x->lo, strait_n_elems(x) * sizeof(float));
        mark_changed(x);
    }
}

/* --- training ----------------------------------------------------------------------------- */

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
    for (struct strait_scoring *s = l->scorings, *next; s; s = next) {
        next = s->next;
        strait_buffer_free(s->model);
        free(s);
    }
    free(l);
}

/* Work on this rank's data, on whatever thread runs it. */
struct training {
    const struct strait_trial *point;
    struct strait_learning *learning;
    struct strait_optimiser *optimiser; /* NULL: one that begins anew */
    const float *from;
    float *to;
    bool is_change; /* `to` becomes what the parameters changed by */
    int n_steps;
    size_t lo, hi; /* of a step, or of a gradient's copy */
    float weight;
    double loss;
    struct strait_error err;
};

static struct strait_workspace *take(struct training *t)
{
    return strait_workspace_take(t->point->workspaces, t->learning->worker, &t->err);
}

static void give(const struct training *t, struct strait_workspace *x)
{
    strait_workspace_give(t->point->workspaces, x);
}

static void fail_if_diverged(struct strait_rank *r, const struct training *t)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    char where[64], codec[STRAIT_SPEC_CHARS];
    struct strait_error err = {0};
    if (t->err.code != STRAIT_OK)
        strait_fail(r, &t->err);
    if (isfinite(t->loss) || t->n_steps == 0)
        return;
    snprintf(where, sizeof(where), "round %d, rank %d", atomic_load(&w->round), w->me);
    strait_error_set(&err, STRAIT_ERR_BACKEND, where,
                     "training diverged: the loss is %s, with codec \"%s\"",
                     isnan(t->loss) ? "not a number" : "infinite",
                     strait_codec_spec_text(codec, &w->point->experiment->up.spec));
    strait_fail(r, &err);
}

/* To the log: how this rank's training goes. */
static void note_training(struct strait_rank *r, const struct training *t)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    l->n_batches += (uint64_t)t->n_steps;
    if (t->n_steps == 0)
        return;
    l->loss = t->loss;
    const struct strait_trained now = {.round = atomic_load(&w->round),
                                       .n_batches = t->n_steps,
                                       .time_s = strait_now_s(r),
                                       .loss = t->loss};
    pthread_mutex_lock(&w->mutex);
    const bool noted = strait_log_add_trained(w->log, &now);
    pthread_mutex_unlock(&w->mutex);
    if (!noted)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
}

static void work(struct strait_rank *r, double cost_s, void (*fn)(void *), struct training *t)
{
    const struct strait_job job = {
        .resource = strait_device(r), .cost_s = cost_s, .fn = fn, .arg = t, .is_long = true};
    strait_rank_state_work(r, STRAIT_SPAN_COMPUTE, &job);
}

static struct training training_of(struct strait_rank *r)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    if (w->learning->worker < 0)
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND, "trains, but has no data");
    return (struct training){.point = w->point, .learning = w->learning};
}

/* The optimiser that lives on, made when first asked for. */
static struct strait_optimiser *optimiser_of(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    const struct strait_training *t = &w->point->experiment->training;
    struct strait_error err = {0};
    if (l->optimiser)
        return l->optimiser;
    if (strait_optimiser_new(&l->optimiser, t, w->point->learn, &err) != 0)
        strait_fail(r, &err);
    strait_rank_state_hold(w, (double)strait_optimiser_bytes(t, n_elems_of(w->point)));
    return l->optimiser;
}

/* The job by which its result is kept. */
static struct strait_kept_job job_of(const struct training *t, int n_steps)
{
    return (struct strait_kept_job){
        .worker = t->learning->worker,
        .n_steps = n_steps,
        .first_batch = t->learning->n_batches,
        .from = strait_checksum(t->from, n_elems_of(t->point) * sizeof(float))};
}

static size_t n_state_of(const struct training *t)
{
    return t->optimiser ? strait_optimiser_n_state(t->optimiser) : 0;
}

/* Take the result from the saved state: values, and the state of an optimiser that lives on. */
static bool find_kept(struct training *t, const struct strait_kept_job *job, float *values)
{
    const size_t n_state = n_state_of(t);
    float *state = n_state > 0 ? malloc(n_state * sizeof(*state)) : NULL;
    const bool found = (state || n_state == 0) &&
                       strait_kept_find(t->point->kept, job, &t->loss, values, state, n_state);
    if (found && n_state > 0)
        strait_optimiser_load(t->optimiser, state);
    free(state);
    return found;
}

static void keep(struct training *t, const struct strait_kept_job *job, const float *values)
{
    const size_t n_state = n_state_of(t);
    float *state = n_state > 0 ? malloc(n_state * sizeof(*state)) : NULL;
    if (n_state > 0 && !state) {
        strait_error_set(&t->err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
        return;
    }
    if (n_state > 0)
        strait_optimiser_save(t->optimiser, state);
    strait_kept_add(t->point->kept, job, t->loss, values, state, n_state, &t->err);
    free(state);
}

static void train_now(void *arg)
{
    struct training *t = arg;
    const size_t n = n_elems_of(t->point);
    struct strait_workspace *x = take(t);
    if (!x)
        return;
    const struct strait_kept *kept = t->point->kept;
    const struct strait_kept_job job = kept ? job_of(t, t->n_steps) : (struct strait_kept_job){0};
    if (!kept || !find_kept(t, &job, x->w)) {
        memcpy(x->w, t->from, n * sizeof(float));
        t->loss = strait_workspace_train(x, t->optimiser, t->learning->n_batches, t->n_steps, n);
        if (kept)
            keep(t, &job, x->w);
    }
    if (t->is_change)
        for (size_t i = 0; i < n; i++)
            t->to[i] = x->w[i] - t->from[i];
    else
        memcpy(t->to, x->w, n * sizeof(float));
    give(t, x);
}

void strait_learning_train(struct strait_rank *r, struct strait_tensor *from,
                           struct strait_tensor *to, int n_steps, double cost_s)
{
    struct training t = training_of(r);
    const struct strait_parts *own = &t.learning->own;
    const bool in_place = !from;
    t.n_steps = n_steps;
    t.optimiser = keeps_state(t.point) || in_place ? optimiser_of(r) : NULL;
    t.from = in_place ? take_own(r) : strait_values(r, from);
    t.to = in_place ? (float *)(uintptr_t)t.from : strait_values(r, to);
    t.is_change = !in_place && to->kind == STRAIT_UPDATE;
    assert(in_place || (strait_n_elems(from) == n_elems_of(t.point) &&
                        strait_n_elems(to) == n_elems_of(t.point)));
    work(r, cost_s, train_now, &t);
    fail_if_diverged(r, &t);
    note_training(r, &t);
    if (in_place && own->n > 0)
        put_own(r);
    else if (!in_place)
        mark_changed(to);
}

/* --- gradients and steps ------------------------------------------------------------------ */

void strait_learning_forget_gradient(struct strait_rank *r)
{
    struct strait_learning *l = strait_rank_state_of(r)->learning;
    l->has_gradient = l->has_begun = false;
    l->filled = NULL;
}

static void gradient_now(void *arg)
{
    struct training *t = arg;
    struct strait_workspace *x = take(t);
    if (!x)
        return;
    const struct strait_kept *kept = t->point->kept;
    const struct strait_kept_job job = kept ? job_of(t, 0) : (struct strait_kept_job){0};
    if (!kept || !find_kept(t, &job, t->to)) {
        t->loss = strait_learner_gradient(x->learner, t->from, t->learning->n_batches, t->to);
        if (kept)
            keep(t, &job, t->to);
    }
    give(t, x);
}

static void copy_now(void *arg)
{
    const struct training *t = arg;
    memcpy(t->to, t->from, (t->hi - t->lo) * sizeof(float));
}

/* Where the whole gradient of this step goes: into the memory of the whole tensor that x is of, else
 * into the rank's own. */
static float *gradient_memory(struct strait_rank *r, struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    struct strait_tensor *of = x->parent ? x->parent : x;
    const bool whole = strait_n_elems(of) == n_elems_of(w->point);
    l->filled = whole ? of : NULL;
    if (whole)
        return strait_values(r, of);
    if (!l->gradient)
        l->gradient = new_model(r);
    return l->gradient;
}

void strait_learning_backward(struct strait_rank *r, struct strait_tensor *x, double cost_s)
{
    struct training t = training_of(r);
    struct strait_learning *l = t.learning;
    float *values = strait_values(r, x);
    if (!l->has_gradient) {
        t.n_steps = 1;
        t.from = take_own(r);
        t.to = gradient_memory(r, x);
        work(r, cost_s, gradient_now, &t);
        fail_if_diverged(r, &t);
        note_training(r, &t);
        l->has_gradient = true;
        if (!l->filled)
            memcpy(values, l->gradient + x->lo, strait_n_elems(x) * sizeof(float));
    } else {
        const struct strait_tensor *of = x->parent ? x->parent : x;
        t.from = (l->filled ? l->filled->values : l->gradient) + x->lo;
        t.to = values;
        t.lo = x->lo;
        t.hi = x->hi;
        const struct strait_job job = {.resource = strait_device(r),
                                       .cost_s = cost_s,
                                       .fn = l->filled != of ? copy_now : NULL,
                                       .arg = &t};
        strait_rank_state_work(r, STRAIT_SPAN_COMPUTE, &job);
    }
    mark_changed(x);
}

static void step_now(void *arg)
{
    struct training *t = arg;
    struct strait_workspace *x = take(t);
    if (!x)
        return;
    for (size_t i = t->lo; i < t->hi; i++)
        x->gradient[i] = t->weight * t->from[i - t->lo];
    strait_optimiser_step(t->optimiser, t->to, x->gradient, t->lo, t->hi);
    give(t, x);
}

void strait_learning_step(struct strait_rank *r, struct strait_tensor *x, size_t lo, size_t hi,
                          double weight, double cost_s)
{
    struct training t = training_of(r);
    assert(x->lo <= lo && hi <= x->hi);
    t.optimiser = optimiser_of(r);
    t.from = strait_values(r, x) + (lo - x->lo);
    t.to = take_own(r);
    t.lo = lo;
    t.hi = hi;
    t.weight = (float)weight;
    if (!t.learning->has_begun)
        strait_optimiser_begin(t.optimiser);
    t.learning->has_begun = true;
    work(r, cost_s, step_now, &t);
    if (t.err.code != STRAIT_OK)
        strait_fail(r, &t.err);
    put_own(r);
}

double strait_n_examples(const struct strait_rank *r, int rank)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    const int worker = strait_trains(r) ? worker_of(p, rank) : -1;
    return worker >= 0 ? (double)strait_learn_examples(p->learn, worker) : 1;
}

int strait_n_workers(const struct strait_rank *r)
{
    return strait_rank_state_of(r)->point->n_workers;
}

double strait_train_loss(const struct strait_rank *r)
{
    return strait_trains(r) ? strait_rank_state_of(r)->learning->loss : NAN;
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
    const bool stays = keeps_state(p);
    const int n_threads = p->run.n_threads > 0 ? p->run.n_threads : 1;
    const int n_spaces =
        p->run.measured_cost || n_threads > p->n_workers ? p->n_workers + 1 : n_threads + 1;
    const double one = e->strategy->has_server ? 0 : model_bytes;
    return (double)strait_learn_bytes(p->learn) +
           n_spaces * (double)strait_workspace_bytes(&e->training, p->learn) +
           p->n_workers *
               (one + (stays ? (double)strait_optimiser_bytes(&e->training, n_elems_of(p)) : 0));
}
