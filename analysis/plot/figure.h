/* A figure of any question: what is drawn where, as data, and drawing it by gnuplot. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include "core/error.h"
#include "figure_question.h"

/** The figure that answers a question.
 *  In:      columns  of strait_columns, filtered; borrowed
 *           title    NULL: that of the rows
 *  Returns: new {"kind", "title", "notes": [text], "x", "by": AXIS, "panels": [{"title", "y": AXIS,
 *             "lines": [{"label", "points": [[x, y, low, high]]}]}]}, where an AXIS is {"label",
 *             "log", "names": [text] of categories, which count from 0, else null, "values":
 *             [number] that occur}; low and high are null where nothing is known of a spread;
 *             "by" is of a heat map, whose points are [x, by, value, null];
 *           or NULL with *err: INPUT for a pointer that no row has, where rows share a place, or
 *             where there is more than can be read, with what to do */
json_t *strait_figure(const json_t *columns, const struct strait_figure_question *question,
                      const char *title, struct strait_error *err);

enum strait_figure_style {
    STRAIT_FIGURE_SCREEN, /* 1600 x 1000 */
    STRAIT_FIGURE_PAPER,
    STRAIT_FIGURE_SLIDES /* 13.33 x 7.5 inches, letters for the last row */
};

/** Draw a figure.
 *  Out:     <path>.gp (script and data), <path>.csv (the data) and <path>.EXT for each
 *  In:      ends       "png", "svg", "pdf": n_ends of them
 *           n_columns  of a paper: 1 (3.5 inches wide) or 2 (7.16 inches), as IEEE has them
 *  Returns: 0, or -1 with *err: HOST when gnuplot is missing, SYSTEM */
int strait_figure_draw(const char *path, const json_t *figure, const char *const *ends,
                       size_t n_ends, enum strait_figure_style style, int n_columns,
                       struct strait_error *err);
