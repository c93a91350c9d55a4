/* What error bounds would have cost in bits in a recorded run of adaptive bounds, from other runs
 * alone: of the run itself its clients, its seed and what is coded, and none of its figures. */
#pragma once
#include "../traces/curves.h"

/** Bits of the order-0 entropy of a uniform quantiser with bins of 2 bound, and its rms error, both
 *  for generalised Gaussian values of rms 1: density ~ exp(-|x / a|^shape); shape 2 is normal, 1
 *  Laplacian, less is more peaked.
 *  In:      shape 0.3 .. 2, bound 1e-3 .. 10 of the rms */
void strait_quantised(double *bits, double *rel_error, double shape, double bound);
/** The shape at which a quantiser with this bound takes so many bits; within [0.3, 2]. */
double strait_shape_of_bits(double bits, double bound);

struct strait_replay {
    const struct strait_curves *curves;
    const struct strait_curve *judged;
    double fit[3]; /* of updates: see strait_replay_fit */
};
/** Make ready to judge one recorded adaptive run; borrows both. Of updates, least squares over all
 *  other adaptive runs of updates of log(bits) = f0 + f1 log(bits of fixed) + f2 log(error of
 *  fixed), where `fixed` is the run of the same clients and seed with bound 0.03 of the range,
 * whose rounds are averaged with their neighbours (but for the first, before which all runs are
 * equal). Returns: 0, or -1 with *err INPUT when a run is missing Source:  own */
int strait_replay_fit(struct strait_replay *out, const struct strait_curves *curves,
                      const struct strait_curve *judged, struct strait_error *err);
/** Bits a value in a round (0 is first) at a bound in units of the update's rms. Of updates: what
 *  the fit says at the recorded rule's bound gives the values' shape, shape and bound the bits. Of
 *  parameters: the line in (log error, bits) through the runs of fixed bounds of the same round, at
 *  the error bound / sqrt(3). */
double strait_replay_bits(const struct strait_replay *r, int round, double bound);
