/* Predict the bits of a recorded run with adaptive bounds from other runs and from this run's
 * errors; its own recorded bits are not used. */
#pragma once
#include "traces/curves.h"
#include "allocation.h"

/** Order-0 entropy in bits and rms error of a uniform quantiser with bins of 2 bound, for
 *  generalised Gaussian values of rms 1: density ~ exp(-|x / a|^shape); shape 2 is normal, 1
 *  Laplacian, smaller more peaked.
 *  In:      shape 0.3 .. 2, bound 1e-3 .. 10 of the rms */
void strait_quantised(double *bits, double *rel_error, double shape, double bound);
/** The shape for which a quantiser with this bound takes this many bits; within [0.3, 2]. */
double strait_shape_of_bits(double bits, double bound);

enum { STRAIT_REPLAY_N_FIT = 5 };
struct strait_replay {
    const struct strait_curves *curves;
    const struct strait_curve *judged;
    double fit[STRAIT_REPLAY_N_FIT];     /* for updates: see strait_replay_fit */
    struct strait_allocation allocation; /* for parameters */
};
/** Prepare the prediction of one recorded adaptive run; borrows both. For updates, fits by least
 *  squares, over all other adaptive runs of updates,
 *      log(bits) = f0 + f1 log(bits of fixed) + f2 log(error of fixed) + f3 log(error)
 *                  + f4 log(error)
 *  where `fixed` is the run of the same clients and seed with bound 0.03 of the range, averaged
 *  over the round and three on either side, and the run's own errors are the round's (f3) and
 *  averaged with one round on either side (f4).
 *  Returns: 0, or -1 with *err INPUT when a run is missing
 *  Source:  own */
int strait_replay_fit(struct strait_replay *out, const struct strait_curves *curves,
                      const struct strait_curve *judged, struct strait_error *err);
/** Bits a value in a round (from 0) at a bound in units of the update's rms. For updates: the fit
 *  at the recorded rule's bound gives the values' shape, and shape and bound give the bits. For
 *  parameters: linear in log(error) through the runs of fixed bounds of the same round, at the
 *  round's error, which is proportional to the bound; plus the cost of a different bound for each
 *  tensor (allocation.h). */
double strait_replay_bits(const struct strait_replay *r, int round, double bound);
