/* How a syncer makes one change of those that its learners report. */
#pragma once
#include "workloads/rank/rank.h"

enum strait_merge { STRAIT_MERGE_MEAN, STRAIT_MERGE_RADIAL };
extern const char *const strait_merges[];

/** out = what x[0 .. n) are merged to, x[i] weighing w[i] > 0; n > 0. RADIAL: of each parameter
 *  tensor, or part of one, the mean of the norms along the mean of the directions; the mean where
 *  directions cancel each other. Charged on the CPU as n passes that add and a copy, RADIAL: as
 *  2 n + 1 passes and two copies.
 *  In:      first  of out's elements, in the flattened model
 *  Source:  Decoupled DiLoCo, 2026 (arXiv 2604.21428): radial-directional averaging; there
 *           embeddings are averaged directly */
void strait_merge_changes(struct strait_rank *r, enum strait_merge how, struct strait_tensor *out,
                          struct strait_tensor *const *x, const double *w, int n, size_t first);
