/* Inside of the wrappers: what a rank carries beside its backend's handle. Not for strategies. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "codecs/bundle.h"
#include "footprint.h"
#include "point.h"
#include "rank.h"

struct strait_tensor {
    struct strait_tensor *parent; /* of a slice: whose memory it shares */
    enum strait_tensor_kind kind;
    size_t lo, hi;                 /* elements of the flattened model */
    float *values;                 /* NULL: sized run, or not touched yet */
    struct strait_packet *adopted; /* the packet whose bytes the values are */
    bool held;                     /* counted as memory of the rank */
    bool is_shared;                /* memory of the point's, in a footprint */
    unsigned version;              /* changes with every write */
    struct strait_tensor **ranges; /* hash table of its ranges, made once each */
    size_t n_ranges, cap_ranges;
    struct strait_tensor *spare; /* for a range on its way */
    size_t cap;                  /* of a spare: elements that its memory has room for */
    struct strait_tensor *next;  /* the owner's next range; all tensors that own their memory */
};

struct strait_codec {
    const char *which;
    const struct strait_codec_choice *choice;
    const struct strait_codec_cost *lossy, *lossless;
    void *lossy_state, *lossless_state;
    struct strait_codec_cost lossy_there; /* of the bound that was last asked for beside its own */
    double there;                         /* that bound; NAN: none yet */
    struct strait_remembered *remembered; /* error feedback and the like, by place in the model */
    struct strait_wrap *wrap;
    /* Where encode writes: room for the whole model, made before time 0 and used again, so that
     * its page faults are nobody's cost. Not counted as memory of the rank. */
    _Atomic(unsigned char *) spare;
    size_t room_bytes;
    /* The same in a footprint: is the room free, how much of it was written, the largest beside. */
    bool has_room, is_untouched;
    size_t written_bytes, larger_bytes;
};

enum { STRAIT_N_CODECS = 3 };

struct strait_wrap {
    const struct strait_point *point;
    int me;
    pthread_mutex_t mutex; /* lanes may be threads: the log, the lists */
    struct strait_log *log;
    atomic_int round;
    double round_start_s;
    atomic_llong held_bytes, peak_bytes;
    struct strait_footprint footprint;
    struct strait_tensor *tensors;
    float *prepared[3]; /* whole models by kind, not taken over yet */
    size_t n_outside;   /* elements of tensors that are no part of the model */
    double add_bytes_per_s, copy_bytes_per_s; /* of its memory */
    double slowness; /* of compute: as drawn for this rank; the experiment's factor comes on top */
    double layer_fwd_scale, layer_bwd_scale; /* from the layers' times to the whole's */
    float **scratch;                         /* and n_scratch to decode into */
    int n_scratch;
    struct strait_codec codecs[STRAIT_N_CODECS]; /* up, down, none */
    void **allocs;
    size_t n_allocs, cap_allocs;
    /* What the first encode of a client sent, to measure the error that it delivers afterwards. */
    struct strait_tensor *sample_of;
    struct strait_codec *sample_codec;
    double sample_bound;
    unsigned sample_version;
};

struct strait_wrap *strait_wrap_of(const struct strait_rank *r);
void strait_wrap_hold(struct strait_wrap *w, double bytes); /* negative: let go */
/** The same of bytes that lie in memory which counts in the footprint anyway. */
void strait_wrap_hold_in_room(struct strait_wrap *w, double bytes);
void strait_wrap_span(struct strait_rank *r, enum strait_span_kind kind,
                      const struct strait_times *t, const struct strait_packet *packet, int peer,
                      int channel, int tag);
/** Job on a resource, done: started, waited for, logged. */
void strait_wrap_work(struct strait_rank *r, enum strait_span_kind kind,
                      const struct strait_job *job);
void strait_wrap_fail(struct strait_rank *r, enum strait_error_code code, const char *text)
    __attribute__((noreturn));

/** Did this rank encode it? Then it counts itself until its last reference is gone. */
bool strait_codec_made(const struct strait_wrap *w, const struct strait_packet *p);
/** Are its bytes a sender's tensor itself? Only where ranks share an address space. */
bool strait_packet_is_view(const struct strait_packet *p);
/** A task that strait_wait ends. */
struct strait_task *strait_task_of(struct strait_rank *r, enum strait_span_kind kind,
                                   struct strait_op *op);

/* Tensors (tensor.c). */
/** Fill what the strategy will send, before time 0: recordings of the uplink's kind on clients, of
 *  the downlink's on a server; and make room for what each sender's codec will be decoded into.
 *  strait_tensor then takes these values over: fresh memory can take longer than the work on it. */
void strait_tensor_prepare(struct strait_rank *r);
/** What client 1 would send: a whole model of the uplink's kind. NULL when memory ran out. */
float *strait_tensor_client_values(const struct strait_point *p);
/** Make the values exist where payload is real, and count the memory either way. */
void strait_tensor_touch(struct strait_rank *r, struct strait_tensor *t);
/** A job that gives a touched tensor its recorded values again. */
struct strait_tensor_refill {
    const struct strait_wrap *wrap;
    struct strait_tensor *tensor;
};
void strait_tensor_refill(void *refill);
/** Take the packet's bytes as the values, without a copy; false where that cannot be. */
bool strait_tensor_adopt(struct strait_rank *r, struct strait_tensor *t, struct strait_packet *p);
void strait_tensor_free_all(struct strait_wrap *w);
/* Coding (coding.c). */
void strait_coding_begin(struct strait_rank *r);
/** Readings of what this rank will send, after its tensors were prepared. */
void strait_coding_rehearse(struct strait_rank *r);
void strait_coding_end(struct strait_rank *r);
