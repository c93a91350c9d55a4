/* Axes of figures: a number's name, unit and scale, or categories. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/** The axis of a pointer whose values are these.
 *  In:      values  array of what stands there, in the order of rows, with repetitions
 *           logs    1: logarithmic, 0: not, -1: where all are above 0 and span a factor of 16
 *  Returns: new AXIS of figure.h with "unit" (of what is written with one, else null) and
 *           "scale" */
json_t *strait_plot_axis(const char *pointer, const json_t *values, int logs);
/** The same with each value as a category, numbers in their order. */
json_t *strait_plot_categories(const char *pointer, const json_t *values);
/** Where a value stands on it: a number in the axis's unit or the index of a category; NAN: it has
 *  none. */
double strait_plot_axis_at(const json_t *axis, const json_t *value);
