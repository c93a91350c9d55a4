/* A task: its parameters, its data and the split. */
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include "learn_network.h"
#include "task.h"

void strait_learn_free(struct strait_learn *l)
{
    if (!l)
        return;
    l->network->close(l);
    strait_split_release(&l->split);
    free(l->params);
    free(l->names);
    free(l);
}

static int split(struct strait_learn *l, struct strait_error *err)
{
    const struct strait_training *t = &l->training;
    if (!l->labels && !isinf(t->alpha))
        return strait_refuse(err, NULL,
                             "expected \"split\": \"even\", found a Dirichlet split of task %s, "
                             "whose examples have no labels",
                             t->task);
    const uint32_t least = isinf(t->alpha) ? 1 : (uint32_t)t->batch;
    return strait_split_new(&l->split, l->labels, l->n_labels, l->n_train, l->n_workers, t->alpha,
                            least, l->seed, err);
}

int strait_learn_open(struct strait_learn **out, const struct strait_training *t, int n_workers,
                      uint64_t seed, struct strait_error *err)
{
    *out = NULL;
    assert(n_workers > 0);
    openblas_set_num_threads(1); /* the same sums whichever build of OpenBLAS is installed */
    struct strait_learn *l = calloc(1, sizeof(*l));
    if (!l)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a task");
    l->network = strait_learn_network_find(t->task);
    assert(l->network);
    l->training = *t;
    l->n_workers = n_workers;
    l->seed = seed;
    if (l->network->open(l, err) || split(l, err) ||
        (l->network->share && l->network->share(l, err))) {
        strait_learn_free(l);
        return -1;
    }
    *out = l;
    return 0;
}

size_t strait_learn_n_elems(const struct strait_learn *l)
{
    return l->n_elems;
}

const struct strait_learn_param *strait_learn_params(const struct strait_learn *l, size_t *n)
{
    *n = l->n_params;
    return l->params;
}

size_t strait_learn_bytes(const struct strait_learn *l)
{
    return sizeof(*l) + STRAIT_LEARN_MAX_PARAMS * (sizeof(*l->params) + sizeof(*l->names)) +
           sizeof(uint32_t) * (l->n_train + (size_t)l->n_workers + 1) + l->data_bytes;
}

long strait_learn_examples(const struct strait_learn *l, int worker)
{
    assert(worker >= 0 && worker < l->n_workers);
    return (long)(l->split.first[worker + 1] - l->split.first[worker]);
}

double strait_learn_share(const struct strait_learn *l, int worker)
{
    return (double)strait_learn_examples(l, worker) / l->n_train;
}

long strait_learn_held_out(const struct strait_learn *l)
{
    return (long)l->n_held_out;
}

bool strait_learn_is_uneven(const struct strait_learn *l)
{
    return l->held_out_labels && !isinf(l->training.alpha);
}

bool strait_learn_has_accuracy(const struct strait_learn *l)
{
    return l->network->has_accuracy;
}

void strait_learn_init(const struct strait_learn *l, float *w)
{
    l->network->init(l, w);
}
