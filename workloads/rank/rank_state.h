/* Inside this room: the state of a rank beside its backend's handle. Not for strategies. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "codecs/bundle.h"
#include "footprint.h"
#include "trial.h"
#include "rank.h"

struct strait_tensor {
    struct strait_tensor *parent;  /* of a range: the tensor whose memory it shares */
    size_t lo, hi;                 /* elements of the flattened model */
    float *values;                 /* NULL: sized run, or not touched yet */
    struct strait_packet *adopted; /* the packet whose data are the values */
    enum strait_tensor_kind kind : 8;
    bool held;                    /* counted in the rank's memory */
    bool is_shared;               /* memory of the point's, in a footprint */
    unsigned version;             /* changes with every write */
    struct strait_ranges *ranges; /* NULL: none yet */
    struct strait_tensor *spare;  /* spare memory for copies of ranges */
    size_t cap;                   /* of a spare: elements that its memory has room for */
    struct strait_tensor *next;   /* next range of the parent, or next tensor with its own memory */
};

/* Hash table of a tensor's ranges; one handle each. */
struct strait_ranges {
    size_t n, cap;
    struct strait_tensor *at[];
};

/* One encode or decode call in progress, or other work. */
struct strait_task {
    struct strait_op *op;
    enum strait_span_kind kind;
    struct strait_codec *codec;
    struct strait_tensor *tensor;
    struct strait_packet *packet;
    struct strait_slice *slices; /* one entry a parameter; real payload only */
    size_t n_slices;
    struct strait_line *line; /* coded against these values; NULL: none */
    double bound;
    const struct strait_bound *by_row;    /* of each parameter of the model; NULL: one for all */
    const float *scales;                  /* of each slice; NULL: their own */
    const struct strait_settled *settled; /* what ranks agreed on for it; NULL: nothing */
    unsigned of_ranks;                    /* for that: whose sum is encoded */
    unsigned char *out; /* for encode: room_bytes, at least what the codec needs */
    size_t room_bytes;
    uint64_t key, own, common; /* of encode's random draws */
    size_t len_bytes;
    size_t moved_bytes;       /* for a copy to or from the accelerator */
    struct strait_error *err; /* set by the thread that ran it; NULL: no real payload, no failure */
};

/* Memory that is there before time 0. */
struct strait_prepared {
    float *values[3]; /* whole models by kind, not in use yet */
    float **scratch;  /* n_scratch buffers to decode into */
    int n_scratch;
    /* The strategy's early_scratch: lengths, and memory until it is used. */
    size_t early_elems[STRAIT_MAX_EARLY_SCRATCH];
    float *early[STRAIT_MAX_EARLY_SCRATCH];
    bool early_taken[STRAIT_MAX_EARLY_SCRATCH];
};

struct strait_cached_costs {
    struct strait_codec_cost lossy[2];
    double bound[2]; /* NAN: none */
};

struct strait_codec {
    const struct strait_codec_choice *choice;
    /* Costs at the last other bounds, of plain tensors and of changes; NULL: none was asked for. */
    struct strait_cached_costs *cached;
    double share;                         /* of the values that `dgc` sends; 0: its ratio */
    struct strait_remembered *remembered; /* error feedback and the like, by model position */
    unsigned char number;                 /* in the rank's codecs */
    bool is_none;                         /* values as they are */
    int addressed;                        /* the one receiver of the next packet; -1: all */
    bool *reached;                        /* n_ranks: who must be able to read it; NULL: all */
    struct strait_codec_memory *memory;   /* NULL: payload is sized, and nobody counts memory */
};

/* Memory that a codec needs to run, or would need if only a footprint is asked for. */
struct strait_codec_memory {
    void *lossy_state, *lossless_state;
    /* Output buffer of encode: room for the whole model, allocated before time 0 and reused, so
     * that page faults are not charged. Not counted in the rank's memory. */
    _Atomic(unsigned char *) spare;
    size_t room_bytes;
    /* The same in a footprint: is the room free, how much of it was written, the largest beside. */
    bool has_room, is_untouched;
    size_t written_bytes, larger_bytes;
};

/* A codec's states while ranks use them. */
struct strait_opened {
    void *lossy_state, *lossless_state;
    int n_ranks;
};

struct strait_learning;

struct strait_rank_state {
    const struct strait_trial *point;
    struct strait_learning *learning; /* NULL: the rank does not train for real */
    int me;
    bool leaves;           /* at times it is away */
    pthread_mutex_t mutex; /* protects log and lists: lanes may be threads */
    struct strait_log *log;
    atomic_int round;
    double round_start_s;
    atomic_llong held_bytes, peak_bytes;
    struct strait_footprint *footprint; /* NULL: nobody wants it */
    struct strait_tensor *tensors;
    size_t n_outside;                         /* elements of tensors outside the model */
    double add_bytes_per_s, copy_bytes_per_s; /* of its memory */
    double slowness; /* compute factor drawn for this rank; the experiment's comes on top */
    struct strait_prepared *prepared;            /* NULL: payload is sized */
    struct strait_codec codecs[STRAIT_N_CODECS]; /* up, down, none, inside */
    uint32_t *n_taken; /* of the point's sent sizes: strait_sent_sizes_next; NULL: it has none */
    struct strait_line *lines;      /* references shared with other ranks */
    struct strait_settled *settled; /* what ranks agreed on, the newest first */
    struct strait_tensor *follower; /* to decode what is passed over; NULL: nothing was */
    void **allocs;
    size_t n_allocs, cap_allocs;
    struct strait_sample *sample;
};

/* The first tensor that a client encodes, kept to measure the delivered error after the run. */
struct strait_sample {
    struct strait_tensor *of;
    struct strait_codec *codec;
    double bound;
    unsigned version;
};

static inline struct strait_rank_state *strait_codec_owner(const struct strait_codec *c)
{
    const struct strait_codec *first = c - c->number;
    return (struct strait_rank_state *)((uintptr_t)first -
                                        offsetof(struct strait_rank_state, codecs));
}

static inline struct strait_rank_state *strait_rank_state_of(const struct strait_rank *r)
{
    return r->wrap;
}
/** Whether nothing of this run is done beside other threads: sizes alone, simulated. */
static inline bool strait_rank_state_has_one_thread(const struct strait_rank *r)
{
    return !r->run->real_payload && !r->backend->is_measured;
}
/** Around what lanes share of log and counters. Those of a simulation take turns: they need no
 *  lock. */
static inline void strait_rank_state_lock(struct strait_rank *r)
{
    if (r->backend->is_measured)
        pthread_mutex_lock(&strait_rank_state_of(r)->mutex);
}
static inline void strait_rank_state_unlock(struct strait_rank *r)
{
    if (r->backend->is_measured)
        pthread_mutex_unlock(&strait_rank_state_of(r)->mutex);
}
void strait_rank_state_hold(struct strait_rank_state *w, double bytes); /* negative: release */
/** The same of bytes that lie in memory which counts in the footprint anyway. */
void strait_rank_state_hold_in_room(struct strait_rank_state *w, double bytes);
void strait_rank_state_span(struct strait_rank *r, enum strait_span_kind kind,
                            const struct strait_times *t, const struct strait_packet *packet,
                            int peer, int channel, int tag);
/** Run a job on a resource, wait for it and log it. */
void strait_rank_state_work(struct strait_rank *r, enum strait_span_kind kind,
                            const struct strait_job *job);
void strait_rank_state_fail(struct strait_rank *r, enum strait_error_code code, const char *text)
    __attribute__((noreturn));

/** Whether this rank encoded it; then it is counted until its last reference is dropped. */
bool strait_codec_made(const struct strait_rank_state *w, const struct strait_packet *p);
/** Whether its bytes are a sender's tensor itself; only where ranks share an address space. */
bool strait_packet_is_view(const struct strait_packet *p);
/** A task for strait_wait. */
struct strait_task *strait_task_of(struct strait_rank *r, enum strait_span_kind kind,
                                   struct strait_op *op);

/* Flows of others (others.c), where run->network has a rank for their other ends. */
/** The program of that rank. */
void strait_others_main(struct strait_rank *r);
/** Program of a rank that stands for other traffic: the flows that begin or end at its port. */
void strait_others_beside(struct strait_rank *r, void (*program)(struct strait_rank *r));
/** Whether flows of others use this stream; src or dst is the rank of their other ends. */
bool strait_others_use_stream(const struct strait_network *n, int src, int dst, int channel);

/* Tensors (tensor.c). */
/** Before time 0, fill what the strategy will send (recordings of the uplink's kind on clients, of
 *  the downlink's on a server) and allocate buffers for decoding from each sender's codec.
 *  strait_tensor then takes these values over: faulting in fresh memory can take longer than the
 *  work on it. */
void strait_tensor_prepare(struct strait_rank *r);
/** The recorded values of a rank, a whole model of this kind. NULL when memory ran out. */
float *strait_tensor_sent_values(const struct strait_trial *p, int rank, const char *kind_name);
/** Allocate and fill the values if payload is real; count the memory in any case. */
void strait_tensor_touch(struct strait_rank *r, struct strait_tensor *x);
/** A job that refills a tensor with its recorded values. */
struct strait_tensor_refill {
    const struct strait_rank_state *wrap;
    struct strait_tensor *tensor;
};
void strait_tensor_refill(void *refill);
/** Use the packet's bytes as the values, without a copy; false if that is impossible. */
bool strait_tensor_adopt(struct strait_rank *r, struct strait_tensor *t, struct strait_packet *p);
void strait_tensor_free_all(struct strait_rank_state *w);
/* Coding (coding.c). */
void strait_coding_begin(struct strait_rank *r);
/** Take readings of what this rank will send, after its tensors were prepared. */
void strait_coding_rehearse(struct strait_rank *r);
void strait_coding_end(struct strait_rank *r);
