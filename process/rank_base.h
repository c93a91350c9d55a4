/* One rank as a process of a machine: what its lanes share, from time 0 to their end. A backend
 * brings the messages and says how a failure ends the process. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "dilated_clock.h"
#include "inbox.h"
#include "padded_slots.h"

/* State that others watch while the rank runs; it may lie in shared memory. */
struct strait_proc_state {
    atomic_uint_fast64_t n_sent;   /* messages and acknowledgements that will arrive somewhere */
    atomic_uint_fast64_t n_landed; /* ... that arrived here */
    atomic_uint_fast64_t progress; /* changes whenever a lane advances */
    atomic_int n_lanes;            /* that have not returned */
    atomic_int n_stuck;            /* of these, in a receive without deadline or joining another */
    atomic_int stuck_src, stuck_channel; /* of the last one that began to wait */
    atomic_int has_error;                /* 0: no; 2: error is complete */
    struct strait_error error;
    double lag_sum_s, lag_max_s; /* real: work of lanes outside jobs, see lane.c */
    atomic_int n_rounds;         /* of rank 0, for the live view */
    _Atomic(double) rounds_s;
};

struct strait_proc_rank {
    struct strait_run *run;
    const struct strait_backend *backend; /* whose ops are strait_proc_ops */
    int me;
    struct strait_proc_state *state;
    void *owner; /* the backend's own, for post and failed */
    /** Queue a message for another rank; takes the packet, after strait_packet_post, and lands it.
     *  Never blocks.
     *  In:      posted_ns  posted_s as a moment of CLOCK_MONOTONIC
     *           ticket     for strait_proc_acknowledged; NULL: none is asked for
     *  Returns: 0, or -1 with *err NOMEM */
    int (*post)(struct strait_proc_rank *rank, int dst, int channel, int tag,
                struct strait_packet *packet, double posted_s, int64_t posted_ns, void *ticket,
                struct strait_error *err);
    /** state->error is complete: end this process, or the calling thread for good. */
    void (*failed)(struct strait_proc_rank *rank) __attribute__((noreturn));
    struct strait_proc_clock clock;
    int64_t max_lag_ns;
    pthread_mutex_t lock; /* protects everything below */
    struct strait_proc_inbox inbox;
    struct strait_proc_slots slots;
    struct strait_proc_lane *lanes;
    struct strait_proc_lane *first; /* the program's lane */
    int n_spawned, n_parked;
    uint64_t seq_to_self[STRAIT_MAX_CHANNELS];
    bool stopping;
    int news; /* eventfd for the control thread: a lane ended or parked */
};

/** The operations of ranks that are processes. */
extern const struct strait_rank_ops strait_proc_ops;

/* lane.c */
/** Put a message that has arrived into the inbox and wake the lane that waits for it. Takes the
 *  packet. Under the lock. */
void strait_proc_rank_put(struct strait_proc_rank *rank, const struct strait_message *message,
                          int channel);
/** The send that was posted with this ticket was acknowledged. Not under the lock. */
void strait_proc_rank_acknowledged(struct strait_proc_rank *rank, void *ticket, int64_t mono_ns);

/** Report the error and end the process; from any of its threads. The first error counts. */
void strait_proc_rank_fail(struct strait_proc_rank *rank, const struct strait_error *err)
    __attribute__((noreturn));
