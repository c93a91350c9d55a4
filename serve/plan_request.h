/* The planner's question from the page: a plan file in a request's body. */
#pragma once
#include <jansson.h>
#include "rows_answer.h"

/* Candidates of one plan here; the command line takes more. */
enum { STRAIT_ASKED_MAX_CANDIDATES = 400 };

/** Answer {"plan": {...}, "any_accuracy": false} (docs/planning.md) as `strait plan --json` does. A
 *  plan may name what ships, but no file; prices stand in it.
 *  Returns: new reference, or NULL with *err INPUT: "plan#/target: expected ..." */
json_t *strait_asked_plan(const struct strait_answers *a, const char *body, size_t len_bytes,
                          struct strait_error *err);
