/* Rows that trained, kept beside the claims that they answer (traces/trained.json): their figures
 * over seeds, without the rounds. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** The command line of a results folder's last run, from its header: "strait run fashion --set
 *  '/seeds=5' --on fluid". A new string. */
json_t *strait_claims_command(const json_t *header);
/** The rows of a file of kept rows, each with the "command" that gave it.
 *  In:      path  NULL: the shipped one
 *  Returns: a new array, or NULL with *err INPUT */
json_t *strait_claims_rows(const char *path, struct strait_error *err);
/** Put rows into a file's content, in the place of those of the same commands.
 *  In:      kept  as read, or NULL: an empty one
 *           rows  with "command"; those that trained with less than two seeds are left out
 *  Returns: the new content */
json_t *strait_claims_keep(const json_t *kept, const json_t *rows);
/** A file's content as text, a line a row; free it. NULL when memory ran out. */
char *strait_claims_text(const json_t *kept);
