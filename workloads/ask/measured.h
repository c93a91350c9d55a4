/* A curve that somebody measured: a table of points, and between them straight lines in logarithms,
 * so that powers of x are exact. The first and the last line go on beyond the ends. */
#pragma once
#include <stddef.h>
#include "core/error.h"

struct strait_measured {
    double *x, *y; /* x ascending, all above 0 */
    size_t n;      /* 0: there is none */
};

/** Read a table of two columns.
 *  In:      header  "row_bytes,efficiency"
 *           where   of the experiment's key, for a file that cannot be read
 *           most    largest y
 *  Returns: 0, or -1 with *err INPUT; release in either case */
int strait_measured_load(struct strait_measured *out, const char *path, const char *header,
                         double most, const char *where, struct strait_error *err);
void strait_measured_release(struct strait_measured *m);
/** y at x > 0; a single point is the same everywhere. */
double strait_measured_at(const struct strait_measured *m, double x);
