/* Training for real: gradients, steps and local training as jobs of a rank. Time is what the
 * model's table says; values are computed beside it. */
#include "learning.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "coding.h"
#include "core/buffer.h"
#include "core/hash.h"
#include "learn/factors.h"
#include "workloads/live/kept.h"
#include "workloads/live/workspaces.h"

static size_t n_elems_of(const struct strait_trial *p)
{
    return p->experiment->model->n_elems;
}

/* --- training ----------------------------------------------------------------------------- */

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

static void note(struct strait_rank *r, const struct training *t)
{
    if (t->err.code != STRAIT_OK)
        strait_fail(r, &t->err);
    strait_learning_note(r, t->n_steps, t->loss);
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

/* Gradients that a codec with a momentum sends have it already; tensors that it does not take, such
 * as vectors, have not, and keep the optimiser's, as in the program of DGC's authors
 * (github.com/synxlin/deep-gradient-compression, dgc/compression.py, decompress). */
static bool senders_have_momentum(const struct strait_experiment *e)
{
    return strait_codec_has_momentum(&e->up.spec) && strcmp(strait_uplink_kind(e), "grad") == 0;
}

/* The optimiser that lives on, made when first asked for. */
static struct strait_optimiser *optimiser_of(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    const struct strait_training t = w->point->experiment->training;
    struct strait_error err = {0};
    if (l->optimiser)
        return l->optimiser;
    if (strait_optimiser_new(&l->optimiser, &t, w->point->learn, &err) != 0)
        strait_fail(r, &err);
    strait_rank_state_hold(w, (double)strait_optimiser_bytes(&t, n_elems_of(w->point)));
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
        strait_error_memory(&t->err, NULL);
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
    t.optimiser = strait_learning_keeps_state(t.point) || in_place ? optimiser_of(r) : NULL;
    t.from = in_place ? strait_learning_take_own(r) : strait_values(r, from);
    t.to = in_place ? (float *)(uintptr_t)t.from : strait_values(r, to);
    t.is_change = !in_place && to->kind == STRAIT_UPDATE;
    assert(in_place || (strait_n_elems(from) == n_elems_of(t.point) &&
                        strait_n_elems(to) == n_elems_of(t.point)));
    work(r, cost_s, train_now, &t);
    note(r, &t);
    if (in_place && own->n > 0)
        strait_learning_put_own(r);
    else if (!in_place)
        strait_learning_mark_changed(to);
}

/* --- gradients and steps ------------------------------------------------------------------ */

void strait_learning_forget_gradient(struct strait_rank *r)
{
    struct strait_learning *l = strait_rank_state_of(r)->learning;
    if (l->is_ahead) /* by a factor of this very step */
        return;
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
    float *triangles = t->learning->triangles;
    const size_t n = triangles ? strait_learn_n_factor_elems(t->point->learn) : 0;
    if (!kept || !strait_kept_find(t->point->kept, &job, &t->loss, t->to, triangles, n)) {
        t->loss = strait_learner_gradient(x->learner, t->from, t->learning->n_batches, t->to);
        if (n > 0)
            strait_learner_triangles(x->learner, triangles);
        if (kept)
            strait_kept_add(t->point->kept, &job, t->loss, t->to, triangles, n, &t->err);
    }
    give(t, x);
}

static void copy_now(void *arg)
{
    const struct training *t = arg;
    memcpy(t->to, t->from, (t->hi - t->lo) * sizeof(float));
}

/* Where the whole gradient of this step goes: into the memory of the whole tensor that x is of,
 * else into the rank's own. x NULL: nothing waits for it yet. */
static float *gradient_memory(struct strait_rank *r, struct strait_tensor *x)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct strait_learning *l = w->learning;
    struct strait_tensor *of = x && x->parent ? x->parent : x;
    const bool whole = x && strait_n_elems(of) == n_elems_of(w->point);
    l->filled = whole ? of : NULL;
    if (whole)
        return strait_values(r, of);
    if (!l->gradient)
        l->gradient = strait_learning_new_model(r);
    return l->gradient;
}

static void take_gradient(struct strait_rank *r, struct strait_tensor *x, double cost_s)
{
    struct training t = training_of(r);
    struct strait_learning *l = t.learning;
    const size_t n_bytes = strait_learn_n_factor_elems(t.point->learn) * sizeof(float);
    if (n_bytes > 0 && !l->triangles) {
        if (!(l->triangles = strait_buffer_new(n_bytes)))
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "factors do not fit in memory");
        strait_rank_state_hold(strait_rank_state_of(r), (double)n_bytes);
    }
    t.n_steps = 1;
    t.from = strait_learning_take_own(r);
    t.to = gradient_memory(r, x);
    work(r, cost_s, gradient_now, &t);
    note(r, &t);
    l->has_gradient = true;
}

/* A factor of a layer's inputs is asked for before its forward pass: the gradient, which the passes
 * take their time for, is then computed at once. */
void strait_learning_factor(struct strait_rank *r, struct strait_tensor *x, int layer,
                            bool of_input, double cost_s)
{
    struct training t = training_of(r);
    struct strait_learning *l = t.learning;
    struct strait_factor_layer f;
    const bool has = strait_learn_factor_layer(t.point->learn, (size_t)layer, &f);
    assert(has);
    (void)has;
    if (l->has_begun) /* the step of the gradient that is there */
        strait_learning_forget_gradient(r);
    if (!l->has_gradient) {
        take_gradient(r, NULL, 0);
        l->is_ahead = true;
    }
    t.to = strait_values(r, x);
    t.from = l->triangles + (of_input ? f.a : f.g);
    t.hi = strait_n_elems(x);
    work(r, cost_s, copy_now, &t);
    strait_learning_mark_changed(x);
}

void strait_learning_backward(struct strait_rank *r, struct strait_tensor *x, double cost_s)
{
    struct training t = training_of(r);
    struct strait_learning *l = t.learning;
    float *values = strait_values(r, x);
    l->is_ahead = false;
    if (!l->has_gradient) {
        take_gradient(r, x, cost_s);
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
    strait_learning_mark_changed(x);
}

static void step_rows(const struct training *t, const float *gradient)
{
    const struct strait_experiment *e = t->point->experiment;
    size_t at = 0;
    for (size_t i = 0; i < e->model->n_rows && at < t->hi; at += e->model->rows[i++].n_elems) {
        const struct strait_param_row *row = &e->model->rows[i];
        const size_t end = at + row->n_elems, lo = at > t->lo ? at : t->lo,
                     hi = end < t->hi ? end : t->hi;
        if (lo >= hi)
            continue;
        if (strait_codec_choice_takes(&e->up, row))
            strait_optimiser_step_plain(t->optimiser, t->to, gradient, lo, hi);
        else
            strait_optimiser_step(t->optimiser, t->to, gradient, lo, hi);
    }
}

static void step_now(void *arg)
{
    struct training *t = arg;
    struct strait_workspace *x = take(t);
    if (!x)
        return;
    for (size_t i = t->lo; i < t->hi; i++)
        x->gradient[i] = t->weight * t->from[i - t->lo];
    if (senders_have_momentum(t->point->experiment))
        step_rows(t, x->gradient);
    else
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
    t.to = strait_learning_take_own(r);
    t.lo = lo;
    t.hi = hi;
    t.weight = (float)weight;
    if (!t.learning->has_begun)
        strait_optimiser_begin(t.optimiser);
    t.learning->has_begun = true;
    work(r, cost_s, step_now, &t);
    if (t.err.code != STRAIT_OK)
        strait_fail(r, &t.err);
    strait_learning_put_own(r);
}
