/* What a sender remembers of one tensor between rounds: the residual of error feedback, the
 * momentum of momentum correction, and the state of a codec that is STATEFUL. It wraps any codec.
 */
#pragma once
#include "codec.h"

/* Error feedback, per round with new values x (a gradient or an update):
 *     v <- v + x;  encode v, decode to y;  v <- v - y
 * with momentum correction (DGC, Lin et al. 2018, section 3):
 *     u <- momentum u + x;  v <- v + u;  encode v, decode to y;  v <- v - y
 * and where the codec is SPARSE, u <- 0 at every element that was sent (momentum factor masking).
 * Without residual but with momentum, u itself is encoded. Values that are not finite are neither
 * remembered nor added: they pass through. */
struct strait_memory_options {
    bool residual;
    double momentum; /* 0: none; below 1 */
};

struct strait_memory;

/** Memory of one tensor of n_elems values on one rank; opens a state of its own where the codec is
 *  STATEFUL. Both options off and no state: still valid, then it only passes on.
 *  In:      params  as ops->open takes them
 *  Returns: NULL with *err: NOMEM, or the codec's error */
struct strait_memory *strait_memory_new(const struct strait_codec_ops *ops, const double *params,
                                        size_t n_elems, struct strait_memory_options options,
                                        struct strait_error *err);
void strait_memory_free(struct strait_memory *m);
/** As ops->encode, of x[n_elems] compensated by what is remembered, which is then brought up to
 *  date. `coder` is used where the codec is not STATEFUL.
 *  Cost: encode, decode where there is a residual, and a pass over the tensor; no allocation */
int strait_memory_encode(struct strait_memory *m, const struct strait_coder *coder,
                         unsigned char *out, size_t cap_bytes, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err);
/** Forget: residual and momentum 0, the codec's state as opened. */
int strait_memory_reset(struct strait_memory *m, struct strait_error *err);
/** The residual, float32[n_elems], borrowed; NULL when there is none. */
const float *strait_memory_residual(const struct strait_memory *m);
