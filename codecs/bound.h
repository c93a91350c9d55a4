/* Turning a bound into an absolute error for one tensor: its finite range and rms, in double. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codec.h"
#include "core/host.h"

struct strait_extent {
    double min, max; /* over the finite values; 0, 0 if there are none */
    size_t n_finite;
    bool all_finite;
};

/** Range of the finite values.
 *  Cost:    one vectorised pass; a second one if some values are not finite */
struct strait_extent strait_extent_of(const float *x, size_t n_elems);
/** The same with the vector instructions of this level, which the machine must support. */
struct strait_extent strait_extent_at(enum strait_simd level, const float *x, size_t n_elems);
/** Root mean square of the finite values, summed in eight interleaved lanes. */
double strait_rms_of(const float *x, size_t n_elems);
/** The l2 norm with values that are not finite as 0, at most the largest float; summed in double in
 *  such lanes. The same bits on every machine. */
float strait_norm_of(const float *x, size_t n_elems);
/** The bound as an absolute error, from the extent that strait_extent_of found. */
double strait_bound_within(struct strait_bound bound, const struct strait_extent *extent,
                           const float *x, size_t n_elems);
/** Check a bound; every `encode` begins with this. 0, or -1 with *err INPUT naming codec and
 *  bound. */
int strait_bound_check(struct strait_bound bound, const struct strait_codec_ops *ops,
                       struct strait_error *err);
