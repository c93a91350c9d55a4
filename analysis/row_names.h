/* Labels of many rows side by side: equal for equal settings and codecs, different for all others,
 * and no longer than it takes to tell them apart. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include "core/error.h"

struct strait_names;

/** Name the settings and codecs of rows.
 *  Out:     out   free with strait_names_free
 *  In:      rows  array of rows, pairs of a comparison or the like: what has "labels" and codecs.
 *                 Borrowed, and needed until the names are freed
 *  Returns: 0, or -1 with *err NOMEM */
int strait_names_new(struct strait_names **out, const json_t *rows, struct strait_error *err);
void strait_names_free(struct strait_names *n);

/* The name of one of the given rows; borrowed from the names. */

/** All varied values but clients and codec: "server rate 1 Gbps, decode cores 16"; "" for none. */
const char *strait_names_setting(const struct strait_names *n, const json_t *row);
/** "sz 1e-3"; where another codec of the rows has the same label, with what they differ in:
 *  "sz 1e-3 cutoff=512". */
const char *strait_names_codec(const struct strait_names *n, const json_t *row);

/** The axes of the settings, for tables that have a column for each. An object that is varied as a
 *  whole counts as the places in which its values differ. */
size_t strait_names_n_axes(const struct strait_names *n);
const char *strait_names_axis(const struct strait_names *n, size_t axis);
/** The row's value on an axis: a new string, to be freed; "-" where it has none. */
char *strait_names_value(const struct strait_names *n, size_t axis, const json_t *row);
