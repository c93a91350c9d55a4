/* A measured curve, interpolated and extrapolated in log-log space, so that powers of x are
 * exact. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include "core/error.h"

struct strait_measured {
    double *x, *y; /* x ascending, all above 0 */
    size_t n;      /* 0: no curve */
};

/** Read a table of two columns.
 *  In:      header  "row_bytes,efficiency"
 *           where   the experiment's key, for the error if the file cannot be read
 *           most    largest allowed y
 *  Returns: 0, or -1 with *err INPUT; release in either case */
int strait_measured_load(struct strait_measured *out, const char *path, const char *header,
                         double most, const char *where, struct strait_error *err);
/** The same from an array of pairs: [[64, 0.2], [128, 0.35]]. */
int strait_measured_read(struct strait_measured *out, const json_t *pairs, double most,
                         const char *where, struct strait_error *err);
void strait_measured_release(struct strait_measured *m);
/** y at x > 0; a single point gives a constant. */
double strait_measured_at(const struct strait_measured *m, double x);
