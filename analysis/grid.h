/* Rows sorted by setting, codec and number of clients, for tables and plots. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "core/hash.h"
#include "row_names.h"

/* One point with its repeats. */
struct strait_cell {
    const json_t *row; /* the repeat with the median round, of an even number the quicker of the
                          two in the middle; NULL: no such point */
    size_t n_repeats;
    double round_s, round_min_s, round_max_s; /* median and range over the repeats */
    double total_s;                           /* median */
    double speedup; /* over no compression, same setting and clients; NAN where that is missing */
};

/* Labels of both are of the grid's names. */
struct strait_grid_setting {
    char key[STRAIT_KEY_CHARS];
    const char *label;
};

struct strait_grid_codec {
    char key[STRAIT_KEY_CHARS];
    char family[STRAIT_KEY_CHARS]; /* the same for all that differ in their bound alone */
    const char *label;             /* "sz 1e-3 [fast]" */
    bool is_plain;                 /* no compression at all */
};

struct strait_grid {
    struct strait_names *names;
    struct strait_grid_setting *settings;
    struct strait_grid_codec *codecs; /* no compression first */
    long *counts;                     /* of clients, ascending */
    size_t n_settings, n_codecs, n_counts;
    struct strait_cell *cells;
};

/** Sort valid rows into a grid by their places (place.h): rows that share a cell are repeats.
 *  Out:     out   free with strait_grid_free; borrows the rows
 *  In:      rows  array of rows of one backend; INVALID ones are left out
 *  Returns: 0, or -1 with *err: INPUT when no row is left */
int strait_grid_new(struct strait_grid **out, const json_t *rows, struct strait_error *err);
void strait_grid_free(struct strait_grid *g);
const struct strait_cell *strait_grid_cell(const struct strait_grid *g, size_t setting,
                                           size_t codec, size_t count);
/** The break-even record of a setting and codec: the last one, or NULL; borrowed. */
const json_t *strait_grid_breakeven(const struct strait_grid *g, size_t setting, size_t codec,
                                    const json_t *records);
/** The rows of one backend, "" for that of the first row that was predicted, or else emu, with this
 *  control (NULL: none) and, of several profiles, those of the last row's: a new array. */
json_t *strait_rows_select(const json_t *records, const char *backend, const char *control);
