/* One rank's workspace: batches in, gradients and scores out. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "core/buffer.h"
#include "learn_network.h"

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

void strait_learner_evaluate(struct strait_learner *x, const float *w, long n,
                             struct strait_score *out)
{
    const struct strait_learn *l = x->learn;
    const long most = (long)l->n_held_out, wanted = n > 0 && n < most ? n : most;
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

bool strait_learner_factors(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                            const float **a, const float **g)
{
    const struct strait_learn_network *network = x->learn->network;
    return network->factors && network->factors(x, param, d_in, d_out, a, g);
}
