/* Which picture fits rows where nobody says which. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/** Whether rows have other values at this key. */
bool strait_rows_differ(const json_t *rows, const char *key);
/** Whether they are of several tasks that were trained. */
bool strait_rows_have_tasks(const json_t *rows);
/** Whether gains over no compression by number of clients are what the rows show: else what is
 *  compared are other settings, or there are more than can be read in panels of their own. */
bool strait_rows_are_scaling(const json_t *rows);
/** Of runs that trained for real, what they ended with is the question: an enum strait_plot_y, the
 *  accuracy, or the loss of a task that has none. -1: some did not train. */
int strait_rows_trained_y(const json_t *rows);
/** Whether rows of a task differ in their learning rates, at least three, and not in bytes: accuracy
 *  against bytes would be one column of points. */
bool strait_rows_are_search(const json_t *rows);
/** How many codecs they have, or ways to set them. */
size_t strait_rows_n_codecs(const json_t *rows);
