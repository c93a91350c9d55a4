/* What a rank of a K-FAC strategy has: its plan, its factors, and the jobs of its lane. */
#pragma once
#include "workloads/train/collectives/collectives.h"
#include "workloads/train/plans/kfac_factors.h"
#include "workloads/train/plans/placement.h"

/* Channels: collectives between ranks; requests to the lane and its answers. */
enum kfac_channel { KFAC_COLLECTIVE, KFAC_ASK, KFAC_GRADIENTS, KFAC_FACTORS, KFAC_INVERSES };
enum { KFAC_N_CHANNELS = KFAC_INVERSES + 1 };

/* What is broadcast after the owners' work. */
enum kfac_broadcasts {
    KFAC_NOTHING,
    KFAC_EACH_INVERSE,
    KFAC_EACH_LAYERS_INVERSES, /* both inverses of a layer together */
    KFAC_BUCKETS_OF_INVERSES,
    KFAC_EACH_GRADIENT
};

/* The strategy's decisions, taken once. Arrays have k->n entries, one a factor. */
struct kfac_plan {
    int *owner;                /* the rank that inverts it, or STRAIT_EVERYWHERE */
    int n_buckets, *bucket_of; /* factors sent together, in one buffer */
    bool to_owner;             /* reduce buckets with an owner to it; else all-reduce */
    bool pipelined;            /* send each bucket as soon as it is complete */
    enum kfac_broadcasts broadcasts;
};

struct kfac_job {
    enum { KFAC_ALL_REDUCE, KFAC_REDUCE, KFAC_BROADCAST } what;
    struct strait_tensor *x[2]; /* alternating by round; the same one where that is safe */
    struct strait_codec *codec;
    int root;
    int n_factors; /* in it, or inverses of them */
    enum kfac_channel tell;
};

struct kfac_values;
enum { KFAC_NONE = -1 };

struct kfac {
    struct strait_rank *r, *lane;
    int n; /* factors, in the order of strait_factors_of */
    struct strait_factor *factors;
    int *factor_before, *factor_after; /* each layer's A and G, or -1 */
    struct kfac_plan plan;             /* set by the strategy between begin and start */
    struct kfac_job *jobs;             /* buckets of gradients and of factors, broadcasts */
    int n_jobs;
    struct kfac_values *values;      /* NULL: the run does not train */
    int n_buckets, *bucket_of;       /* of layers, by jobs */
    int *bucket_end, *broadcast_end; /* of each factor: the job that it completes, or -1 */
    int round, n_asked[KFAC_N_CHANNELS];
    /* Of the lane: seconds in collectives, and since when it is in one (negative: in none). And
     * what of these the computation has paid for. */
    _Atomic double busy_s, since_s;
    double paid_s;
};

/** Request a job on the lane. */
void kfac_ask(struct kfac *k, int job);
/** Fail the run: memory ran out. */
void kfac_no_memory(struct kfac *k) __attribute__((noreturn));
