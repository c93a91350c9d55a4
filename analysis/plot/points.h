/* Inside figures: the points of a line, with what is known of their spread. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Where points come from; borrowed. */
struct strait_points_of {
    const char *x, *by, *y; /* by: upward in a heat map, else NULL */
    const json_t *x_axis, *by_axis, *y_axis;
    const json_t *measured; /* of residuals: all columns, measured ones among them */
};

struct strait_points_count {
    size_t n_shown, n_without, n_invalid, n_repeats;
    bool has_interval, has_seeds;
};

/** Where rows have the 90 % interval of this number, a list of two; NULL: they have none. */
const char *strait_points_interval(const char *y);

/** Add a row's points to a line {"label", "at": {}}. Rows of one point are repeats; others must not
 *  share a place. 0, or -1 with *err INPUT that says in what they differ. */
int strait_points_add(json_t *line, struct strait_points_count *count, const json_t *row,
                      const struct strait_points_of *of, struct strait_error *err);
/** Give the line its "points" instead of "at": [[x, y, low, high]] in the order of x; of a heat map
 *  [x, by, value, null]. */
void strait_points_finish(json_t *line, struct strait_points_count *count);
/** Whether no spread in these finished panels is as wide as points are drawn. */
bool strait_points_are_narrow(const json_t *panels);
