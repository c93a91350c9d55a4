/* What a figure is asked for. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

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

/** The default of the x axis: clients if they vary, else the first number that varies, else the
 *  first setting that does. Borrowed from the columns. */
const char *strait_figure_x(const json_t *columns);
