/* "training" of an experiment: which task, how it is split over workers, which optimiser. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "core/json.h"
#include "core/param.h"

enum strait_optimiser_kind { STRAIT_SGD, STRAIT_ADAM, STRAIT_ADAMW, STRAIT_LAMB, STRAIT_KFAC };
enum { STRAIT_TRAINING_MAX_OPTIONS = 12 };

struct strait_training {
    const char *task;                            /* a name of strait_learn_tasks */
    double options[STRAIT_TRAINING_MAX_OPTIONS]; /* the task's own keys, in its table's order */
    int batch;                                   /* examples a step of one rank */
    enum strait_optimiser_kind optimiser;
    bool nesterov; /* SGD alone */
    double lr, momentum, beta1, beta2, epsilon, weight_decay;
    double damping, factor_decay, kl_clip; /* K-FAC alone */
    bool keep_state;   /* federated: the optimiser's state lives over rounds, or begins anew */
    double alpha;      /* Dirichlet over labels; INFINITY: shuffled evenly */
    long samples;      /* of the training set, its first; 0: all */
    int eval_every;    /* rounds; 0: at the end alone */
    long eval_samples; /* of the held-out set, its first; 0: all */
    bool charge_eval;  /* evaluation costs time on rank 0 */
};

/** Read "training" from o, which holds it. Knows all of its keys and refuses others.
 *  Returns: 0, or -1 with *err INPUT */
int strait_training_read(struct strait_training *t, struct strait_object *o,
                         struct strait_error *err);

/** Names of optimisers in the order of the enum, NULL-terminated. */
const char *const *strait_optimiser_names(void);

/* A task that can be trained. */
struct strait_learn_task_info {
    const char *name, *summary;
    const char *package; /* of Debian, that has the data; NULL: none needed */
    const char *model;   /* that ships with these parameters; NULL: it has the task's name */
    const struct strait_param *params;
    size_t n_params;
};

/** Task number i in the order of `list tasks`, or NULL after the last: for documents and errors. */
const struct strait_learn_task_info *strait_learn_task(size_t i);
