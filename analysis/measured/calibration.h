/* Measure a profile for one experiment on this machine. */
#pragma once
#include "codecs/profile/profile.h"
#include "workloads/ask/experiment.h"

/* How often each work is timed at least, and for how long, in a pass. A shared host can be slower
 * by half for seconds, so all work is measured in several passes, of which a codec's fastest
 * counts. */
struct strait_calibration_effort {
    size_t n_passes, n_repeats;
    double min_s;
};
/** Three passes of 20 times and 0.5 s: what predictions rest on. Less suits tests that do not look
 *  at speeds. */
extern const struct strait_calibration_effort strait_calibration_full;

/** Measure every codec and bound that the points of a sweep use or may use, on this machine, for
 *  the kinds of tensors that are sent, on other recordings than those that are sent (the held-out
 *  set of traces/tensor_fill.h), tiled to the model's own shapes.
 *  Returns: 0 with a profile to free with strait_profile_free, or -1 with *err
 *  Cost:    a few seconds a codec and bound */
int strait_calibrate_for(struct strait_profile **out, const struct strait_sweep *sweep,
                         const struct strait_calibration_effort *effort, struct strait_error *err);
/** The same for what an earlier profile lacks; its entries stay as they are.
 *  Out:     n_missing  codecs, bounds and speeds of memory that it lacks
 *  In:      effort     NULL: count only */
int strait_calibrate_missing(struct strait_profile *p, size_t *n_missing,
                             const struct strait_sweep *sweep,
                             const struct strait_calibration_effort *effort,
                             struct strait_error *err);
