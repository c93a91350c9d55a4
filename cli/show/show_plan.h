/* Print a plan's answer. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "core/error.h"

/** Print the result of strait_plan_answer: the recommendation, what limits it, what it rests on,
 *  the best five, what to buy next, how much of each resource is left, where the codec pays, how
 *  many candidates are on the front, and what was not considered. BRIEF fits a screen of 40 lines
 *  of 80 columns; FRONT has tables of everything and the front, ALL every candidate. 0, or -1 with
 *  *err.
 */
enum strait_plan_detail { STRAIT_PLAN_BRIEF, STRAIT_PLAN_FRONT, STRAIT_PLAN_ALL };
int strait_show_plan(FILE *out, const json_t *answer, const char *currency,
                     enum strait_plan_detail detail, struct strait_error *err);
