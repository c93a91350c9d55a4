/* Points with settings of their own, each run by itself: tests/golden/rows/NAME.json has a base and
 * a list of settings, NAME.fluid the rows of those that run (golden_rows.h), NAME.txt what is said
 * to the others. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "tests/kit/program.h"

/** Write the base of NAME.json as e.json into the folder; returns the list of settings, borrowed
 *  from *all, which the caller releases. */
const json_t *golden_base(json_t **all, const struct program *p, const char *name);
/** What a command prints, or where it fails says, to be freed: in a process of its own, in the
 *  folder. args ends with NULL; sets, or NULL: values of --set. */
char *golden_called(int *status, const struct program *p, int (*command)(int, char **),
                    const char *const *args, const json_t *sets);
/** Hold a text against the lines of a file, or write them. */
void golden_text(const char *name, char *text, bool writes);
/** All points of NAME.json, on fluid. */
void golden_points_of(const char *name);
