/* Common to data-parallel schedules with fixed buckets: the inputs of their plans, and the step in
 * which buckets are all-reduced on a second lane during the backward pass. The schedules differ in
 * their plans only. */
#pragma once
#include "workloads/ask/experiment.h"
#include "workloads/train/plans/fusion_plan.h"
#include "workloads/rank/rank.h"

/* Of this rank's device; freed with the rank. */
struct strait_layer_costs strait_rank_layer_costs(struct strait_rank *r);
struct strait_fusion strait_rank_fusion(struct strait_rank *r); /* empty, with room */
/** Cost of a ring all-reduce over all ranks with the codec "up", including the call: the codec's
 *  share and times are those of the whole gradient, from the profile. */
struct strait_linear_cost strait_rank_ring_cost(struct strait_rank *r);

/* The gradients of the whole model, as two tensors in alternating rounds: when a round writes one,
 * views of the other may still be under way. Handles of single layers are made before a second lane
 * starts; afterwards only that lane makes ranges. */
struct strait_gradients {
    struct strait_tensor *whole[2], **layer[2];
};
struct strait_gradients strait_rank_gradients(struct strait_rank *r);
/** The backward pass of a layer in this round. */
void strait_backward_of(struct strait_rank *r, const struct strait_gradients *g, int round,
                        int layer);
/** For the communicating lane: this round's gradients of layers [first, end). */
struct strait_tensor *strait_layers_of(struct strait_rank *r, const struct strait_gradients *g,
                                       int round, int first, int end);

/** Run all rounds: forward, backward with the buckets all-reduced as they complete (ring, first
 *  come, first served), step. tensors_alone: a separate all-reduce for each tensor of a bucket, the
 *  last first. Uses the channels below STRAIT_OVERLAP_CHANNELS. */
void strait_train_overlapped(struct strait_rank *r, const struct strait_fusion *f,
                             bool tensors_alone);
enum { STRAIT_OVERLAP_CHANNELS = 3 };
/** A `check`: the codec must be legal in a ring all-reduce. */
int strait_overlap_check(const struct strait_experiment *e, struct strait_error *err);
/** The streams of the ring, and of what ranks agree on before it. */
bool strait_overlap_uses_stream(const struct strait_experiment *e, int src, int dst, int channel);
