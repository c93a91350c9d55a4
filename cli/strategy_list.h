/* The output of `strait list strategies`. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "core/param.h"

/** Append an object for each strategy, with all its properties, to `out`.
 *  Returns: 0, or -1 with *err */
int strait_strategy_rows(json_t *out, struct strait_error *err);
/** Print these rows as a table of at most 120 columns on stdout. */
void strait_strategy_rows_print(const json_t *rows);
/** Print one row with all its parameters on stdout. */
void strait_strategy_row_print(const json_t *row);
/** An array with an object for each parameter: name, kind, takes, default, doc. */
json_t *strait_param_rows(const struct strait_param *params, size_t n);
