/* The spans of a stored row. */
#pragma once
#include <stdbool.h>
#include "analysis/store.h"
#include "workloads/rank/log.h"

/** The spans that its run kept in DIR/spans, or else those of the point simulated again, every
 *  round of it, with the profile of its header.
 *  Out:     logs  new array of n_ranks; release each and free the array
 *  Returns: 0, or -1 with *err: INPUT for a measured row whose run kept none */
int strait_row_spans(struct strait_log **logs, int *n_ranks, bool *has_server, const char *folder,
                     const struct strait_store *store, const json_t *row, struct strait_error *err);
