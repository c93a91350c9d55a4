/* The factors of K-FAC of a whole task, as triangles (layers/kronecker.h): of each layer that has
 * them A and then G, in the order of layers. */
#pragma once
#include "learner.h"
#include "learn/layers/kronecker.h"

/* A layer with factors. */
struct strait_factor_layer {
    size_t d_in, d_out;     /* A is d_in x d_in, with the bias' 1; G is d_out x d_out */
    size_t a, g;            /* where their triangles begin */
    size_t weight, bias;    /* the parameters' first elements in the flattened model */
    size_t param, n_inputs; /* number of the weight's tensor; inputs without the 1 */
    bool has_bias;
};

/** Whether gradients of this task can leave factors. */
bool strait_task_has_factors(const char *task);
/** Elements of all triangles; 0: the optimiser is not K-FAC, or no layer has factors. */
size_t strait_learn_n_factor_elems(const struct strait_learn *l);
/** False: this layer, numbered as in a model's table, has none. */
bool strait_learn_factor_layer(const struct strait_learn *l, size_t layer,
                               struct strait_factor_layer *out);
/** The triangles of the last gradient. Out: strait_learn_n_factor_elems */
void strait_learner_triangles(struct strait_learner *x, float *triangles);
/** Bytes that K-FAC adds to one worker: triangles of its own, their averages, their inverses, a
 *  model of directions, a gradient, and the work on the largest. */
size_t strait_learn_kfac_bytes(const struct strait_learn *l);
