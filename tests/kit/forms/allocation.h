/* Parameters coded under bounds in units of their updates cost more bits, at the same error of the
 * whole model, than under bounds in units of their ranges. The difference is measured on the
 * recorded tensors of the small CNN, whose training is that of the recorded curves except for its
 * batch. */
#pragma once
#include "core/error.h"

enum { STRAIT_N_RANGE_BOUNDS = 5, STRAIT_N_SNAPSHOTS = 3 };
extern const double STRAIT_RANGE_BOUNDS[STRAIT_N_RANGE_BOUNDS]; /* of the range, rising: recorded */

/* At one bound: order-0 entropy in bits a value, and rms error relative to that of the update. */
struct strait_rate_point {
    double bits, error;
};
/** Bits at an error, linearly in log(error) through the two nearest points, or the outermost two;
 *  points have rising error. */
double strait_rate_at(const struct strait_rate_point points[STRAIT_N_RANGE_BOUNDS], double error);

struct strait_allocation {
    double bits[STRAIT_N_SNAPSHOTS]; /* above the line, a value */
};
/** Quantise every tensor of the three recorded snapshots: parameters after the local steps, with
 *  bins of 2 par sqrt(3) rms(its update), and with bins of every range bound.
 *  Errors:  INPUT when a recording is missing, NOMEM */
int strait_allocation_measure(struct strait_allocation *out, double par, struct strait_error *err);
/** The value for a round (from 0) of 24 local steps: interpolated between snapshots. */
double strait_allocation_bits(const struct strait_allocation *a, int round);
