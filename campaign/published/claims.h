/* Claims of papers, in two halves: less time or fewer bytes, and the same accuracy. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "codecs/profile/profile.h"
#include "core/error.h"

/** Answer every claim of a file of claims (docs/published.md): the first half by the fluid backend
 *  or from results, the accuracy half from results that trained for real.
 *  In:      path       NULL: the shipped one, traces/claims.json
 *           rows       of results folders; NULL: none
 *           n_workers  processes at a time
 *  Returns: a new array, or NULL with *err: INPUT naming the place in the file. Of each claim what
 *           strait_published has of a row, and
 *             first      "holds", "fails", "not measured here"
 *             interval   [least, most] of "ours" at 95 % over seeds, where rows of results have it
 *             accuracy   {state: "kept", "lost", "unclear" (too few seeds),
 *                        "not measured here", "none claimed"; difference,
 *                        interval: [least, most], seeds, task, codec, command that it
 *                        was run by}, ours minus that without; of several tasks of a run the worst
 *             verdict    "reached" where both hold, "not reached" where one fails, "unclear", else
 *                        "not measured here"
 *             commands   what gives each half */
json_t *strait_claims(const char *path, const json_t *rows, const struct strait_profile *profile,
                      int n_workers, struct strait_error *err);
/** Print it as a table. 0, or -1 with *err NOMEM. */
int strait_show_claims(FILE *out, const json_t *claims, struct strait_error *err);
