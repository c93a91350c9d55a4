/* The lanes of all ranks as coroutines in virtual time: ready lanes in order of waking, and
 * sleeping lanes. The caller advances the clock. */
#pragma once
#include "coroutine.h"
#include "core/heap.h"

struct strait_task; /* of a lane */

struct strait_lanes { /* zero it, then set coroutines */
    struct strait_coroutines *coroutines;
    struct strait_task *first;   /* of all that have not ended */
    struct strait_heap sleeping; /* ties in the order of falling asleep */
    int64_t n_slept;
    struct strait_task *ready_first, *ready_last;
};

/** Make a coroutine that calls body(lane) when its turn comes. 0, or -1 when memory runs out. */
int strait_lanes_begin(struct strait_lanes *all, struct strait_task **out, void (*body)(void *),
                       void *lane);
/** Called on the lane's own coroutine: returns at until_s (INFINITY: never), or after a wake when
 *  its turn comes. 0, or -1 when memory runs out. */
int strait_lanes_block(struct strait_lanes *all, struct strait_task *task, double until_s);
void strait_lanes_wake(struct strait_lanes *all, struct strait_task *task);

/** Move every lane due at or before now_s to the ready list. */
void strait_lanes_due(struct strait_lanes *all, double now_s);
/** Run ready lanes, each until it blocks, until none is ready, or one abandons
 *  its coroutine. Call from outside all lanes. */
void strait_lanes_run(struct strait_lanes *all);
/** When the first sleeping lane wakes; INFINITY: none sleeps. */
double strait_lanes_next_s(const struct strait_lanes *all);
/** Free all, ended or not, but the coroutines' spare stacks. */
void strait_lanes_release(struct strait_lanes *all);
