#include "kfac_values.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/factors.h"
#include "workloads/rank/rank_state.h"

/* One factor. */
struct value {
    struct strait_tensor *sum;     /* of all ranks, or of this rank alone where nothing is sent */
    struct strait_tensor *average; /* over updates, of whoever inverts it */
    struct strait_tensor *inverse; /* where it is sent: of all ranks, else of its owner */
    double trace;                  /* of the average */
};

struct kfac_values {
    struct value *of;
    double share; /* of a sum: the mean over ranks */
    int n_updates;
    struct strait_tensor *traces;    /* of this rank's factors; summed if they are sent */
    int traces_job;                  /* KFAC_NONE: every rank gets every sum */
    struct strait_tensor *direction; /* of the step, the whole model */
};

/* --- set-up ------------------------------------------------------------------------------- */

/* Factors of a bucket lie one after another in its tensor; so do inverses that go together. */
static struct strait_tensor *part_of_bucket(struct kfac *k, const int *jobs, int i)
{
    size_t lo = 0;
    int last = i;
    for (int j = 0; j < k->n; j++)
        if (k->plan.bucket_of[j] == k->plan.bucket_of[i]) {
            lo += j < i ? k->factors[j].n_elems : 0;
            last = j;
        }
    if (jobs[last] == KFAC_NONE)
        return NULL;
    return strait_range(k->r, k->jobs[jobs[last]].x[0], lo, lo + k->factors[i].n_elems);
}

static struct strait_tensor *own(struct kfac *k, int i)
{
    return strait_scratch(k->r, k->factors[i].n_elems);
}

static struct strait_tensor *inverse_of(struct kfac *k, int i)
{
    struct strait_tensor *x = NULL;
    const int other = k->n - 1 - i; /* of the same layer */
    const enum kfac_broadcasts how = k->plan.broadcasts;
    const struct strait_factor *f = &k->factors[i];
    const int job = k->broadcast_end[how == KFAC_EACH_LAYERS_INVERSES && !f->of_input ? other : i];
    if (how == KFAC_BUCKETS_OF_INVERSES && k->plan.owner[i] != STRAIT_EVERYWHERE)
        x = part_of_bucket(k, k->broadcast_end, i);
    else if (how == KFAC_EACH_INVERSE && job != KFAC_NONE)
        x = k->jobs[job].x[0];
    else if (how == KFAC_EACH_LAYERS_INVERSES && job != KFAC_NONE) {
        const size_t lo = f->of_input ? 0 : k->factors[other].n_elems;
        x = strait_range(k->r, k->jobs[job].x[0], lo, lo + f->n_elems);
    }
    return x ? x : own(k, i);
}

/* Positions of tensors outside the model must be the same on all ranks, so all are made on all;
 * memory is taken when one is used. */
void kfac_values_begin(struct kfac *k)
{
    if (!strait_trains(k->r))
        return;
    struct kfac_values *v = k->values = strait_alloc(k->r, 1, sizeof(*v));
    const bool sends = k->plan.n_buckets > 0;
    v->of = strait_alloc(k->r, (size_t)k->n, sizeof(*v->of));
    v->share = sends ? 1.0 / strait_n_ranks(k->r) : 1;
    v->direction = strait_tensor(k->r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    v->traces = strait_scratch(k->r, (size_t)k->n);
    v->traces_job = KFAC_NONE;
    for (int i = 0; i < k->n; i++)
        v->of[i] = (struct value){.sum = sends ? part_of_bucket(k, k->bucket_end, i) : own(k, i),
                                  .average = own(k, i),
                                  .inverse = inverse_of(k, i)};
    if (!k->plan.to_owner)
        return;
    v->traces_job = k->n_jobs++;
    k->jobs[v->traces_job] = (struct kfac_job){.what = KFAC_ALL_REDUCE,
                                               .x = {v->traces, v->traces},
                                               .codec = strait_codec(k->r, "none"),
                                               .tell = KFAC_FACTORS};
}

int kfac_values_check(const struct strait_experiment *e, struct strait_error *err)
{
    if (e->training.optimiser != STRAIT_KFAC) {
        return strait_refuse_at(err, e->file, "/training/optimiser",
                                "expected \"kfac\" with strategy \"%s\", found \"%s\"",
                                e->strategy->name, strait_optimiser_names()[e->training.optimiser]);
    }
    if (!strait_task_has_factors(e->training.task))
        return strait_refuse_at(
            err, e->file, "/training/task",
            "expected a task whose layers have factors (fashion-mlp, fashion-cnn, "
            "fashion-resnet, char-transformer), found \"%s\"",
            e->training.task);
    return 0;
}

/* --- factors ------------------------------------------------------------------------------ */

struct strait_tensor *kfac_factor(struct kfac *k, int i)
{
    return k->values ? k->values->of[i].sum : NULL;
}

static double trace_of(struct kfac *k, int i)
{
    return learn_triangle_trace(strait_values(k->r, k->values->of[i].sum), k->factors[i].dim);
}

void kfac_note_trace(struct kfac *k, int i)
{
    if (k->values && k->values->traces_job != KFAC_NONE)
        strait_values(k->r, k->values->traces)[i] = (float)trace_of(k, i);
}

void kfac_send_traces(struct kfac *k)
{
    if (k->values && k->values->traces_job != KFAC_NONE)
        kfac_ask(k, k->values->traces_job);
}

/* Of what was before in an average: at first all counts alike (Martens and Grosse, arXiv
 * 1503.05671, section 5). */
static double kept_share(const struct kfac *k)
{
    const double most = strait_experiment(k->r)->training.factor_decay;
    return fmin(1 - 1.0 / k->values->n_updates, most);
}

void kfac_take_traces(struct kfac *k)
{
    struct kfac_values *v = k->values;
    if (!v)
        return;
    v->n_updates++;
    const double kept = kept_share(k);
    for (int i = 0; i < k->n; i++) {
        const bool is_there = k->plan.n_buckets > 0 ||
                              k->plan.owner[i < k->n / 2 ? i : k->n - 1 - i] == strait_me(k->r);
        if (!is_there)
            continue;
        const double sum =
            v->traces_job != KFAC_NONE ? (double)strait_values(k->r, v->traces)[i] : trace_of(k, i);
        v->of[i].trace = kept * v->of[i].trace + (1 - kept) * v->share * sum;
    }
}

/* --- jobs --------------------------------------------------------------------------------- */

struct inversion {
    float *average, *inverse;
    const float *sum;
    size_t d, n_elems;
    double kept, share, damping;
    bool failed;
};

static void invert_now(void *arg)
{
    struct inversion *x = arg;
    for (size_t i = 0; i < x->n_elems; i++)
        x->average[i] =
            (float)(x->kept * (double)x->average[i] + (1 - x->kept) * x->share * (double)x->sum[i]);
    x->failed = !learn_triangle_invert(x->inverse, x->average, x->d, x->damping);
}

static void work(struct kfac *k, double cost_s, void (*fn)(void *), void *arg)
{
    const struct strait_job job = {.resource = strait_device(k->r),
                                   .cost_s = cost_s / strait_device_speed(k->r),
                                   .fn = fn,
                                   .arg = arg,
                                   .is_long = fn != NULL};
    if (cost_s > 0 || fn)
        strait_rank_state_work(k->r, STRAIT_SPAN_COMPUTE, &job);
}

/* This factor's share of the layer's damping. */
static double damping_of(const struct kfac *k, int i)
{
    const int other = k->n - 1 - i, a = i < other ? i : other, g = k->n - 1 - a;
    const double damping = strait_experiment(k->r)->training.damping;
    const double pi = learn_damping_pi(k->values->of[a].trace, k->factors[a].dim,
                                       k->values->of[g].trace, k->factors[g].dim);
    return i == a ? sqrt(damping) * pi : sqrt(damping) / pi;
}

void kfac_invert(struct kfac *k, int i)
{
    if (!k->values) {
        work(k, k->factors[i].inverse_s, NULL, NULL);
        return;
    }
    const struct value *v = &k->values->of[i];
    struct inversion x = {.average = strait_values(k->r, v->average),
                          .inverse = strait_values(k->r, v->inverse),
                          .sum = strait_values(k->r, v->sum),
                          .d = k->factors[i].dim,
                          .n_elems = k->factors[i].n_elems,
                          .kept = kept_share(k),
                          .share = k->values->share,
                          .damping = damping_of(k, i)};
    work(k, k->factors[i].inverse_s, invert_now, &x);
    if (x.failed) {
        struct strait_error err = {0};
        strait_error_set(&err, STRAIT_ERR_BACKEND, NULL,
                         "layer %d of %s: its factor of dimension %zu cannot be inverted: training "
                         "diverged, the codec's error leaves it not positive definite (raise "
                         "damping or tighten the bound), or memory ran out",
                         k->factors[i].layer, strait_model(k->r)->name, x.d);
        strait_fail(k->r, &err);
    }
}

struct preconditioning {
    struct learn_kronecker layer;
    float *to;         /* the layer's part of the direction */
    const float *from; /* the summed gradient */
    size_t n_elems, weight, bias;
    double share;
    bool failed;
};

static void take_mean(float *to, const float *from, size_t n_elems, double share)
{
    for (size_t i = 0; i < n_elems; i++)
        to[i] = (float)(share * (double)from[i]);
}

static void precondition_now(void *arg)
{
    struct preconditioning *p = arg;
    take_mean(p->to, p->from, p->n_elems, p->share);
    p->failed = !learn_precondition(&p->layer, p->to + p->weight,
                                    p->layer.has_bias ? p->to + p->bias : NULL);
}

static size_t layer_start(const struct kfac *k, int layer)
{
    size_t lo = 0;
    for (int l = 0; l < layer; l++)
        lo += strait_model(k->r)->layers[l].n_elems;
    return lo;
}

/* A layer's summed gradient of this round. */
static const float *gradient_of(struct kfac *k, int layer)
{
    struct strait_tensor *x = k->jobs[k->bucket_of[layer]].x[k->round % 2];
    return strait_values(k->r, x) + (layer_start(k, layer) - x->lo);
}

/* Where its owner puts the preconditioned gradient: into what is sent, else into the direction. */
static float *direction_of(struct kfac *k, int i)
{
    const int layer = k->factors[i].layer;
    if (k->plan.broadcasts == KFAC_EACH_GRADIENT)
        return strait_values(k->r, k->jobs[k->broadcast_end[i]].x[0]);
    return strait_values(k->r, k->values->direction) + layer_start(k, layer);
}

void kfac_precondition(struct kfac *k, int i)
{
    const struct strait_factor *f = &k->factors[i];
    struct strait_factor_layer l;
    if (!k->values || !f->of_input) {
        work(k, f->precondition_s, NULL, NULL);
        return;
    }
    const bool has =
        strait_learn_factor_layer(strait_rank_state_of(k->r)->point->learn, (size_t)f->layer, &l);
    assert(has && l.d_in == f->dim && l.d_out == k->factors[k->n - 1 - i].dim);
    (void)has;
    const size_t start = layer_start(k, f->layer);
    struct preconditioning p = {
        .layer = {.a_inverse = strait_values(k->r, k->values->of[i].inverse),
                  .g_inverse = strait_values(k->r, k->values->of[k->n - 1 - i].inverse),
                  .in = l.n_inputs,
                  .out = l.d_out,
                  .has_bias = l.has_bias},
        .to = direction_of(k, i),
        .from = gradient_of(k, f->layer),
        .n_elems = strait_model(k->r)->layers[f->layer].n_elems,
        .weight = l.weight - start,
        .bias = l.has_bias ? l.bias - start : 0,
        .share = 1.0 / strait_n_ranks(k->r)};
    work(k, f->precondition_s, precondition_now, &p);
    if (p.failed)
        kfac_no_memory(k);
}

/* --- the step ----------------------------------------------------------------------------- */

/* Which factor of inputs a layer has, or KFAC_NONE: then its gradient stays as it is. */
static void fill_direction(struct kfac *k)
{
    const struct strait_model *m = strait_model(k->r);
    float *all = strait_values(k->r, k->values->direction);
    for (int l = 0; l < (int)m->n_layers; l++) {
        const size_t n_elems = m->layers[l].n_elems;
        float *to = all + layer_start(k, l);
        const int i = k->factor_before[l];
        if (i == KFAC_NONE)
            take_mean(to, gradient_of(k, l), n_elems, 1.0 / strait_n_ranks(k->r));
        else if (k->plan.broadcasts == KFAC_EACH_GRADIENT)
            memcpy(to, direction_of(k, i), n_elems * sizeof(*to));
    }
}

/* The sum over layers with factors of direction x gradient x lr^2: twice the divergence between the
 * model before the step and after it, as the factors see it. */
static double divergence(struct kfac *k)
{
    const struct strait_model *m = strait_model(k->r);
    const double lr = strait_experiment(k->r)->training.lr, share = 1.0 / strait_n_ranks(k->r);
    double sum = 0;
    for (int l = 0; l < (int)m->n_layers; l++) {
        if (k->factor_before[l] == KFAC_NONE)
            continue;
        const float *to = strait_values(k->r, k->values->direction) + layer_start(k, l);
        const float *gradient = gradient_of(k, l);
        for (size_t i = 0; i < m->layers[l].n_elems; i++)
            sum += (double)to[i] * share * (double)gradient[i];
    }
    return sum * lr * lr;
}

/* Clipping as in Pauloski et al., SC 2020 (their kfac_pytorch): directions of layers with factors
 * are scaled by min(1, sqrt(kl_clip / divergence)). 0: not at all. */
static void clip(struct kfac *k)
{
    const struct strait_model *m = strait_model(k->r);
    const double most = strait_experiment(k->r)->training.kl_clip, found = divergence(k);
    if (!(most > 0) || !(found > most))
        return;
    const float scale = (float)sqrt(most / found);
    for (int l = 0; l < (int)m->n_layers; l++) {
        float *to = strait_values(k->r, k->values->direction) + layer_start(k, l);
        for (size_t i = 0; i < m->layers[l].n_elems && k->factor_before[l] != KFAC_NONE; i++)
            to[i] *= scale;
    }
}

void kfac_step(struct kfac *k)
{
    if (k->values) {
        fill_direction(k);
        clip(k);
    }
    strait_step(k->r, k->values ? k->values->direction : NULL, k->values ? 1 : 0);
}
