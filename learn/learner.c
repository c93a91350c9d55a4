/* One rank's workspace: batches in, gradients and scores out. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/buffer.h"
#include "learn_network.h"
#include "learner.h"

enum { SCORE_BATCH = 32 };

static int largest_batch(const struct strait_learn *l)
{
    return l->training.batch > SCORE_BATCH ? l->training.batch : SCORE_BATCH;
}

size_t strait_learner_bytes(const struct strait_learn *l)
{
    return sizeof(struct strait_learner) + (size_t)largest_batch(l) * sizeof(uint32_t) +
           strait_buffer_bytes(l->network->work_bytes(l, largest_batch(l)));
}

int strait_learner_new(struct strait_learner **out, const struct strait_learn *l, int worker,
                       struct strait_error *err)
{
    assert(worker >= 0 && worker < l->n_workers);
    struct strait_learner *x = *out = calloc(1, sizeof(*x));
    if (x) {
        *x = (struct strait_learner){.learn = l, .worker = worker, .max_batch = largest_batch(l)};
        x->examples = malloc((size_t)x->max_batch * sizeof(*x->examples));
        x->work = strait_buffer_new(l->network->work_bytes(l, x->max_batch));
        if (x->examples && x->work)
            return 0;
    }
    strait_learner_free(x);
    *out = NULL;
    return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for the workspace of rank %d",
                            worker);
}

void strait_learner_free(struct strait_learner *x)
{
    if (!x)
        return;
    strait_buffer_free(x->work);
    free(x->examples);
    free(x);
}

void strait_learner_use(struct strait_learner *x, int worker)
{
    assert(worker >= 0 && worker < x->learn->n_workers);
    if (x->worker != worker && x->learn->network->leave)
        x->learn->network->leave(x);
    x->worker = worker;
}

double strait_learner_gradient(struct strait_learner *x, const float *w, uint64_t step,
                               float *gradient)
{
    const struct strait_learn *l = x->learn;
    strait_split_batch(&l->split, l->seed, x->worker, step, l->training.batch, x->examples);
    const struct strait_batch batch = {
        .examples = x->examples, .n = l->training.batch, .worker = x->worker, .step = step};
    return l->network->gradient(x, w, &batch, gradient);
}

size_t strait_learn_width(const struct strait_learn *l, size_t layer)
{
    return l->network->width ? l->network->width(l, layer) : 0;
}

void strait_learner_places(struct strait_learner *x, const struct strait_learn_part *part,
                           uint32_t *places)
{
    const struct strait_learn *l = x->learn;
    strait_split_places(&l->split, l->seed, x->worker, part->step, l->training.batch, x->examples);
    memcpy(places, x->examples + part->from, (size_t)part->n * sizeof(*places));
}

static struct strait_batch batch_of(struct strait_learner *x, const struct strait_learn_part *part)
{
    const struct strait_learn *l = x->learn;
    assert(l->network->width && part->from + part->n <= l->training.batch);
    strait_split_batch(&l->split, l->seed, x->worker, part->step, l->training.batch, x->examples);
    return (struct strait_batch){.examples = x->examples + part->from,
                                 .n = part->n,
                                 .worker = x->worker,
                                 .step = part->step};
}

void strait_learner_forward(struct strait_learner *x, const float *w,
                            const struct strait_learn_part *part, const float *in, float *out)
{
    const struct strait_batch batch = batch_of(x, part);
    x->learn->network->forward_part(x, w, &batch, part->first, part->end, in, out);
}

double strait_learner_backward(struct strait_learner *x, const float *w,
                               const struct strait_learn_part *part, const float *in,
                               const float *dy, float *dx, float *gradient)
{
    const struct strait_batch batch = batch_of(x, part);
    return x->learn->network->backward_part(x, w, &batch, part->first, part->end,
                                            x->learn->training.batch, in, dy, dx, gradient);
}

/* Of the held-out examples, where so many are asked for; 0: all. */
static long n_scored(const struct strait_learn *l, long n)
{
    const long most = (long)l->n_held_out;
    return n > 0 && n < most ? n : most;
}

void strait_learner_evaluate(struct strait_learner *x, const float *w, long n,
                             struct strait_score *out)
{
    const struct strait_learn *l = x->learn;
    const long wanted = n_scored(l, n);
    double loss = 0;
    long right = 0, answers = 0;
    for (long at = 0; at < wanted; at += SCORE_BATCH) {
        const int size = (int)(wanted - at < SCORE_BATCH ? wanted - at : SCORE_BATCH);
        for (int i = 0; i < size; i++)
            x->examples[i] = (uint32_t)(at + i);
        const struct strait_batch batch = {
            .examples = x->examples, .n = size, .held_out = true, .worker = -1};
        l->network->score(x, w, &batch, &loss, &right, &answers);
    }
    *out = (struct strait_score){
        .loss = loss / (double)answers,
        .accuracy = l->network->has_accuracy ? (double)right / (double)answers : NAN,
        .n = answers};
}

/* The share of right answers on the examples of one label; NAN: there are none. */
static double accuracy_of_label(struct strait_learner *x, const float *w, long n, unsigned label)
{
    const struct strait_learn *l = x->learn;
    struct strait_batch batch = {.examples = x->examples, .held_out = true, .worker = -1};
    double loss = 0;
    long right = 0, answers = 0;
    for (long at = 0; at < n; at++) {
        if (l->held_out_labels[at] == label)
            x->examples[batch.n++] = (uint32_t)at;
        if (batch.n < SCORE_BATCH && (batch.n == 0 || at + 1 < n))
            continue;
        l->network->score(x, w, &batch, &loss, &right, &answers);
        batch.n = 0;
    }
    return answers > 0 ? (double)right / (double)answers : NAN;
}

bool strait_learner_evaluate_workers(struct strait_learner *x, const float *w, long n,
                                     double *accuracy)
{
    const struct strait_learn *l = x->learn;
    const struct strait_split *s = &l->split;
    double *of_label = calloc(l->n_labels, sizeof(*of_label));
    assert(strait_learn_is_uneven(l));
    for (unsigned label = 0; of_label && label < l->n_labels; label++)
        of_label[label] = accuracy_of_label(x, w, n_scored(l, n), label);
    for (int k = 0; of_label && k < l->n_workers; k++) {
        double sum = 0;
        uint32_t n_known = 0;
        for (uint32_t i = s->first[k]; i < s->first[k + 1]; i++) {
            const double known = of_label[l->labels[s->examples[i]]];
            sum += isnan(known) ? 0 : known;
            n_known += isnan(known) ? 0 : 1;
        }
        accuracy[k] = sum / n_known; /* of none: NAN */
    }
    const bool fits = of_label != NULL;
    free(of_label);
    return fits;
}

bool strait_learner_factors(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                            const float **a, const float **g)
{
    const struct strait_learn_network *network = x->learn->network;
    return network->factors && network->factors(x, param, d_in, d_out, a, g);
}
