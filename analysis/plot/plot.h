/* Pictures by gnuplot: the scaling curve, and predicted against measured. */
#pragma once
#include <jansson.h>
#include "core/error.h"

enum strait_plot_y {
    STRAIT_PLOT_SPEEDUP, /* over no compression; where that is missing, the time */
    STRAIT_PLOT_TIME     /* of a round */
};

/** Draw a curve per codec and bound over the number of clients, a panel per setting.
 *  Out:     <path>.gp (script and data), <path>.png and <path>.svg
 *  In:      path        without ending
 *           rows        array of rows of one backend
 *           breakevens  array of records; of these, curves at every count and crossings; NULL: none
 *           title       the picture's; NULL: the rows'
 *  Returns: 0, or -1 with *err: HOST when gnuplot is missing, INPUT without a valid row */
int strait_plot_scaling(const char *path, const json_t *rows, const json_t *breakevens,
                        enum strait_plot_y y, const char *title, struct strait_error *err);

/** Draw predicted and measured bars of every phase, a panel per pair; above twelve pairs, all of
 *  them as points around the diagonal.
 *  In:      comparison  of strait_compare */
int strait_plot_comparison(const char *path, const json_t *comparison, double tolerance_ratio,
                           const char *title, struct strait_error *err);
