/* A sender's memory of one tensor between rounds: the residual of error feedback, the momentum of
 * momentum correction, and the state of a STATEFUL codec. Works with any codec. */
#pragma once
#include "codec.h"

/* Error feedback, per round with new values x (a gradient or an update):
 *     v <- v + x;  encode v, decode to y;  v <- v - y
 * with momentum correction (DGC, Lin et al. 2018, section 3):
 *     u <- momentum u + x;  v <- v + u;  encode v, decode to y;  v <- v - y
 * and if the codec is SPARSE, u <- 0 at every element that was sent (momentum factor masking). With
 * momentum but no residual, u itself is encoded. With a decay v <- decay v before all that: the
 * residual of SparseLoCo, and the momentum of DeMo, are this. Values that are not finite are
 * encoded as they are and change neither v nor u. */
struct strait_feedback_options {
    bool residual;
    double momentum; /* below 1; 0: none */
    double decay;    /* of the residual, up to 1; 0 means 1 */
};

struct strait_feedback;

/** Create the memory of one tensor of n_elems values on one rank; opens its own codec state if the
 *  codec is STATEFUL. With both options off and no state it encodes x unchanged.
 *  In:      params  as for ops->open
 *  Returns: NULL with *err: NOMEM, or the codec's error */
struct strait_feedback *strait_feedback_new(const struct strait_codec_ops *ops,
                                            const double *params, size_t n_elems,
                                            struct strait_feedback_options options,
                                            struct strait_error *err);
void strait_feedback_free(struct strait_feedback *m);
/** As ops->encode, of x[n_elems] plus what is remembered; then updates the memory. `coder` is used
 *  unless the codec is STATEFUL.
 *  Cost:    encode, and a pass over the tensor for what is added; for what is taken off the values
 *           that were sent where the codec can tell them (`sent`), else decode and a pass; no
 *           allocation */
int strait_feedback_encode(struct strait_feedback *m, const struct strait_coder *coder,
                           unsigned char *out, size_t cap_bytes, size_t *len_bytes, const float *x,
                           size_t n_elems, struct strait_request request, struct strait_error *err);
/** The norm of what the next call would encode of x[n_elems], without a momentum: what ranks agree
 *  on before it (struct strait_request). Changes nothing that is remembered. */
float strait_feedback_norm(struct strait_feedback *m, const float *x, size_t n_elems);
/** Set residual and momentum to 0 and reopen the codec's state. */
int strait_feedback_reset(struct strait_feedback *m, struct strait_error *err);
/** The residual, float32[n_elems], borrowed; NULL when there is none. */
const float *strait_feedback_residual(const struct strait_feedback *m);
