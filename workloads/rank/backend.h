/* The interface between a rank and a backend: ten operations, four backends, one conformance
 * suite. */
#pragma once
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "codecs/codec.h"
#include "core/error.h"
#include "workloads/live/live_state.h"
#include "log.h"
#include "workloads/ask/network.h"

enum { STRAIT_ANY = -1, STRAIT_N_WORDS = 4, STRAIT_MAX_CHANNELS = 16 };

/* Resources have slots, served first come, first served, never preempted. A job takes n_slots at
 * once and no later job overtakes it. TO_ and FROM_ACCEL are the host-accelerator link. TIMER has
 * unlimited slots. */
enum strait_resource {
    STRAIT_ACCEL,
    STRAIT_CPU,
    STRAIT_TO_ACCEL,
    STRAIT_FROM_ACCEL,
    STRAIT_TIMER,
    STRAIT_N_RESOURCES
};

struct strait_readings; /* workloads/timing/readings.h */

struct strait_job {
    enum strait_resource resource;
    unsigned n_slots;      /* at most the rank's slots; 0 counts as 1 */
    double cost_s;         /* duration; NAN: measure fn, which only emu can */
    void (*fn)(void *arg); /* the real work; NULL if only time passes */
    void *arg;
    /* With measured cost: the readings of the same work so far, shared by all ranks; the typical
     * one is charged. NULL: charge the new reading. */
    struct strait_readings *readings;
    bool is_pure; /* fn may be called twice, with the same result */
    /* fn takes long and needs a large stack: a simulation may run it on another thread, beside
     * other ranks' work, and joins it in wait. */
    bool is_long;
};

/* When a job was queued, got its slots and ended; for an acknowledged send: posted, posted,
 * acknowledged. */
struct strait_times {
    double queued_s, started_s, ended_s;
};

struct strait_op; /* a started job or an acknowledged send, private to the backend; freed by wait */

/* A message's content: written once, then immutable and reference-counted, so N receivers share
 * it. */
struct strait_packet {
    size_t payload_bytes;         /* on the wire, without the frame: exact, or predicted if sized */
    size_t raw_bytes;             /* float32 bytes of the values */
    double words[STRAIT_N_WORDS]; /* control words, inside the frame: real on every backend */
    unsigned codec_id;            /* with n_elems and bound: describes the payload */
    unsigned flags;               /* 8 bits, free for the caller */
    bool has_one_thread;          /* that counts its references: of sizes alone, simulated */
    struct strait_bound bound;
    uint64_t n_elems;
    unsigned char *data;                           /* NULL if sized; not read by strategies */
    void (*release)(struct strait_packet *packet); /* at the last drop of a reference; not NULL */
    void *owner;                                   /* for release */
    _Atomic(uint64_t) n_refs; /* references; above 2^32, how many of them messages hold */
};
struct strait_packet *strait_packet_keep(struct strait_packet *p); /* adds a reference; returns p */
void strait_packet_drop(struct strait_packet *p);                  /* NULL is allowed */
/** True if messages hold all references, so that the caller, who believes to hold one, does not. */
bool strait_packet_is_away(const struct strait_packet *p);
/** A packet with one reference and room for payload_bytes of data (0: data NULL), which its own
 *  release frees; NULL when memory runs out. For backends that receive. */
struct strait_packet *strait_packet_new(size_t payload_bytes);

struct strait_message {
    struct strait_packet *packet; /* a reference that the receiver now owns */
    int src, tag;
    double posted_s, arrived_s;
    uint64_t seq; /* position in its stream, from 0 */
};

struct strait_backend;
struct strait_run;
struct strait_mpi_world; /* mpi/world.h */

/* The handle of one lane of one rank. A backend's own struct begins with it; rank.h's functions set
 * `wrap`. */
struct strait_rank {
    const struct strait_backend *backend;
    struct strait_run *run;
    int me;
    int lane;      /* 0: the rank's first; others in order of spawning */
    void *wrap;    /* the rank's state in rank.h, shared by its lanes; set by run->rank_begin */
    double left_s; /* when a collective that reads connections ended last (open_mpi.c); 0: none */
};

/* Everything that a backend needs for a run; it decides nothing itself. */
struct strait_run {
    int n_ranks;
    const struct strait_network *network;
    /** Slots of a resource on a rank, at least 1; constant during the run. */
    unsigned (*n_slots)(const struct strait_run *run, int rank, enum strait_resource resource);
    /** Set-up, NULL: none. Called for each rank in its own process, on its lane 0's handle, before
     *  time 0; its duration is not part of the run. It may call no operation but fail. */
    void (*rank_begin)(struct strait_rank *r);
    /** The rank's program, on its lane 0. It may return early. */
    void (*rank_main)(struct strait_rank *r);
    /** Tear-down, NULL: none. Called once for each rank, on its lane 0's handle, after rank_main
     *  returned or was cut off and nobody holds anything that the rank sent (sim, fluid: after the
     *  last event, with inboxes emptied; emu: in the rank's process, with streams drained). It may
     *  call no operation. Not called when a run fails. */
    void (*rank_end)(struct strait_rank *r);
    bool ends_with_rank_0;
    bool has_one_lane; /* no rank spawns lanes, and none looks at another one's variables */
    bool is_over; /* rank 0 has said so in a simulation that ends with it: it waits for no lane */
    double training_load; /* processors that real training keeps busy at dilation 1; 0: none */
    int n_threads;        /* for long jobs of a simulation; 0: one */
    bool real_payload;    /* packets carry data */
    bool measured_cost;   /* jobs may have cost_s NAN */
    bool one_at_a_time;   /* emu: run one measured job at a time on the whole machine */
    int n_measuring;      /* ranks whose measured jobs may coincide; 0: all */
    uint64_t seed;
    uint64_t network_draw;   /* sim, fluid: which draw of losses of this seed; 0: the seed's own */
    double memory_bytes;     /* peak of all ranks together with real payload; for check */
    double allocated_bytes;  /* the same of ranks that are processes, with all that they allocate */
    void *context;           /* struct strait_trial, or a test's */
    struct strait_log *logs; /* n_ranks, filled in the calling process, wherever the ranks ran */
    struct strait_facts *facts; /* the backend's facts about itself and the run; see log.h */
    const char *control; /* negative control by name, NULL: none; each backend knows its own */
    double dilation;     /* emu: 0: chosen */
    double net_cpu_s_per_gbit; /* emu: measured CPU seconds of the network a gigabit; 0: built in */
    const char *realisation;   /* emu: "relay" or "kernel"; NULL or "auto": chosen */
    const char *launcher;      /* emu: "root" or "userns"; NULL or "auto": chosen */
    double deadline_s;         /* wall-clock limit of the run; 0: the backend's own */
    double expected_s;         /* emu: virtual duration by simulation, for its limits; 0: unknown */
    bool
        in_process; /* fluid: no child of its own; what a rank that was cut off held is not freed */
    struct strait_mpi_world *world; /* mpi: the processes that an MPI launcher started */
    uint64_t limit_messages;        /* sim, fluid: fail beyond these; 0: none */
    double limit_bytes; /* sim, fluid: memory of the simulation; 0: most of what is free */
    /** Called twice a second in the calling process during the run, and with NULL when it has ended
     *  in any way; simulations do so only where something trains for real. NULL: not called. */
    void (*watch)(const struct strait_run *run, const struct strait_live *live);
    void *watcher;                   /* context of watch */
    struct strait_live_score *score; /* shared with rank 0; NULL: nothing trains for real */
    /** May src send to dst on this channel? A backend with real connections sets up these before
     *  time 0, and on every backend a send on another one fails. NULL: all pairs on all channels.
     */
    bool (*uses_stream)(const struct strait_run *run, int src, int dst, int channel);
    /** The channel whose connections carry this one's messages too, where packets are simulated;
     *  its own is its own. NULL: each channel has connections of its own. */
    int (*carrier)(const struct strait_run *run, int channel);
};

/* What a rank may do. No operation returns an error: the first failure calls fail, which reports it
 * and ends the throw-away process (sim child, rank process) or unwinds the coroutine. */
struct strait_rank_ops {
    void (*fail)(struct strait_rank *r, const struct strait_error *err) __attribute__((noreturn));
    /** Virtual seconds since the common start. */
    double (*now_s)(const struct strait_rank *r);
    /** Queue a job. fn, if not NULL, runs once, in order, before wait returns. */
    struct strait_op *(*start)(struct strait_rank *r, const struct strait_job *job);
    /** Send a message; never blocks; takes the reference. A stream is (src, dst, channel): one
     *  connection, set up before time 0, which carries messages in order, back to back: the path
     *  delay is paid once, not per message. Streams share links. The receiving side always drains.
     *  Sending to oneself is free and instant. channel is below STRAIT_MAX_CHANNELS. acked: return
     *  an op that ends when the acknowledgement (one frame back, path delay) has arrived; otherwise
     *  NULL. */
    struct strait_op *(*send)(struct strait_rank *r, int dst, int channel, int tag,
                              struct strait_packet *packet, bool acked);
    /** Wait for op and free it. times may be NULL. */
    void (*wait)(struct strait_rank *r, struct strait_op *op, struct strait_times *times);
    /** Next message of a stream; with STRAIT_ANY of all streams of the channel, by arrival, then
     *  rank. False: the deadline passed (absolute; INFINITY: none; in the past: poll); a message
     *  that arrives at the deadline is in time. Only one lane may read a channel. Without deadline,
     *  when nothing can ever arrive: fails with BACKEND, "rank 3 waits for ever ...". */
    bool (*recv)(struct strait_rank *r, struct strait_message *out, int src, int channel,
                 double deadline_s);
    /** Call turn(r, arg), which receives from src, whenever a message from src is there, until it
     *  returns false; then the rank's program has ended, of which nothing more runs: without a stack
     *  between its turns. A backend that cannot returns, or has NULL here. */
    void (*serve)(struct strait_rank *r, int src, int channel,
                  bool (*turn)(struct strait_rank *, void *), void *arg);
    /** Start another lane of this rank. It shares memory and resources, and inherits `wrap`; lanes
     *  synchronise by messages to their own rank. */
    struct strait_rank *(*spawn)(struct strait_rank *r, void (*fn)(struct strait_rank *, void *),
                                 void *arg);
    void (*join)(struct strait_rank *r, struct strait_rank *lane);
};

struct strait_backend {
    const char *name;
    const char *summary;
    bool is_measured; /* in real time, on processors and connections that are there */
    bool has_packets; /* what happens to single ones (packet_effects.h) happens in it */
    /** Whether this host can do this run. 0, or -1 with *err: HOST, or INPUT naming what it cannot
     *  do. Changes nothing. */
    int (*check)(const struct strait_run *run, struct strait_error *err);
    /** Run. 0 with logs and facts filled, or -1 with *err. Never hangs, leaves no process. */
    int (*run)(struct strait_run *run, struct strait_error *err);
    const struct strait_rank_ops *ops;
};

/* Checks that every backend makes before it takes a message, so that all refuse alike. */

/** Check, at a stream's first message, that run->uses_stream lets r send to dst on this channel.
 *  Returns: 0, or -1 with *err BACKEND */
int strait_stream_check(const struct strait_rank *r, int dst, int channel,
                        struct strait_error *err);
/** Hand the sender's reference to p over to a message. Fails if the sender has none left, because
 *  it sent p without strait_packet_keep or dropped it.
 *  Returns: 0, or -1 with *err BACKEND */
int strait_packet_post(struct strait_packet *p, const struct strait_rank *r, int dst, int channel,
                       struct strait_error *err);
/** Hand the message's reference to p over to the receiver: the message has arrived. */
void strait_packet_landed(struct strait_packet *p);

extern const struct strait_backend strait_sim, strait_fluid; /* sim/ */
extern const struct strait_backend strait_emu;               /* emu/ */
extern const struct strait_backend strait_mpi;               /* mpi/ */
