/* What one rank needs from the world: ten operations, three backends, one conformance suite. */
#pragma once
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "codecs/codec.h"
#include "core/error.h"
#include "live_state.h"
#include "log.h"
#include "workloads/ask/network.h"

enum { STRAIT_ANY = -1, STRAIT_N_WORDS = 4, STRAIT_MAX_CHANNELS = 16 };

/* Slots, first come first served, never preempted. A job takes n_slots at once and no later job
 * overtakes it. TO_ and FROM_ACCEL are the host-accelerator link. TIMER has room for all. */
enum strait_resource {
    STRAIT_ACCEL,
    STRAIT_CPU,
    STRAIT_TO_ACCEL,
    STRAIT_FROM_ACCEL,
    STRAIT_TIMER,
    STRAIT_N_RESOURCES
};

struct strait_job {
    enum strait_resource resource;
    unsigned n_slots;      /* at most the rank's slots; 0 counts as 1 */
    double cost_s;         /* what it takes; NAN: what fn is measured to take, which only emu can */
    void (*fn)(void *arg); /* the real work; NULL where nothing real exists */
    void *arg;
    /* Measured: what the same work took at its quickest so far, in memory that all ranks share. The
     * smaller of it and this reading is charged and kept: a host that is busy with something else
     * lengthens some readings, and none is too short. NULL: what fn takes. */
    _Atomic(double) *least_s;
};

/* When a job was queued, got its slots and ended; for an acknowledged send: posted, posted, back.
 */
struct strait_times {
    double queued_s, started_s, ended_s;
};

struct strait_op; /* a started job or an acknowledged send; the backend's own; wait ends it */

/* What travels: written once, then immutable and counted, so N receivers are N references. */
struct strait_packet {
    size_t payload_bytes;         /* on the wire beside the frame: exact, or predicted if sized */
    size_t raw_bytes;             /* float32 bytes that it stands for */
    double words[STRAIT_N_WORDS]; /* control, inside the frame: real on every backend */
    unsigned codec_id;            /* with n_elems and bound: what the frame says of the payload */
    struct strait_bound bound;
    uint64_t n_elems;
    unsigned char *data;                           /* NULL in a sized run; no strategy looks */
    void (*release)(struct strait_packet *packet); /* when the last reference is gone; not NULL */
    void *owner;                                   /* for release */
    _Atomic(uint64_t) n_refs; /* references; above 2^32, how many of them messages hold */
};
struct strait_packet *strait_packet_keep(struct strait_packet *p); /* one more reference; p */
void strait_packet_drop(struct strait_packet *p);                  /* NULL is fine */
/** Do messages hold all references? Then whoever asks, who thinks to hold one, does not. */
bool strait_packet_is_away(const struct strait_packet *p);
/** An empty packet with one reference and room for payload_bytes of data (0: data NULL), which
 *  its own release frees; NULL when memory runs out. For backends that receive. */
struct strait_packet *strait_packet_new(size_t payload_bytes);

struct strait_message {
    struct strait_packet *packet; /* a reference that the receiver now owns */
    int src, tag;
    double posted_s, arrived_s;
    uint64_t seq; /* of its stream, from 0 */
};

struct strait_backend;
struct strait_run;

/* One lane of one rank: the handle that the lane itself was given. A backend's own struct begins
 * with it; the wrappers of rank.h fill `wrap`. */
struct strait_rank {
    const struct strait_backend *backend;
    struct strait_run *run;
    int me;
    int lane;   /* 0 is the rank's first, others as spawned */
    void *wrap; /* state of the wrappers, shared by the lanes of a rank; set by run->rank_begin */
};

/* What a backend is asked to run. Everything is decided before: it only executes. */
struct strait_run {
    int n_ranks;
    const struct strait_network *network;
    /** Slots of a resource on a rank, at least 1; constant during the run. */
    unsigned (*n_slots)(const struct strait_run *run, int rank, enum strait_resource resource);
    /** Set-up, NULL for none: called for each rank in its own process, on its lane 0's handle,
     *  before time 0; whatever it takes is not part of the run. It calls no operation but fail. */
    void (*rank_begin)(struct strait_rank *r);
    /** The rank's program, on its lane 0. It may return early. */
    void (*rank_main)(struct strait_rank *r);
    /** Tear-down, NULL for none: called once for each rank, on its lane 0's
     *  handle, after rank_main returned or was cut off, and when nobody holds anything any more
     *  that the rank sent (sim, fluid: after the last event, inboxes emptied; emu: in the rank's
     *  process, its streams drained). It calls no operation. Not called when a run fails. */
    void (*rank_end)(struct strait_rank *r);
    bool ends_with_rank_0;
    bool real_payload;  /* packets carry data */
    bool measured_cost; /* jobs may have cost_s NAN */
    bool one_at_a_time; /* emu: no two measured jobs share the machine */
    int n_measuring;    /* ranks whose measured jobs may fall together; 0: all of them */
    uint64_t seed;
    double memory_bytes;     /* what all ranks together will hold with real payload; for check */
    double allocated_bytes;  /* the same of ranks that are processes, with all that they allocate */
    void *context;           /* the wrappers' (struct strait_point), or a test's */
    struct strait_log *logs; /* n_ranks: filled in the process that called run, whoever ran them */
    struct strait_facts *facts; /* what the backend found out about itself; see log.h */
    const char *control; /* negative control by name, NULL for none; each backend knows its own */
    double dilation;     /* emu: 0 chooses */
    double kappa_s_per_gbit; /* emu: processor time that the network takes, measured; 0: built in */
    const char *realisation; /* emu: "relay" or "kernel"; NULL or "auto" chooses */
    const char *launcher;    /* emu: "root" or "userns"; NULL or "auto" chooses */
    double deadline_s;       /* wall-clock limit of the run, 0 for the backend's own */
    /** emu: called twice a second in the process that called run while it lasts, and with NULL when
     *  it has ended, by whatever. NULL: nobody looks. */
    void (*watch)(const struct strait_run *run, const struct strait_live *live);
    void *watcher; /* the watch's own */
    /** May src send to dst on this channel? A backend with real connections sets up these before
     *  time 0, and on every backend a send on another one fails. NULL: all pairs on all channels. */
    bool (*uses_stream)(const struct strait_run *run, int src, int dst, int channel);
};

struct strait_backend {
    const char *name;
    const char *summary;
    bool has_packets; /* what happens to single ones (packet_effects.h) happens in it */
    /** Can this host and this run be done? 0, or -1 with *err: HOST, or INPUT by name of what it
     *  cannot do. Changes nothing. */
    int (*check)(const struct strait_run *run, struct strait_error *err);
    /** 0 with logs and facts filled, or -1 with *err. Never hangs, leaves no process. */
    int (*run)(struct strait_run *run, struct strait_error *err);

    /* No operation below returns an error: the first failure goes through fail, which reports it
     * and ends the throw-away process (sim child, rank process) or unwinds the coroutine. */
    void (*fail)(struct strait_rank *r, const struct strait_error *err) __attribute__((noreturn));
    /** Virtual seconds since the common start. */
    double (*now_s)(const struct strait_rank *r);
    /** Queue a job and run fn if there is one, once, in order, before wait returns. */
    struct strait_op *(*start)(struct strait_rank *r, const struct strait_job *job);
    /** Never blocks; takes the reference. A stream is (src, dst, channel): one connection, set up
     *  before time 0, messages one after another as posted, back to back: the path delay is paid
     *  once, not per message. Streams share links. The receiving side always drains. To oneself:
     *  free and instant. A channel is below STRAIT_MAX_CHANNELS. acked: an op that ends when the
     *  acknowledgement (one frame back, path delay) is here; otherwise NULL is returned. */
    struct strait_op *(*send)(struct strait_rank *r, int dst, int channel, int tag,
                              struct strait_packet *packet, bool acked);
    /** Ends and frees op. times may be NULL. */
    void (*wait)(struct strait_rank *r, struct strait_op *op, struct strait_times *times);
    /** Next message of a stream; with STRAIT_ANY of the channel's streams, in order of arrival,
     *  then of rank. False: deadline_s (absolute; INFINITY: none; past: a poll) came first; a
     *  message that arrives at the deadline is in time. One lane reads a channel. Without deadline
     *  and nothing that could ever arrive: fail with BACKEND, "rank 3 waits for ever ...". */
    bool (*recv)(struct strait_rank *r, struct strait_message *out, int src, int channel,
                 double deadline_s);
    /** A lane shares its rank's memory and resources, and orders its accesses by messages to
     *  itself. It inherits `wrap`. */
    struct strait_rank *(*spawn)(struct strait_rank *r, void (*fn)(struct strait_rank *, void *),
                                 void *arg);
    void (*join)(struct strait_rank *r, struct strait_rank *lane);
};

/* What every backend asks before it takes a message, so that all refuse alike. */

/** May r send to dst on this channel, as run->uses_stream says? Of a stream's first message.
 *  Returns: 0, or -1 with *err BACKEND */
int strait_stream_check(const struct strait_rank *r, int dst, int channel,
                        struct strait_error *err);
/** Note that a message holds the sender's reference to p from here on. Where the sender has none
 *  left (it sent p without strait_packet_keep, or dropped it) that fails.
 *  Returns: 0, or -1 with *err BACKEND */
int strait_packet_post(struct strait_packet *p, const struct strait_rank *r, int dst, int channel,
                       struct strait_error *err);
/** The message that held a reference to p is over: the reference is its receiver's. */
void strait_packet_landed(struct strait_packet *p);

extern const struct strait_backend strait_sim, strait_fluid; /* sim/ */
extern const struct strait_backend strait_emu;               /* emu/ */
