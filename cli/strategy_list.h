/* What `strait list strategies` shows. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** Everything that is to be said of each strategy: an object each, appended to `out`.
 *  Returns: 0, or -1 with *err set */
int strait_strategy_rows(json_t *out, struct strait_error *err);
/** These rows as a table of at most 120 columns on stdout. */
void strait_strategy_rows_print(const json_t *rows);
/** One row with all of its parameters, on stdout. */
void strait_strategy_row_print(const json_t *row);
