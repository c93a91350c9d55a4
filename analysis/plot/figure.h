/* A figure of any question: what is drawn where, as data, and drawing it by gnuplot. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

enum strait_figure_kind {
    STRAIT_FIGURE_LINES,
    STRAIT_FIGURE_HEAT,     /* x across, the series upward, the number as colour */
    STRAIT_FIGURE_PHASES,   /* stacked seconds on the critical path */
    STRAIT_FIGURE_RESIDUALS /* predicted over measured, less 1 */
};

/* A question. Pointers name settings or numbers (columns.h); strings are borrowed. */
struct strait_figure_question {
    enum strait_figure_kind kind;
    const char *x;        /* NULL: strait_figure_x */
    const char *const *y; /* n_y numbers, a panel each; none: /round_s */
    size_t n_y;
    const char *series;        /* NULL: all that is varied beside x and the facets */
    const char *const *facets; /* n_facets of them */
    size_t n_facets;
    bool panels;              /* where lines are too many, settings make panels of their own */
    const char *log;          /* "x", "y", "x,y", "none"; NULL: where values span that much */
    const char *const *where; /* filters, of which the figure tells */
    size_t n_where;
};

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

/** The default of the x axis: clients if they vary, else the first number that varies, else the
 *  first setting that does. Borrowed from the columns. */
const char *strait_figure_x(const json_t *columns);

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
