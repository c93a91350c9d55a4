/* Measure what codecs cost and save on this machine, as a profile. Reads no file and no wall clock;
 * tensors and texts come from the caller. */
#pragma once
#include <stddef.h>
#include "profile.h"

struct strait_calibration_tensor {
    const float *x; /* borrowed; its pages are faulted in before anything is timed */
    size_t n_elems;
    unsigned n_dims;
    size_t n_rows;       /* as a matrix; 0: a vector */
    const char *kind;    /* "param", "update", "grad", "change" */
    const float *before; /* "change": what x was a round ago, which receivers have decoded */
};

struct strait_calibration_case {
    struct strait_codec_spec spec; /* bounded codecs: with a bound */
};

struct strait_calibration {
    const char *title, *machine, *date, *version, *source;
    const struct strait_calibration_tensor *tensors;
    size_t n_tensors;
    const struct strait_calibration_case *cases;
    size_t n_cases;
    unsigned n_repeats; /* the median of so many is taken, each tensor on its own; at most 15 */
};

/** Measure every case: an entry for each kind of tensor that occurs, and one of kind "any" over
 *  all but changes. A lossy codec is measured on the tensors that strait_slice_lossy picks, a
 *  lossless one on all. Of a change the difference from the decoded values of before is
 *  coded, within the bound of the weights themselves, by the codecs that may: those with bounds but
 *  POINTWISE and RATIO, without memory. Error feedback, momentum and the state of a STATEFUL codec
 *  are each tensor's own, and their cost is part of encode. Time is CPU time (core/clock.h). Every
 *  repeat goes through all tensors before it measures one again, each with its own buffers, so
 *  that the caches are as cold as in a training run. The fixed cost is the median, over long
 *  tensors, of the intercept of the line through the times of the first 2048 values and of the
 *  whole tensor; the speed is then the one at which the sums of predicted and measured times agree.
 *  Returns: 0 with a profile to free with strait_profile_free, or -1 with *err
 *  Cost:    n_repeats times all cases; memory of three times the tensors */
int strait_calibrate(struct strait_profile **out, const struct strait_calibration *c,
                     struct strait_error *err);
