/* Which layers' gradients are sent together: plans as pure functions of sizes, times and the cost
 * of an all-reduce. Bucket g holds the layers [first[g], first[g + 1]) in the order of the forward
 * pass; the backward pass completes the last bucket first, and each with the gradient of its first
 * layer. */
#pragma once
#include "traces/models/model.h"
#include "workloads/ask/network.h"

/* The model as a plan sees it. */
struct strait_layer_costs {
    int n;
    double *bytes;         /* of each layer's gradient */
    double *fwd_s, *bwd_s; /* of each layer on its device */
};

struct strait_fusion {
    int n_buckets;
    int *first; /* room for n + 1 */
};

/* An all-reduce of m bytes takes alpha_s + m s_per_byte. */
struct strait_linear_cost {
    double alpha_s, s_per_byte;
};

/** Fill c, whose arrays have room for m->n_layers, with the model's layers on a device of this
 *  speed (1: as in its table). Time that belongs to no layer is divided among the layers, as in
 *  rank.h. */
void strait_layer_costs_fill(struct strait_layer_costs *c, const struct strait_model *m,
                             double speed);

/* Seconds a byte of values that a rank spends on values besides sending them; 0: none. */
struct strait_ring_work {
    double add_s_per_byte, copy_s_per_byte;
    double encode_s_per_byte, decode_s_per_byte;
    double sent_share; /* bytes on the wire of those of the values; 1 without codec */
};

/** Cost of a ring all-reduce over n ranks, without ramp, parts all equal: 2 (n - 1) steps of path
 *  delay and (m / n + frame) / goodput, and n - 1 additions and copies of a part; with a codec each
 *  step of the sum also encodes and decodes a part, and the gather encodes once and decodes n.
 *  Exact on a star of equal ports if the codec's share and times are proportional to m. Elsewhere
 *  approximate: the mean delay, since each part passes all links, and the goodput of the slowest,
 *  which all parts pass.
 *  Source:  Patarasuk and Yuan, JPDC 2009; with this network's links and the ranks' memory */
struct strait_linear_cost strait_ring_cost(const struct strait_network *network, int n,
                                           struct strait_ring_work work);

/** One bucket a layer. Source: wait-free back-propagation (Zhang et al., USENIX ATC 2017) */
void strait_fuse_none(struct strait_fusion *f, const struct strait_layer_costs *c);
/** From the last layer on: close a bucket when it has reached `bytes`, the first one first_bytes.
 *  Source:  PyTorch DistributedDataParallel, compute_bucket_assignment_by_size */
void strait_fuse_backward(struct strait_fusion *f, const struct strait_layer_costs *c,
                          double first_bytes, double bytes);
/** From the first layer on: a layer that would make the bucket reach `bytes` begins another.
 *  Source:  DeAR (Zhang et al., ICDCS 2023), its public code */
void strait_fuse_forward(struct strait_fusion *f, const struct strait_layer_costs *c, double bytes);
/** From the last layer down, merge layer l into l - 1 if the gradient of l - 1 is ready before the
 *  all-reduce of l would end, and waiting for it costs less than the alpha saved. Greedy, not
 *  always optimal (strait_fuse_best).
 *  Source:  MG-WFBP (Shi et al., INFOCOM 2019), its rule and public code */
void strait_fuse_merge(struct strait_fusion *f, const struct strait_layer_costs *c,
                       struct strait_linear_cost all_reduce);
/** The plan whose last all-reduce ends first, all-reduces running one after another in backward
 *  order. Dynamic programming, O(n^2): an earlier end never hurts, so the best end for the layers
 *  from l on needs only the best ends for fewer.
 *  In:      end_s  scratch, room for n + 1 */
void strait_fuse_best(struct strait_fusion *f, double *end_s, const struct strait_layer_costs *c,
                      struct strait_linear_cost all_reduce);

/** Time from the start of the backward pass until the last bucket is summed, all-reduces running
 *  one after another in the order in which buckets are complete. */
double strait_fusion_end_s(const struct strait_fusion *f, const struct strait_layer_costs *c,
                           struct strait_linear_cost all_reduce);
