/* A learner: one rank's workspace to compute gradients and scores. Not for several threads at once;
 * several learners of one task may work at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "task.h"

struct strait_learner;

int strait_learner_new(struct strait_learner **out, const struct strait_learn *l, int worker,
                       struct strait_error *err);
void strait_learner_free(struct strait_learner *x);

/** From now on the learner is this worker's. */
void strait_learner_use(struct strait_learner *x, int worker);

/** Mean loss and its gradient over minibatch number `step` of this worker. The batch depends on
 *  seed, worker and step alone; within an epoch no example comes twice.
 *  Out:     gradient  n_elems
 *  In:      w         n_elems
 *  Returns: the loss; NAN or INFINITY where training has diverged */
double strait_learner_gradient(struct strait_learner *x, const float *w, uint64_t step,
                               float *gradient);

/* Stages of a pipeline: examples [from, from + n) of minibatch number `step` in the layers [first,
 * end). Parameters and gradients are those of these layers alone. */
struct strait_learn_part {
    uint64_t step;
    int from, n;
    size_t first, end;
};

/** Values that an example passes on from the layers before `layer`; 0: the task cannot be cut. */
size_t strait_learn_width(const struct strait_learn *l, size_t layer);
/** Which of the worker's examples they are, from 0 on. Out: places n */
void strait_learner_places(struct strait_learner *x, const struct strait_learn_part *part,
                           uint32_t *places);
/** What the part passes on.
 *  Out:     out  n x the width of `end`
 *  In:      in   n x the width of `first`; the first stage takes the data instead */
void strait_learner_forward(struct strait_learner *x, const float *w,
                            const struct strait_learn_part *part, const float *in, float *out);
/** The gradient of the minibatch's mean loss: computes the forward pass again.
 *  Out:     dx        by what came in, n x the width of `first`; NULL: the first stage
 *           gradient  by the parameters, added
 *  In:      dy        by what went out; NULL: the last stage, which takes the labels
 *  Returns: the last stage: these examples' part of the mean loss; else 0 */
double strait_learner_backward(struct strait_learner *x, const float *w,
                               const struct strait_learn_part *part, const float *in,
                               const float *dy, float *dx, float *gradient);

struct strait_score {
    double loss;     /* mean */
    double accuracy; /* share of right answers; NAN where the task has none */
    long n;          /* answers judged */
};
/** Score w on the first n held-out examples; 0: all. */
void strait_learner_evaluate(struct strait_learner *x, const float *w, long n,
                             struct strait_score *out);

/** How w does on data like each worker's: the share of right answers for each label among the first
 *  n held-out examples (0: all), in the worker's own mixture of labels. The split draws a worker's
 *  examples of a label from all of that label, so nothing else tells its data from the others'.
 *  Only where shares of labels differ (strait_learn_is_uneven).
 *  Out:     accuracy  n_workers; NAN where no label of the worker's is among the examples
 *  Returns: false when memory ran out
 *  Source:  a device's accuracy under one model, as Li et al., arXiv 1905.10497, section 4, compare
 *           it, on examples weighted by label where they hold out a part of each device's data */
bool strait_learner_evaluate_workers(struct strait_learner *x, const float *w, long n,
                                     double *accuracy);

/** The factors of K-FAC (Martens and Grosse, arXiv 1503.05671) of the last gradient, for the layer
 *  of parameter tensor `param` of strait_learn_params.
 *  Out:     a  d_in x d_in, mean of inputs' outer products, with a last 1 for a bias
 *           g  d_out x d_out, the same of the loss's derivative by the layer's outputs
 *  Returns: false if the layer has none; a and g live until the next gradient
 *  Source:  convolutions: Grosse and Martens, arXiv 1602.01407, section 3 */
bool strait_learner_factors(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                            const float **a, const float **g);
