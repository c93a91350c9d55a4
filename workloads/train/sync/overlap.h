/* What data-parallel schedules with fixed buckets share: the plan's inputs as a rank has them, and
 * the step in which buckets are all-reduced on a second lane while the backward pass goes on. They
 * differ in their plan alone. */
#pragma once
#include "workloads/ask/experiment.h"
#include "workloads/train/plans/fusion_plan.h"
#include "workloads/rank/rank.h"

/* Of the rank; freed with it. */
struct strait_layer_costs strait_rank_layer_costs(struct strait_rank *r);
struct strait_fusion strait_rank_fusion(struct strait_rank *r); /* empty, with room */
/** A ring all-reduce over all ranks, its call included. */
struct strait_linear_cost strait_rank_ring_cost(struct strait_rank *r);

/* The gradients of the whole model, in two tensors by turns: when a round writes one of them, the
 * last views of the other one may still be on their way. Handles of single layers are made before a
 * second lane starts, which alone cuts the tensors further. */
struct strait_gradients {
    struct strait_tensor *whole[2], **layer[2];
};
struct strait_gradients strait_rank_gradients(struct strait_rank *r);
/** The backward pass of a layer in this round. */
void strait_backward_of(struct strait_rank *r, const struct strait_gradients *g, int round,
                        int layer);
/** For the communicating lane: the gradients of layers [first, end) of this round. */
struct strait_tensor *strait_layers_of(struct strait_rank *r, const struct strait_gradients *g,
                                       int round, int first, int end);

/** All rounds: forward, backward with bucket after bucket all-reduced behind it (a ring, first come
 *  first served), step. tensors_alone: each tensor of a bucket by an all-reduce of its own, the
 *  last first. Uses the channels below STRAIT_OVERLAP_CHANNELS. */
void strait_train_overlapped(struct strait_rank *r, const struct strait_fusion *f,
                             bool tensors_alone);
enum { STRAIT_OVERLAP_CHANNELS = 3 };
/** For `check`: a codec that a ring all-reduce can have. */
int strait_overlap_check(const struct strait_experiment *e, struct strait_error *err);
/** Its streams: the ring. */
bool strait_overlap_uses_stream(const struct strait_experiment *e, int src, int dst, int channel);
