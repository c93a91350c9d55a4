/* Jobs on the slots of a rank, first come, first served. Real work is measured, and its job padded
 * to the duration in dilated time; the measured work of all ranks runs one at a time on each spare
 * core. */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "workloads/rank/backend.h"
#include "process/dilated_clock.h"

/* A reading this far above what is charged was disturbed. */
#define STRAIT_PROC_SLOW_RATIO 1.05

/* A started job, or an acknowledged send (which uses no slot). */
struct strait_op {
    struct strait_op *next;
    struct strait_job job;
    /* Moments of CLOCK_MONOTONIC on the ideal timeline: a job after another begins when that one
     * ended, however late this machine's threads woke up. */
    int64_t queued_ns, started_ns, ended_ns;
    bool done;
    pthread_cond_t *waiter; /* signalled when done; NULL: nobody waits yet */
};

struct strait_proc_resource {
    unsigned n_slots, n_free;
    int64_t *free_at_ns; /* n_free: since when each free slot is free, ascending */
    struct strait_op *first, **end;
};

struct strait_proc_slots {
    pthread_mutex_t *lock; /* the rank's; all callers hold it */
    struct strait_proc_clock clock;
    sem_t *compute; /* shared by all ranks: limits measured jobs running at once */
    struct strait_proc_resource resources[STRAIT_N_RESOURCES];
    struct strait_op *runnable, **runnable_end; /* have their slots, wait for a thread */
    pthread_cond_t work;
    pthread_t *threads;
    unsigned n_threads, cap_threads, n_idle, n_runnable;
    bool stopping, halted;
    int64_t reading_ns;         /* what reading the clock of processor time takes */
    unsigned n_calls;           /* functions of jobs running now */
    pthread_cond_t calm, never; /* calm: none runs; never: is not signalled */
    /* figures, real seconds */
    double slip_sum_s, slip_max_s, cpu_s;
    uint64_t n_measured;
    uint64_t
        n_slow; /* of these, readings above what was charged by more than STRAIT_PROC_SLOW_RATIO */
};

/** In:      lock     the rank's, initialised
 *           compute  initialised
 *           n_slots  of each resource; STRAIT_TIMER has room for all
 *  Returns: 0, or -1 with *err NOMEM
 */
int strait_proc_slots_init(struct strait_proc_slots *s, pthread_mutex_t *lock, sem_t *compute,
                           const unsigned n_slots[STRAIT_N_RESOURCES], struct strait_error *err);
/** Jobs may start from here on. */
void strait_proc_slots_begin(struct strait_proc_slots *s, const struct strait_proc_clock *clock);
/** Queue op; its job and queued_ns are set. Under the lock. */
int strait_proc_slots_start(struct strait_proc_slots *s, struct strait_op *op,
                            struct strait_error *err);
/** Wait until no function of a job runs, and let no other begin. Not under the lock. */
void strait_proc_slots_halt(struct strait_proc_slots *s);
/** Wait for running jobs and end the threads. Not under the lock. */
void strait_proc_slots_release(struct strait_proc_slots *s);
