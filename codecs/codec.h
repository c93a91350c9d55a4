/* What a codec is, and the one table of all codecs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "core/param.h"

/* Bounds, one definition each; max, min and rms are taken in double over the finite values. */
enum strait_bound_kind {
    STRAIT_BOUND_NONE,      /* the codec has no bound to keep */
    STRAIT_BOUND_ABS,       /* |x - y| <= value */
    STRAIT_BOUND_RANGE,     /* |x - y| <= value * (max - min) of the tensor */
    STRAIT_BOUND_RMS,       /* |x - y| <= value * rms of the tensor */
    STRAIT_BOUND_POINTWISE, /* |x - y| <= value * |x| */
    STRAIT_BOUND_RATIO, /* not of the error: the ABS bound at which raw / encoded is about value */
    N_STRAIT_BOUNDS
};
struct strait_bound {
    enum strait_bound_kind kind;
    double value;
};

enum strait_codec_flag {
    STRAIT_CODEC_LOSSLESS = 1,    /* every bit back, NaN payloads included */
    STRAIT_CODEC_BOUNDED = 2,     /* keeps a strait_bound on every finite value */
    STRAIT_CODEC_STATEFUL = 4,    /* encode remembers: a state is for one tensor of one rank */
    STRAIT_CODEC_SPARSE = 8,      /* sends chosen elements only; the others decode to 0 */
    STRAIT_CODEC_STOCHASTIC = 16, /* draws chance: the request's key matters */
    STRAIT_CODEC_UNBIASED = 32,   /* the mean of decoded over keys is x */
    STRAIT_CODEC_SHARED_KEY = 64, /* ranks have to use one key in a round to be summable */
    STRAIT_CODEC_MACHINE = 128    /* bytes may differ between machines, or versions of a library
                                   * that writes them or sums in an order of its own */
};

/* What encode needs to know beside the values. */
struct strait_request {
    struct strait_bound bound;
    uint64_t key;  /* of chance: equal keys draw equal numbers; without effect unless STOCHASTIC */
    size_t n_rows; /* the tensor is a matrix of so many rows, row after row; 0: a vector */
};

/* Coding by pieces, so that encoding, sending and decoding overlap. */
struct strait_codec_stream_ops {
    size_t piece_elems; /* values of each piece, in order; the last may have fewer */

    /** Out: stream, ended by put's last piece or by cancel. x: the whole tensor, borrowed until
     *  then: relative bounds look at all of it. */
    int (*begin)(void *state, void **stream, const float *x, size_t n_elems,
                 struct strait_request request, struct strait_error *err);
    /** Encode the next piece. Out: n_done values are encoded by now, len_bytes of this piece.
     *  cap_bytes >= piece_max_bytes. */
    int (*put)(void *stream, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
               size_t *n_done, struct strait_error *err);
    size_t (*piece_max_bytes)(const void *state, size_t n_elems);
    void (*end)(void *stream); /* of begin or begin_decode; frees it wherever it stands */

    int (*begin_decode)(void *state, void **stream, float *y, size_t n_elems,
                        struct strait_error *err);
    /** Decode the next piece, exactly the bytes of one put. Any bytes are safe. */
    int (*get)(void *stream, size_t *n_done, const unsigned char *in, size_t len_bytes,
               struct strait_error *err);
};

/* Unless STATEFUL, any number of threads may encode and decode with one state at once. */
struct strait_codec_ops {
    const char *name;
    const char *family; /* "lossless", "error-bounded", "quantiser", "sign", "sparsifier", ... */
    const char *source; /* paper, library and version, or "own" */
    unsigned id;        /* on the wire, 1..255, never reused */
    unsigned flags;     /* enum strait_codec_flag */
    unsigned bounds;    /* bit (1u << enum strait_bound_kind) for each bound that it keeps */
    const struct strait_param *params; /* n_params of them */
    unsigned n_params;
    struct { /* the memory that the source trains with (feedback.h): on unless asked otherwise */
        bool residual;
        double momentum; /* 0: none */
    } memory;

    /** NULL, or the reason why the codec cannot be used here ("libSZ3c.so is not installed").
     *  The member itself is NULL where a codec is part of every build. */
    const char *(*unavailable)(void);
    /** Out: state, freed by close. In: params[n_params] in the declared order. */
    int (*open)(void **state, const double *params, struct strait_error *err);
    void (*close)(void *state);
    /** Most bytes that encode may write for n_elems values, whatever they are. */
    size_t (*max_bytes)(const void *state, size_t n_elems);
    /** Bytes that encode will write where these follow from the shape alone, else 0. NULL: never.
     */
    size_t (*predict)(const void *state, size_t n_elems, size_t n_rows);
    /** Encode x[n_elems] into out. Errors: INPUT when cap_bytes < max_bytes(n_elems) or the bound
     *  is not one of `bounds` or not finite and >= 0. Scratch memory stays in the state until
     *  close, one piece for each thread that was ever inside. */
    int (*encode)(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                  const float *x, size_t n_elems, struct strait_request request,
                  struct strait_error *err);
    /** Decode into y[n_elems]; remembers nothing, STATEFUL or not. Any bytes at all are safe:
     *  INPUT when they are not such a stream, or not one of n_elems values. */
    int (*decode)(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err);
    /** Sum of two streams while encoded: legal in an all-reduce. NULL: never.
     *  Out: out, len_bytes: a stream that decodes to the sum of what a and b decode to, at most
     *       max_bytes(n_elems) long; cap_bytes is at least that.
     *  Returns: 0, or -1 with *err INPUT when they are no such streams of n_elems values or share
     *           no step, seed or the like; out is then undefined */
    int (*add)(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
               const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
               size_t n_elems, struct strait_error *err);
    /** Would `add` take these two? Looks at their heads only. NULL where `add` is. */
    bool (*summable)(const void *state, const unsigned char *a, size_t a_bytes,
                     const unsigned char *b, size_t b_bytes);
    const struct strait_codec_stream_ops *stream; /* NULL: whole tensors only */
};

/* An open codec; borrowed. */
struct strait_coder {
    const struct strait_codec_ops *ops;
    void *state;
};

/** The table of codecs, n of them, in the order of their names' appearance in `strait list`. */
const struct strait_codec_ops *const *strait_codecs(size_t *n);
/** NULL when there is no such codec. */
const struct strait_codec_ops *strait_codec_find(const char *name);
const struct strait_codec_ops *strait_codec_by_id(unsigned id);

/** Open with the fallback of every parameter. */
int strait_codec_open_default(const struct strait_codec_ops *ops, void **state,
                              struct strait_error *err);

/** NULL when the codec can be used here, else why not. */
const char *strait_codec_unavailable(const struct strait_codec_ops *ops);

/** The bound as one absolute number for x: the largest |x - y| that is allowed on a finite value.
 *  POINTWISE and RATIO have none: assert. All values non-finite, or n_elems 0: 0. */
double strait_bound_absolute(struct strait_bound bound, const float *x, size_t n_elems);
const char *strait_bound_kind_name(enum strait_bound_kind kind); /* "abs", "range", "rms", ... */
/** False when there is no such name. */
bool strait_bound_kind_parse(enum strait_bound_kind *kind, const char *name);
