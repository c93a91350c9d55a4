/* A results folder: results.jsonl, one line with a checksum a record. A killed run leaves it
 * valid. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

#define STRAIT_RESULTS_SCHEMA "strait-results/1"
#define STRAIT_RESULTS_FILE   "results.jsonl"

/* Every line is one compact JSON object whose last member is "check": the checksum of the line as
 * it would be without that member. A line whose checksum is wrong is ignored. */
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
/** Close. Removes the folder if it was made here and nothing was written. */
void strait_store_free(struct strait_store *s);

/** In a forked child: close its copy of the file. The parent keeps the lock. */
void strait_store_leave(struct strait_store *s);

/** The record that opens a run; it is written together with the first row, or never.
 *  In:      header  borrowed: copied */
int strait_store_begin(struct strait_store *s, const json_t *header, struct strait_error *err);
/** What the profile of that header has "as", where it is not inside: compact JSON, which the file
 *  gets and nobody here parses; strait_store_header then lacks it. Borrowed until a record is
 *  added. */
void strait_store_profile(struct strait_store *s, const char *as);
/** Append one record, which has a "record" and, for a row, a "key" and "valid". It is on the disk
 *  when this returns 0; on failure (a full disk) the file is as it was before.
 *  In:      record  borrowed */
int strait_store_add(struct strait_store *s, const json_t *record, struct strait_error *err);

/** The last valid record of this kind ("row", "break-even") with this key, or NULL; borrowed. */
const json_t *strait_store_find(const struct strait_store *s, const char *record, const char *key);
/** All valid records, in the order of the file; borrowed. Of rows and other keyed records only the
 *  last one of each key. */
const json_t *strait_store_records(const struct strait_store *s);
/** The rows of the latest run of each backend and control, INVALID ones included: a new array of
 *  new rows. A header's "runs" is [{"backend", "control", "keys": [...], "labels": {key: labels,
 *  where this run has others than the row}}]; its "sweep", and of its "experiment" what was "set",
 *  if anything, stand in each of its rows. */
json_t *strait_store_rows(const struct strait_store *s);
/** The last header, or NULL. */
const json_t *strait_store_header(const struct strait_store *s);
/** Number of lines that were ignored as invalid when the store was opened. */
size_t strait_store_n_refused(const struct strait_store *s);
/** Whether anything was written since it was opened. */
bool strait_store_written(const struct strait_store *s);
const char *strait_store_path(const struct strait_store *s); /* of results.jsonl */

/** The line for a record: checksum and newline included; free it. NULL when memory runs out. */
char *strait_store_line(const json_t *record, size_t *len_bytes);
/** The record of a line without its newline, or NULL when it is not valid. */
json_t *strait_store_read_line(const char *line, size_t len_bytes);
