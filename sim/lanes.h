/* The lanes of all ranks as coroutines in virtual time: those that are ready, in the order of their
 * waking, and those that sleep. Whoever turns the clock says what time it is. */
#pragma once
#include "coroutine.h"
#include "core/heap.h"

struct strait_lane;
struct strait_task;

struct strait_lanes { /* zero it once, set coroutines.stack_bytes */
    struct strait_coroutines coroutines;
    struct strait_heap sleeping; /* tie: in the order of falling asleep */
    int64_t n_slept;
    struct strait_task *ready_first, *ready_last;
};

/** A coroutine that will call strait_lane_main(lane) when it is its turn. 0, or -1 when memory runs
 *  out. */
int strait_lanes_begin(struct strait_lanes *all, struct strait_lane *lane);
/** On the lane's own coroutine: returns at until_s (INFINITY: never), or when its turn comes after
 *  a wake. 0, or -1 when memory runs out. */
int strait_lanes_block(struct strait_lanes *all, struct strait_lane *lane, double until_s);
void strait_lanes_wake(struct strait_lanes *all, struct strait_lane *lane);

/** Ready are those too that sleep until now_s or earlier. */
void strait_lanes_due(struct strait_lanes *all, double now_s);
/** Run the ready ones, each until it blocks, until none is left; from outside of all lanes. */
void strait_lanes_run(struct strait_lanes *all);
/** When the first of the sleeping ones wakes; INFINITY: none sleeps. */
double strait_lanes_next_s(const struct strait_lanes *all);
