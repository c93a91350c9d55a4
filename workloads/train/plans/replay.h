/* What error bounds would have cost in bits in a recorded run of adaptive bounds: from other runs
 * and from the errors of this one, which are its state; of its bits none is looked at. */
#pragma once
#include "traces/curves.h"
#include "allocation.h"

/** Bits of the order-0 entropy of a uniform quantiser with bins of 2 bound, and its rms error, both
 *  for generalised Gaussian values of rms 1: density ~ exp(-|x / a|^shape); shape 2 is normal, 1
 *  Laplacian, less is more peaked.
 *  In:      shape 0.3 .. 2, bound 1e-3 .. 10 of the rms */
void strait_quantised(double *bits, double *rel_error, double shape, double bound);
/** The shape at which a quantiser with this bound takes so many bits; within [0.3, 2]. */
double strait_shape_of_bits(double bits, double bound);

enum { STRAIT_REPLAY_N_FIT = 5 };
struct strait_replay {
    const struct strait_curves *curves;
    const struct strait_curve *judged;
    double fit[STRAIT_REPLAY_N_FIT];     /* of updates: see strait_replay_fit */
    struct strait_allocation allocation; /* of parameters */
};
/** Make ready to judge one recorded adaptive run; borrows both. Of updates, least squares over all
 *  other adaptive runs of updates of log(bits) = f0 + f1 log(bits of fixed) + f2 log(error of
 *  fixed) + f3 log(error) + f4 log(error), where `fixed` is the run of the same clients and seed
 *  with bound 0.03 of the range, whose rounds are averaged with three on either side, and the run's
 *  own errors are the round's (f3) and averaged with one on either side (f4).
 *  Returns: 0, or -1 with *err INPUT when a run is missing
 *  Source:  own */
int strait_replay_fit(struct strait_replay *out, const struct strait_curves *curves,
                      const struct strait_curve *judged, struct strait_error *err);
/** Bits a value in a round (0 is first) at a bound in units of the update's rms. Of updates: what
 *  the fit says at the recorded rule's bound gives the values' shape, shape and bound the bits. Of
 *  parameters: the line in (log error, bits) through the runs of fixed bounds of the same round, at
 *  the round's error, which is proportional to the bound; plus what another bound for each tensor
 *  costs (allocation.h). */
double strait_replay_bits(const struct strait_replay *r, int round, double bound);
