/* Inside figures: which settings make panels and lines. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "figure_question.h"

enum { STRAIT_PLOT_MAX_LINES = 12 }; /* in a panel */

/* Pointers by which rows differ, as arrays of texts, and what their values are called, {pointer:
 * {value as JSON: text}}; owned. */
struct strait_plot_places {
    json_t *facets, *series, *texts;
};

/** Choose what makes panels and lines of rows: what is asked for, and beside it all that is varied
 *  and neither follows from it nor from x.
 *  In:      x  the pointer across, and for a heat map none else
 *  Returns: 0, or -1 with *err INPUT for a pointer that no row has */
int strait_plot_places_find(struct strait_plot_places *places, const json_t *columns, const char *x,
                            const struct strait_figure_question *question,
                            struct strait_error *err);
void strait_plot_places_release(struct strait_plot_places *places);
/** The values of a row at these pointers, facets or series, "server rate 1 Gbps, decode cores 16";
 *  of one pointer alone the value; other values have other texts. A new string, or NULL. */
char *strait_plot_places_text(const struct strait_plot_places *places, const json_t *columns,
                              const json_t *pointers, bool titles);
/** Refuse what cannot be read: too many of them, with which filter or facet would help. -1. */
int strait_plot_places_refuse(const json_t *columns, const struct strait_plot_places *places,
                              const char *what, size_t n, size_t limit, struct strait_error *err);
