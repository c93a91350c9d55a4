/* Parameters that are coded under bounds in units of their updates: at the same error of the whole
 * model they cost more bits than under bounds in units of their ranges. Measured on the recorded
 * tensors of the small CNN, whose training is that of the recorded curves but for its batch. */
#pragma once
#include "core/error.h"

enum { STRAIT_N_RANGE_BOUNDS = 5, STRAIT_N_SNAPSHOTS = 3 };
extern const double STRAIT_RANGE_BOUNDS[STRAIT_N_RANGE_BOUNDS]; /* of the range, rising: recorded */

/* What a bound gives: order-0 entropy, bits a value; rms error against that of the update. */
struct strait_rate_point {
    double bits, error;
};
/** Bits at an error on the line in (log error, bits) through the two points around it, or the
 *  outermost two; points of rising error. */
double strait_rate_at(const struct strait_rate_point points[STRAIT_N_RANGE_BOUNDS], double error);

struct strait_allocation {
    double bits[STRAIT_N_SNAPSHOTS]; /* more than the line says, a value */
};
/** Quantise every tensor of the three recorded snapshots: parameters after the local steps with
 * bins of 2 par sqrt(3) rms(its update), and with bins of every range bound. Errors:  INPUT when a
 * recording is missing, NOMEM */
int strait_allocation_measure(struct strait_allocation *out, double par, struct strait_error *err);
/** In a round (0 is first) of 24 local steps: between the snapshots before and after it. */
double strait_allocation_bits(const struct strait_allocation *a, int round);
