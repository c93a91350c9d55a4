#include "workspaces.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/buffer.h"

struct strait_workspaces {
    const struct strait_training *training;
    const struct strait_learn *learn;
    pthread_mutex_t mutex;
    struct strait_workspace *spare;
};

int strait_workspaces_new(struct strait_workspaces **out, const struct strait_training *t,
                          const struct strait_learn *l, struct strait_error *err)
{
    struct strait_workspaces *all = calloc(1, sizeof(*all));
    *out = all;
    if (!all)
        return strait_error_memory(err, NULL);
    all->training = t;
    all->learn = l;
    pthread_mutex_init(&all->mutex, NULL);
    return 0;
}

static void free_one(struct strait_workspace *x)
{
    strait_learner_free(x->learner);
    strait_optimiser_free(x->optimiser);
    strait_buffer_free(x->w);
    strait_buffer_free(x->gradient);
    free(x);
}

void strait_workspaces_free(struct strait_workspaces *all)
{
    if (!all)
        return;
    for (struct strait_workspace *x = all->spare, *next; x; x = next) {
        next = x->next;
        free_one(x);
    }
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

static struct strait_workspace *new_one(const struct strait_workspaces *all, int worker,
                                        struct strait_error *err)
{
    const size_t n_bytes = strait_learn_n_elems(all->learn) * sizeof(float);
    struct strait_workspace *x = calloc(1, sizeof(*x));
    if (x) {
        x->w = strait_buffer_new(n_bytes);
        x->gradient = strait_buffer_new(n_bytes);
    }
    if (x && x->w && x->gradient && strait_learner_new(&x->learner, all->learn, worker, err) == 0 &&
        strait_optimiser_new(&x->optimiser, all->training, all->learn, err) == 0)
        return x;
    strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "training does not fit in memory");
    if (x)
        free_one(x);
    return NULL;
}

struct strait_workspace *strait_workspace_take(struct strait_workspaces *all, int worker,
                                               struct strait_error *err)
{
    pthread_mutex_lock(&all->mutex);
    struct strait_workspace *x = all->spare;
    if (x)
        all->spare = x->next;
    pthread_mutex_unlock(&all->mutex);
    if (!x)
        return new_one(all, worker, err);
    strait_learner_use(x->learner, worker);
    return x;
}

void strait_workspace_give(struct strait_workspaces *all, struct strait_workspace *taken)
{
    pthread_mutex_lock(&all->mutex);
    taken->next = all->spare;
    all->spare = taken;
    pthread_mutex_unlock(&all->mutex);
}

size_t strait_workspace_bytes(const struct strait_training *t, const struct strait_learn *l)
{
    const size_t n_elems = strait_learn_n_elems(l);
    return strait_learner_bytes(l) + strait_optimiser_bytes(t, n_elems) +
           2 * strait_buffer_bytes(n_elems * sizeof(float));
}

double strait_workspace_train(struct strait_workspace *x, struct strait_optimiser *o, uint64_t step,
                              int n_steps, size_t n_elems)
{
    double sum = 0;
    if (!o) {
        o = x->optimiser;
        strait_optimiser_reset(o);
    }
    for (int i = 0; i < n_steps; i++) {
        const double loss =
            strait_learner_gradient(x->learner, x->w, step + (uint64_t)i, x->gradient);
        if (!isfinite(loss))
            return loss;
        sum += loss;
        strait_optimiser_begin(o);
        strait_optimiser_step(o, x->w, x->gradient, 0, n_elems);
    }
    return n_steps > 0 ? sum / n_steps : NAN;
}
