/* How NCCL passes chunks around a ring: in loops of chunks of a few slices each, on one or two
 * channels side by side. For nccl_sums.c and nccl_packets.c. */
#pragma once
#include "workloads/train/collectives/parts.h"

/* All-reduce; reduce-scatter or all-gather, by all that is scattered or gathered; broadcast. */
enum strait_nccl_call { STRAIT_NCCL_SUM, STRAIT_NCCL_SPREAD, STRAIT_NCCL_BROADCAST };
/** What its tuning takes for a call of so many bytes, for n > 1 ranks. */
struct strait_nccl_plan strait_nccl_plan_of(enum strait_nccl_call call,
                                            const struct strait_network *network, int n,
                                            double bytes);

/* What travels as one message: units [lo, hi) of the tensor, or of rank `part`'s part of it. */
struct strait_nccl_piece {
    int part;
    size_t lo, hi;
};

struct strait_nccl_ring {
    struct strait_group g;
    struct strait_nccl_plan plan;
    bool is_spread;         /* each rank has a part of n_units; else: all have all of them */
    size_t n_units;         /* what is cut */
    size_t unit_bytes;      /* of one */
    int first, first_chunk; /* of this rank: the step that sends first, and which chunk */
    int last; /* step, which only receives; chunks that come before step n are added */
    /** The piece as it is now, to be sent. */
    struct strait_packet *(*give)(struct strait_rank *r, void *of, struct strait_nccl_piece piece);
    /** Takes what came; adds: it is a part of a sum. */
    void (*take)(struct strait_rank *r, void *of, struct strait_nccl_piece piece, bool adds,
                 struct strait_packet *packet);
    void *of;
};
void strait_nccl_run(struct strait_rank *r, const struct strait_nccl_ring *ring);
/** Send it to a position; with LL so many bytes of flags before it, which are there
 *  when it is. */
void strait_nccl_pass(struct strait_rank *r, const struct strait_group *g,
                      const struct strait_nccl_plan *plan, int to, int channel,
                      struct strait_packet *taken);
/** The next packet from that position, without flags. Returns: its channel */
int strait_nccl_next(struct strait_rank *r, const struct strait_group *g, int from,
                     struct strait_packet **packet);
