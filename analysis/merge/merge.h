/* The results of shards as those of one run. */
#pragma once
#include <jansson.h>
#include "analysis/store.h"

struct strait_merged {
    size_t n_rows, n_missing; /* of the points that the runs announced */
};

/** Write what n folders hold into one that is new or empty, as if one run had computed it: a
 *  header, all rows in the order of the plan, what else was measured, an end.
 *  In:      inputs  n open results, n >= 1
 *  Returns: 0, or -1 with *err: INPUT where they are of different experiments, programs or profiles
 *           (codec costs), where two hold different rows of the same key, or out holds something */
int strait_merge(struct strait_merged *merged, struct strait_store *out,
                 struct strait_store *const *inputs, size_t n, struct strait_error *err);
