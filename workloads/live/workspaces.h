/* Workspaces for training: a learner, an optimiser and memory for two models. A process has one for
 * each rank that works at the same time, whatever the number of ranks. */
#pragma once
#include "learn/learner.h"
#include "learn/optimiser.h"

struct strait_workspace {
    struct strait_learner *learner;
    struct strait_optimiser *optimiser; /* begins anew whenever it is used */
    float *w, *gradient;                /* n_elems each */
    struct strait_workspace *next;      /* spare */
};
struct strait_workspaces;

/** Empty at first: one is made when none is spare. May be shared across fork before that. */
int strait_workspaces_new(struct strait_workspaces **out, const struct strait_training *t,
                          const struct strait_learn *l, struct strait_error *err);
void strait_workspaces_free(struct strait_workspaces *all);
/** One whose learner is this worker's; NULL with *err. Any thread may call. */
struct strait_workspace *strait_workspace_take(struct strait_workspaces *all, int worker,
                                               struct strait_error *err);
void strait_workspace_give(struct strait_workspaces *all, struct strait_workspace *taken);
/** Bytes of one: for plans before a run. */
size_t strait_workspace_bytes(const struct strait_training *t, const struct strait_learn *l);

/** Local training from x->w, in place: n_steps minibatches from number `step` on.
 *  In:      o  the optimiser; NULL: x->optimiser, which begins anew
 *  Returns: the mean loss, 0 steps: NAN; as soon as a minibatch's is not finite, that one */
double strait_workspace_train(struct strait_workspace *x, struct strait_optimiser *o, uint64_t step,
                              int n_steps, size_t n_elems);
