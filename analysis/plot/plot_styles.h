/* How curves are drawn: a colour a codec, a dash and a point a bound. */
#pragma once
#include <stdio.h>
#include "analysis/grid.h"

enum strait_plot_drawing { STRAIT_PLOT_LINE, STRAIT_PLOT_DOTS, STRAIT_PLOT_BOTH };

struct strait_plot_style {
    const char *color;
    size_t dash, point;
    double size; /* of points; 0: 1.2 */
    size_t turn; /* of dots: 0 filled, 1 hollow, else of lines */
};

/** A style for each codec of a grid, all different up to 175 of them, as dots up to 91: a new
 *  array, to be freed; NULL when memory ran out. Without compression: black. Where there are few
 *  enough, codecs that differ in their bound alone share a colour. */
struct strait_plot_style *strait_plot_styles(const struct strait_grid *g);
/** Style i of 35 that differ, for what are no codecs. */
struct strait_plot_style strait_plot_style_at(size_t i);
/** " with lines ..." */
void strait_plot_put_style(FILE *out, const struct strait_plot_style *style,
                           enum strait_plot_drawing drawing);
