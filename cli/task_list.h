/* The output of `strait list tasks`. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** Append an object for each task of "training", with its own keys, to `out`.
 *  Returns: 0, or -1 with *err */
int strait_task_rows(json_t *out, struct strait_error *err);
/** Print these rows as two tables on stdout: tasks, and their own keys. */
void strait_task_rows_print(const json_t *rows);
