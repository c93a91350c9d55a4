/* What a bound means for one tensor: its finite range and rms, in double. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codec.h"
#include "core/simd.h"

struct strait_extent {
    double min, max; /* over the finite values; 0, 0 where there are none */
    size_t n_finite;
    bool all_finite;
};

/** Cost: one vectorised pass; a second one only where values are not finite. */
struct strait_extent strait_extent_of(const float *x, size_t n_elems);
/** The same with the vector instructions of this level, which the machine must have. */
struct strait_extent strait_extent_at(enum strait_simd level, const float *x, size_t n_elems);
/** Root of the mean square over the finite values, summed in eight interleaved lanes. */
double strait_rms_of(const float *x, size_t n_elems);
/** The absolute bound, given what strait_extent_of found. */
double strait_bound_within(struct strait_bound bound, const struct strait_extent *extent,
                           const float *x, size_t n_elems);
/** 0, or -1 with *err INPUT naming codec and bound: the check that every `encode` begins with. */
int strait_bound_check(struct strait_bound bound, const struct strait_codec_ops *ops,
                       struct strait_error *err);
