/* Coding, shared by its files: one call on its way, and the tensor cut at the model's parameters.
 * coding.c has the calls of strategies, coding_pieces.c what they need of the model's parameters,
 * coding_setup.c what comes before and after a run. */
#pragma once
#include "rank_state.h"

struct strait_task {
    struct strait_op *op;
    enum strait_span_kind kind;
    struct strait_codec *codec;
    struct strait_tensor *tensor;
    struct strait_packet *packet;
    struct strait_slice *slices; /* the tensor cut at the model's parameters; real payload only */
    size_t n_slices;
    double bound;
    unsigned char *out; /* of encode: room_bytes, the codec's or more */
    size_t room_bytes;
    uint64_t key; /* of encode's chance */
    size_t len_bytes;
    size_t moved_bytes;      /* of a copy to or from the accelerator */
    struct strait_error err; /* of the worker that ran it */
};

/* Memory of the sender for one piece of one parameter, made when it is first encoded. */
struct strait_remembered {
    size_t lo, hi; /* elements of the flattened model */
    struct strait_memory *memory;
    struct strait_remembered *next;
};

bool strait_codec_is_none(const struct strait_codec *c);
bool strait_codec_is_lossy(const struct strait_codec *c, const struct strait_param_row *row);
struct strait_bundle strait_codec_bundle(const struct strait_codec *c, double bound);
/** Cut task->tensor at the model's parameters into task->slices, to be freed; for encode each with
 *  what its sender remembers. */
void strait_task_cut(struct strait_rank *r, struct strait_task *task, bool with_memory);
void strait_task_encode(void *task); /* jobs */
void strait_task_decode(void *task);

/* What a profile, or the codec itself, says of a tensor. */
struct strait_estimate {
    double encode_s, decode_s, bytes;
};
/** In: bound  of the codec's kind; NAN: the experiment's. Ends the run where the profile has none.
 */
struct strait_estimate strait_codec_estimate(struct strait_rank *r, struct strait_codec *c,
                                             double bound, const struct strait_tensor *t);
/** A packet of this codec with room for *room_bytes or more (out); data NULL in a sized run. It
 *  takes payload_bytes off the rank's memory when it goes: count them there when they are known. */
struct strait_packet *strait_codec_packet(struct strait_rank *r, struct strait_codec *c,
                                          size_t *room_bytes);
/** What its frame says. */
void strait_codec_label(struct strait_packet *p, const struct strait_codec *c, double bound,
                        const struct strait_tensor *x);

enum strait_reading_of {
    STRAIT_READING_ENCODE = 1,
    STRAIT_READING_DECODE,
    STRAIT_READING_ADD,
    STRAIT_READING_COPY,
    STRAIT_READING_ADD_ENCODED,
    STRAIT_READING_SET
};
/** Where the quickest reading of this work stands; NULL in a run that measures nothing. In: bound
 *  NAN, or where work at another bound is other work. */
_Atomic(double) *strait_reading_of(const struct strait_wrap *w, enum strait_reading_of operation,
                                   const struct strait_codec *c, double bound,
                                   const struct strait_tensor *t);
