/* Results as a table: each row with every setting of its resolved point and every number of its
 * own, by JSON Pointer. */
#pragma once
#include <jansson.h>
#include "analysis/store.h"
#include "core/json.h"

/** The columns of rows.
 *  In:      store  whose headers say what the rows answer
 *           rows   of strait_store_rows; borrowed
 *  Returns: new array, an object a row: {
 *             "settings": {pointer: value}, of the resolved point, "/codec" as {"name", ...},
 *             "numbers":  {pointer: value}, of the row, with "/speedup" over no compression (null
 *                         where that is missing); its texts and lists too
 *             "labels":   {pointer: text}, of what is varied as a whole, and of the codecs
 *             "row":      the row}
 *           or NULL with *err: INPUT when a row has no header that says what it answers */
json_t *strait_columns(const struct strait_store *store, const json_t *rows,
                       struct strait_error *err);
/** The header whose experiment a row answers, or NULL; borrowed. */
const json_t *strait_columns_header(const struct strait_store *store, const json_t *row);
/** The resolved point that a row answers, a new reference, or NULL with *err as above. */
json_t *strait_columns_point(const struct strait_store *store, const json_t *row,
                             struct strait_error *err);
/** Look a column up in a row: in its settings, then its numbers, then its labels. Elements of lists
 *  are named by their index. A new reference; NULL: there is none. */
json_t *strait_column(const json_t *columns, const char *pointer);
/** All pointers that some of the columns have: a new array, settings before numbers, each in the
 *  order of the rows. */
json_t *strait_column_names(const json_t *all_columns);
/** The column that a word without a slash, or a pointer's last key, may mean: "/codec" of "codec",
 *  "/path_s/encode" of "encode". False: none. */
bool strait_column_ending(char buf[STRAIT_JSON_POINTER_MAX], const json_t *all_columns,
                          const char *end);
/** Refuse a pointer that no row has, with one that ends alike, or the nearest. -1. */
int strait_column_refuse(const json_t *all_columns, const char *option, const char *pointer,
                         struct strait_error *err);
/** The rows with this value there: "POINTER=VALUE", the value as labels show it or as JSON.
 *  Returns: new array, or NULL with *err: USAGE without "=", INPUT where nothing is left */
json_t *strait_columns_where(const json_t *all_columns, const char *filter,
                             struct strait_error *err);
