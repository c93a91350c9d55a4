/* The lanes of all ranks as coroutines in virtual time: ready lanes in order of waking, and
 * sleeping lanes; and calls between their turns. The caller advances the clock. */
#pragma once
#include "coroutine.h"
#include "core/heap.h"

struct strait_task; /* of a lane */

/* A lane's to go on, or a call's, which must not block. */
struct strait_turn {
    struct strait_heap_node timer;
    struct strait_turn *next;               /* ready */
    void (*call)(struct strait_turn *turn); /* NULL: a lane's */
};

struct strait_lanes { /* zero it, then set coroutines */
    struct strait_coroutines *coroutines;
    struct strait_task *first;   /* of all that have not ended */
    struct strait_task *idle;    /* of these, whose body has returned */
    struct strait_heap sleeping; /* ties in the order of falling asleep */
    int64_t n_slept;
    struct strait_turn *ready_first, *ready_last;
};

/** Run body(lane) on a coroutine until it blocks or ends. Called by a call. 0, or -1 when memory
 *  runs out. */
int strait_lanes_begin(struct strait_lanes *all, struct strait_task **out, void (*body)(void *),
                       void *lane);
/** End the coroutine of this lane, where it is: body does not go on. */
void strait_lanes_end(struct strait_lanes *all) __attribute__((noreturn));
/** Called on the lane's own coroutine: returns at until_s (INFINITY: never), or after a wake when
 *  its turn comes. 0, or -1 when memory runs out. */
int strait_lanes_block(struct strait_lanes *all, struct strait_task *task, double until_s);
void strait_lanes_wake(struct strait_lanes *all, struct strait_task *task);
/** Call turn->call when all that are ready now have had their turns. */
void strait_lanes_call(struct strait_lanes *all, struct strait_turn *turn);
/** The same at at_s, among the lanes that wake then. 0, or -1 when memory runs out. */
int strait_lanes_call_at(struct strait_lanes *all, struct strait_turn *turn, double at_s);

/** Move every lane due at or before now_s to the ready list. */
void strait_lanes_due(struct strait_lanes *all, double now_s);
/** Run ready lanes, each until it blocks, and calls, until none is ready, or one abandons its
 *  coroutine. Call from outside all lanes. */
void strait_lanes_run(struct strait_lanes *all);
/** When the first sleeping lane wakes; INFINITY: none sleeps. */
double strait_lanes_next_s(const struct strait_lanes *all);
/** Free all, ended or not, but the coroutines' spare stacks. */
void strait_lanes_release(struct strait_lanes *all);
