/* Inside the rank: one of its lanes, a thread. */
#pragma once
#include "rank_base.h"

struct strait_proc_lane {
    struct strait_rank base; /* must be first: the handle that strategies hold */
    struct strait_proc_rank *rank;
    struct strait_proc_lane *next; /* of the rank */
    void (*fn)(struct strait_rank *r, void *arg);
    void *arg;
    pthread_t thread;
    pthread_cond_t moved; /* signalled when what this lane waits for has happened */
    int64_t now_ns;       /* the lane's time: when what it last waited for happened */
    bool receiving, stuck, ended;
    int want_src, want_channel;      /* while receiving */
    struct strait_proc_lane *joiner; /* the lane that waits for this one to end */
};

/** A new lane, not running yet; NULL when memory ran out. */
struct strait_proc_lane *strait_proc_lane_new(struct strait_proc_rank *rank);
/** Add the lane to the rank's list and start it. Under the lock. 0, or -1 with *err. */
int strait_proc_lane_begin(struct strait_proc_lane *lane, struct strait_error *err);
