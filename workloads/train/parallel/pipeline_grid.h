/* Where the ranks of `pipeline` stand. */
#pragma once
#include "workloads/rank/rank.h"
#include "workloads/train/plans/rank_grid.h"

enum { STRAIT_STAGES_FIRST, STRAIT_REPLICAS_FIRST, STRAIT_BY_NETWORK };
extern const char *const strait_pipeline_neighbours[];

/** The grid of the parameters "stages", "tensor" and "neighbours", without places. It may not fit
 *  the number of ranks. */
struct strait_grid strait_pipeline_grid(const struct strait_experiment *e);
/** With "neighbours": "network", the places where what a batch sends takes least on this network,
 *  in raw bytes. They live as long as the rank. */
void strait_pipeline_place(struct strait_rank *r, struct strait_grid *g);
/** All ranks in the order in which a ring that sums the model takes least on this network: its
 *  busiest link and its longest path, a local minimum (strait_grid_search). Rank 0 is first. It
 *  lives as long as the rank.
 *  Cost:    O(n^3) a step of the search, and n^2 memory on each rank */
const int *strait_ring_order(struct strait_rank *r);
/** The same of some ranks, in place; the first one stays first. */
void strait_ring_order_of(struct strait_rank *r, int *ranks, int n);
