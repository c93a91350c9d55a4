/* Rows by setting, codec and clients: what tables and pictures are made of. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "label.h"

/* One point with its repeats. */
struct strait_cell {
    const json_t *row; /* the first of the repeats; NULL: no such point */
    size_t n_repeats;
    double round_s, round_min_s, round_max_s; /* median and range over the repeats */
    double total_s;                           /* median */
    double speedup; /* over no compression, same setting and clients; NAN where that is missing */
};

struct strait_grid_codec {
    char label[STRAIT_LABEL_CHARS];  /* "sz 1e-3 [fast]" */
    char family[STRAIT_LABEL_CHARS]; /* without its bound: "sz [fast]" */
    bool is_plain;                   /* no compression at all */
    size_t i_family, i_in_family;
};

struct strait_grid {
    char (*settings)[STRAIT_LABEL_CHARS];
    struct strait_grid_codec *codecs; /* no compression first */
    long *counts;                     /* of clients, ascending */
    size_t n_settings, n_codecs, n_counts;
    struct strait_cell *cells;
};

/** Sort valid rows into a grid.
 *  Out:     out   free with strait_grid_free; borrows the rows
 *  In:      rows  array of rows of one backend; INVALID ones are left out
 *  Returns: 0, or -1 with *err: INPUT when no row is left */
int strait_grid_new(struct strait_grid **out, const json_t *rows, struct strait_error *err);
void strait_grid_free(struct strait_grid *g);
const struct strait_cell *strait_grid_cell(const struct strait_grid *g, size_t setting,
                                           size_t codec, size_t count);
/** The rows of one backend, "" for the one that suits curves best (sim, fluid, emu), with this
 *  control (NULL: none) and, of several profiles, those of the last row's: a new array. */
json_t *strait_rows_select(const json_t *records, const char *backend, const char *control);
