/* Print a plan's answer. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "core/error.h"

/** Print the result of strait_plan_answer: the recommendation, what limits it, what to buy next, the
 *  best five, break-even, the front (all: every candidate) and what was not considered. 0, or -1
 *  with *err. */
int strait_show_plan(FILE *out, const json_t *answer, const char *currency, bool all,
                     struct strait_error *err);
