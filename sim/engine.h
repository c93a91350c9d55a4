/* The virtual-time engine of both simulators: ranks, lanes, slots, streams, inboxes and the
 * operations of workloads/rank/backend.h, driven by one of two time sources. Its memory
 * is the simulation's (child.h), which the first failure ends. */
#pragma once
#include "workloads/rank/backend.h"
#include "child.h"
#include "core/heap.h"
#include "time_source.h"
#include "lanes.h"
#include "job_slots.h"
#include "window.h"
#include "work_pool.h"
#include "sim/packets/packets.h"

/* Stack size of a lane's coroutine; only touched pages use memory. */
#ifdef __SANITIZE_ADDRESS__
enum { STRAIT_LANE_STACK_KIB = 1024 };
#else
enum { STRAIT_LANE_STACK_KIB = 256 };
#endif

/* Times closer than this are the same event: a message that arrives at a deadline is in time
 * although the last digits differ. SimGrid runs at this precision. */
#define STRAIT_SAME_EVENT_S 1e-9

/* One message: queued at its stream, later in the inbox with its time of arrival. */
struct strait_parcel {
    struct strait_parcel *next;
    struct strait_packet *packet;
    struct strait_op *ack; /* NULL: no acknowledgement wanted */
    int tag;
    double posted_s, arrived_s;
    uint64_t seq;
};

/* A message that a lane which is ahead of virtual time posts when that has come. */
struct strait_posting {
    struct strait_turn turn; /* must be first */
    struct strait_stream *to;
    struct strait_parcel *parcel;
    struct strait_posting *next; /* spare */
};

struct strait_queue { /* first in, first out */
    struct strait_parcel *first, *last;
};

struct strait_stream {
    struct strait_engine *machine;
    int src, dst, channel;
    bool busy;      /* the time source is carrying out its actions */
    double delay_s; /* one way */
    struct strait_window window;
    struct strait_pipe *pipe; /* in its place where packets are simulated one by one; else NULL */
    struct strait_queue posted, there;
    double left_bytes; /* still to send of the first posted message */
    double flow_start_s, flow_bytes;
    double arrived_s; /* of the last message */
    uint64_t n_sent;
    struct strait_heap_node node; /* in its inbox, by the arrival of its first message */
    struct strait_inbox *inbox;   /* once a message has arrived */
    struct strait_stream *then;   /* that its source sent on after it, last time */
    void *kernel;                 /* private to the time source */
};

/* One channel of one rank. */
struct strait_inbox {
    int channel;
    int wanted;                 /* the source its reader waits for, or STRAIT_ANY */
    struct strait_inbox *next;  /* of another channel */
    struct strait_heap streams; /* streams with arrived messages */
    struct strait_lane *reader; /* the lane blocked on this inbox */
    struct strait_stream *last; /* that was read from: most ranks read from one again and again */
};

enum strait_blocked_on { STRAIT_ON_TIME, STRAIT_ON_MESSAGE, STRAIT_ON_LANE };

struct strait_lane {
    struct strait_rank rank; /* must be first: the handle is the lane */
    struct strait_engine *machine;
    void (*fn)(struct strait_rank *, void *); /* NULL: lane 0, the rank's program */
    void *arg;                                /* of fn, or of serve */
    double now_s;  /* exact: the time that it slept until, not the time source's approximation */
    double seen_s; /* events known up to here; an unobserved lane may be ahead */
    bool blocked, woken, for_ever, ended;
    enum strait_blocked_on on;
    int wanted, channel;        /* ON_MESSAGE */
    struct strait_inbox *inbox; /* while it serves: where it waits */
    double woken_s;
    struct strait_lane *joiner; /* lane that waits for this one to end */
    struct strait_lane *next;   /* of its rank */
    struct strait_task *task;
    struct strait_turn turn;                     /* its first, and each in which it serves */
    bool (*serve)(struct strait_rank *, void *); /* of arg; NULL: it does not serve */
    bool is_idle; /* it serves, and has neither a message nor a coroutine */
};

struct strait_op {
    struct strait_op *next; /* spare */
    struct strait_times times;
    bool known;               /* the end is known */
    struct strait_work *work; /* of a long job, on another thread; NULL: none */
    struct strait_lane *waiter;
};

struct strait_node {                         /* one rank */
    struct strait_inbox *inboxes;            /* of channels that were read or sent on, some few */
    struct strait_stream *last;              /* that was sent on, likewise */
    struct strait_slots slots[STRAIT_TIMER]; /* a timer has as many as it is asked for */
    struct strait_lane *lanes;
    struct strait_lane *drainer; /* lane 0, waiting after its return until all is carried */
    int n_lanes, n_running;      /* started so far, and not ended */
    unsigned n_postings;         /* messages that its only lane will have posted */
    uint64_t n_under_way;        /* messages that have not left the port yet */
    double drained_s;            /* arrival of the last message that has left */
};

struct strait_engine {
    struct strait_run *run;
    const struct strait_backend *backend;
    const struct strait_kernel *kernel;
    void *world; /* private to the time source */
    struct strait_child *child;
    bool ramp;
    struct strait_lanes lanes;
    struct strait_work_pool *pool; /* for long jobs; made by the first */
    double frame_bytes;            /* frame bytes of every message */
    struct strait_node *nodes;
    int n_ranks_running;
    uint64_t n_active; /* lanes that run or wait for a time, plus busy streams; 0 means deadlock */
    struct strait_stream **streams; /* open-addressing hash table by (src, dst, channel) */
    size_t n_streams, cap_streams;
    struct strait_parcel *spare_parcels;
    struct strait_posting *spare_postings;
    struct strait_op *spare_ops;
    struct strait_packets *packets; /* NULL: messages travel as flows */
    struct strait_pipe *arrived;    /* the stream whose oldest message is there at arrived_s */
    double arrived_s;
    uint64_t n_used_streams, n_flows, n_messages, n_blocks;
    double n_packets; /* data segments of messages that travel as packets */
};

/** Set up everything before time 0; `begin` makes lane 0 of every rank. In a child only. */
struct strait_engine *strait_engine_new(struct strait_run *run,
                                        const struct strait_backend *backend,
                                        const struct strait_kernel *kernel, void *world,
                                        struct strait_child *child);
void strait_engine_begin(struct strait_engine *m);

/** When something happens next other than the end of a flow: a lane wakes or a message that
 *  travelled as packets arrives. No lane may be ready. */
double strait_engine_next_s(struct strait_engine *m);
/** Do what is due at now_s: wake lanes. */
void strait_engine_due(struct strait_engine *m, double now_s);

/** The next action of a kicked stream; IDLE: none until it is kicked again. */
struct strait_action strait_stream_next(struct strait_stream *s, double now_s);
/** The flow of the last FLOW action has left the sender's port; a message that is now complete gets
 *  its time of arrival. */
void strait_stream_flow_ended(struct strait_stream *s, double now_s);

/* For engine.c, from streams.c. */
/** The stream's oldest message, sent as packets, arrives. */
void strait_stream_arrived(struct strait_stream *s, double now_s);
struct strait_stream *strait_stream_find(struct strait_engine *m, int src, int dst, int channel);
void strait_stream_post(struct strait_stream *s, struct strait_parcel *parcel, double now_s);
/** The stream with the first arrived message, by arrival then rank; NULL: none from src. */
struct strait_stream *strait_inbox_first(struct strait_engine *m, struct strait_inbox *inbox,
                                         int dst, int src);
struct strait_inbox *strait_inbox_of(struct strait_engine *m, int dst, int channel);
/** Remove the stream's first arrived message. */
struct strait_parcel *strait_stream_take(struct strait_stream *s);
struct strait_parcel *strait_parcel_new(struct strait_engine *m);
void strait_parcel_free(struct strait_engine *m, struct strait_parcel *parcel);

/* For engine.c, from lane_life.c. */
struct strait_lane *strait_lane_new(struct strait_engine *m, int rank);
/** Its first turn comes when those that are ready now have had theirs. */
void strait_lane_begin(struct strait_lane *lane);
/** Block until until_s, or until woken earlier. */
void strait_lane_block(struct strait_lane *lane, double until_s, enum strait_blocked_on on);
/** A rank's only lane may run ahead of virtual time while it works: no other lane can observe it,
 *  and a ring step takes two events instead of three. A run that ends with rank 0 must not have
 *  lanes ahead of that end. */
void strait_lane_sleep_until(struct strait_lane *lane, double until_s);
/** Wait until virtual time has reached the lane's time: needed before it observes what others do,
 *  or does what they can observe. */
static inline void strait_lane_meet(struct strait_lane *lane)
{
    while (lane->seen_s < lane->now_s)
        strait_lane_block(lane, lane->now_s, STRAIT_ON_TIME);
}
/** Does not return: the lane's coroutine ends, and each turn has one of its own. */
void strait_lane_serve(struct strait_lane *lane, int src, int channel,
                       bool (*turn)(struct strait_rank *, void *), void *arg)
    __attribute__((noreturn));

/* For engine.c, lane_life.c and streams.c, from activity.c. */
void strait_lane_wake(struct strait_lane *lane, double now_s);
/** Of a lane that is idle: it serves from at_s on. */
void strait_lane_serve_at(struct strait_lane *lane, double at_s);
void strait_op_acked(struct strait_op *op, double back_s, double now_s);
/** One activity has ended; fails the run if it was the last one and lanes still wait. */
void strait_engine_rest(struct strait_engine *m);

/* The operations of both backends. */
extern const struct strait_rank_ops strait_engine_ops;
