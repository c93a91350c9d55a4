/* Plan of what PowerSGD and ACP-SGD send: which gradients become low-rank factors, M ~ P Q^T, and
 * the layout of the two fused buffers that are summed, one with all P and one with all Q. Pure
 * functions of the model's shapes. */
#pragma once
#include "codecs/lowrank/lowrank.h"
#include "traces/models/model.h"

enum strait_side { STRAIT_SIDE_P, STRAIT_SIDE_Q };

/* One parameter. Parts are in the order in which gradients become ready: last row first. */
struct strait_lowrank_part {
    struct strait_lowrank shape; /* rank 0: sent unfactored: a vector, or too small to gain */
    size_t lo, n_elems;          /* of the flattened model */
    size_t at[2];                /* offset in each side's buffer */
    size_t n_at[2];              /* elements there: of the factor, or of the unfactored tensor */
};

struct strait_lowrank_plan {
    struct strait_lowrank_part *parts; /* n of them, in the caller's memory */
    size_t n, n_elems[2];              /* of the buffers */
};

/** Lay out one part for every row of the model. As in the codecs, a matrix has the first dimension
 *  as rows and all others as columns.
 *  In:      parts  room for m->n_rows
 *           plain_on_both_sides  unfactored tensors are in both buffers (ACP-SGD, where a step
 *                                sends one of them), or only in that of P (PowerSGD, where it
 *                                sends both) */
struct strait_lowrank_plan strait_lowrank_plan(struct strait_lowrank_part *parts,
                                               const struct strait_model *m, size_t rank,
                                               bool plain_on_both_sides);

/* Consecutive parts that are summed by one call: [first, end) of the plan. */
struct strait_lowrank_bucket {
    size_t first, end;
};
/** Fuse the parts of one side, in order, until a bucket holds at least `bytes`. A bucket ends at a
 *  layer boundary, since the gradients of a layer become ready together.
 *  Out:     buckets  room for m->n_layers
 *  Returns: how many */
size_t strait_lowrank_fuse(struct strait_lowrank_bucket *buckets,
                           const struct strait_lowrank_plan *plan, const struct strait_model *m,
                           enum strait_side side, double bytes);
