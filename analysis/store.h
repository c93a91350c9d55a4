/* A results folder: results.jsonl, one checked line a record, that a killed run leaves whole. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

#define STRAIT_RESULTS_SCHEMA "strait-results/1"
#define STRAIT_RESULTS_FILE   "results.jsonl"

/* Every line is one compact JSON object whose last member is "check": the checksum of the line as
 * it would be without that member. A line that fails it is as if it had never been written. */
struct strait_store;

/** Open a folder's results.
 *  Out:     out     free with strait_store_free
 *  In:      folder  made with its parents where missing, if for_writing
 *           for_writing  take the lock of the folder, and cut a half-written end off
 *  Returns: 0, or -1 with *err: INPUT when there are no results to read or they are of another
 *           schema, BACKEND when another process writes there, SYSTEM
 */
int strait_store_open(struct strait_store **out, const char *folder, bool for_writing,
                      struct strait_error *err);
/** Close; a folder that was made for nothing is removed again. */
void strait_store_free(struct strait_store *s);

/** In a forked child: let go of the file, and so of the lock, which the parent keeps. */
void strait_store_leave(struct strait_store *s);

/** The record that opens a run; it is written together with the first row, or never.
 *  In:      header  borrowed: copied */
int strait_store_begin(struct strait_store *s, const json_t *header, struct strait_error *err);
/** Append one record, which has a "record" and, for a row, a "key" and "valid". It is on the disk
 *  when this returns; when it cannot be (a full disk), the file is as long as it was before.
 *  In:      record  borrowed */
int strait_store_add(struct strait_store *s, const json_t *record, struct strait_error *err);

/** The last valid record of this kind ("row", "break-even") with this key, or NULL; borrowed. */
const json_t *strait_store_find(const struct strait_store *s, const char *record, const char *key);
/** All records that are to be believed, in the order of the file; borrowed. Of rows and other
 *  keyed records only the last of each key stands. */
const json_t *strait_store_records(const struct strait_store *s);
/** The rows of the latest run of each backend and control, INVALID ones included: a new array of
 *  new rows. A header's "runs" is [{"backend", "control", "keys": [...], "labels": {key: labels,
 *  where this run has others than the row}}]; its "sweep", and of its "experiment" what was "set",
 *  if anything, stand in each of its rows. */
json_t *strait_store_rows(const struct strait_store *s);
/** The last header, or NULL. */
const json_t *strait_store_header(const struct strait_store *s);
/** Lines that were not believed when the store was opened. */
size_t strait_store_n_refused(const struct strait_store *s);
/** Whether anything was written since it was opened. */
bool strait_store_written(const struct strait_store *s);
const char *strait_store_path(const struct strait_store *s); /* of results.jsonl */

/** The line for a record: checksum and newline included; free it. NULL when memory runs out. */
char *strait_store_line(const json_t *record, size_t *len_bytes);
/** The record of a line without its newline, or NULL when it is not to be believed. */
json_t *strait_store_read_line(const char *line, size_t len_bytes);
