/* The half, or both, of a claim that rows of results answer. Of campaign/published alone. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/** Look for a claim's accuracy, and its first figure where the rows are asked for it, on one row:
 *  of those that keep the accuracy the one with the best figure, else the best of all; and of
 *  several tasks of one run the one that stands worst, since a claim is of all of them.
 *  Out:     claim   gets "accuracy", and "ours" and "interval" where rows have them
 *  In:      halves  of the claim (docs/published.md)
 *           rows    of results, or kept ones; NULL: none */
void published_search(json_t *claim, const json_t *halves, const json_t *rows);

/** Whether a figure of ours is as good as the published one. */
bool published_is_as_claimed(const json_t *halves, double ours, double published);
/** Whether an accuracy half is in this state (claims.h). */
bool published_is_state(const json_t *accuracy, const char *state);
