/* How far runs of one point with different seeds lie apart. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/** Put "seeds" and "spread" into a row's "training", from the rows of all seeds: for each figure
 *  its mean, standard deviation, least, most and every value. A seed that did not reach the target
 *  has null for when it did; mean and the like are then null too.
 *  In:      rows  array, the row itself first; a row that is not valid makes the row so
 *  Returns: false when memory ran out */
bool strait_training_spread(json_t *row, const json_t *rows);
/** Student's t, 97.5 %, by degrees of freedom; NAN for 0. */
double strait_student_t(size_t n_free);
