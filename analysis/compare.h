/* Predicted against measured, point by point and phase by phase. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

struct strait_compare_options {
    double tolerance_ratio; /* of the measured value */
    double floor_s;         /* a difference below this is always within */
    bool
        is_partial; /* measured is what somebody measured: the rest is left out, all of it judged */
};

/* What is compared; judged: it decides the verdict. */
struct strait_compared {
    const char *name;  /* "encode" */
    const char *group; /* object of the row that holds it, NULL for the row itself; of "busy_s" a
                          mean client's and the server's seconds are added */
    const char *key;   /* NULL: the round without its compute */
    bool judged;
};
const struct strait_compared *strait_compared_phases(size_t *n);

/** Pair the rows of equal resolved points. With b NULL both come from a: emu is measured before
 *  sim, sim before fluid, and the other is predicted. Of repeated rows each phase's median counts.
 *  Out:     new object, or NULL with *err
 *             pairs: [{labels, codec, clients, control, predicted, measured (backends),
 *                      phases: {name: {predicted_s, measured_s, measured_min_s, measured_max_s,
 *                      difference_s, relative, judged, within}}, within}]
 *             refused: [text] of INVALID rows, which are never used
 *             title, set, measured_set: of the rows that were paired; what --set put in on either
 *             side, where it put in anything
 *             within: every pair is, and no point had INVALID rows alone
 *  In:      a, b     arrays of rows, borrowed
 *  Errors:  INPUT when not one pair is found
 */
json_t *strait_compare(const json_t *a, const json_t *b,
                       const struct strait_compare_options *options, struct strait_error *err);
