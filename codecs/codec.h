/* The interface of a codec, and the one table of all codecs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "core/param.h"

/* Bounds. max, min and rms are those of the tensor's finite values, computed in double. */
enum strait_bound_kind {
    STRAIT_BOUND_NONE,      /* the codec has no bound */
    STRAIT_BOUND_ABS,       /* |x - y| <= value */
    STRAIT_BOUND_RANGE,     /* |x - y| <= value * (max - min) */
    STRAIT_BOUND_RMS,       /* |x - y| <= value * rms */
    STRAIT_BOUND_POINTWISE, /* |x - y| <= value * |x| */
    STRAIT_BOUND_RATIO,     /* a size target: the codec picks the ABS bound for about value : 1 */
    N_STRAIT_BOUNDS
};
struct strait_bound {
    enum strait_bound_kind kind;
    double value;
};

enum strait_codec_flag {
    STRAIT_CODEC_LOSSLESS = 1,    /* every bit is restored, NaN payloads included */
    STRAIT_CODEC_BOUNDED = 2,     /* keeps a strait_bound on every finite value */
    STRAIT_CODEC_STATEFUL = 4,    /* encode keeps state: one state per tensor and rank */
    STRAIT_CODEC_SPARSE = 8,      /* sends chosen elements only; the others decode to 0 */
    STRAIT_CODEC_STOCHASTIC = 16, /* draws random numbers from the request's key */
    STRAIT_CODEC_UNBIASED = 32,   /* the mean of decoded values over all keys is x */
    STRAIT_CODEC_SHARED_KEY = 64, /* summable only if all ranks use one key in a round */
    STRAIT_CODEC_MACHINE = 128,   /* bytes may differ between machines, or between versions of a
                                   * library that writes them or sums in its own order */
    STRAIT_CODEC_LINEAR = 256,    /* streams add to the stream of the sum; decode alone chooses what
                                   * is left of it */
    STRAIT_CODEC_AGREED = 512,    /* summable only if all ranks encode with one `scale` */
    STRAIT_CODEC_MOMENTUM = 1024  /* what is sent is a momentum, its factor the first parameter */
};

/* What ranks agreed on before they sum (strait_codec_statistics). */
struct strait_agreed {
    const uint32_t *words; /* of the tensor that these values are of, or a part; NULL: none */
    size_t first;          /* where in it they begin */
    unsigned n_ranks;      /* whose values are added up in them; for encode */
};

/* Arguments of encode beside the values. */
struct strait_request {
    struct strait_bound bound;
    uint64_t key;           /* of the random draws: equal keys, equal draws; for STOCHASTIC only */
    uint64_t own;           /* of draws that ranks with one key make each for itself: SHARED_KEY */
    uint64_t common;        /* a key that all ranks have for these values, and */
    unsigned rank, n_ranks; /* which of them encodes: draws can make up for those of the others;
                             * n_ranks 0: there are none */
    float scale;   /* AGREED: the largest of all ranks' norms (strait_norm_of); 0: x's own */
    size_t n_rows; /* rows of the tensor as a row-major matrix; 0: a vector */
    double share;  /* of the values that `dgc` sends, in the place of its ratio; 0: as that says */
    const float *reference; /* values that the receiver has, as many as are encoded, for a codec
                             * with decode_from; else NULL */
    struct strait_agreed agreed;
};

/* For a codec whose partial sums are all coded by the same statistics: ranks add up those of what
 * each of them has, once before the sum, and hops send none. */
struct strait_codec_statistics {
    unsigned param; /* number of the codec's parameter that is 0 where they are wanted */
    /** Words of a tensor, 4 bytes each. */
    size_t (*n_words)(size_t n_elems);
    /** Out: words of one rank's tensor. */
    void (*measure)(uint32_t *words, const float *x, size_t n_elems);
    /** Add other ranks' words to `sum`. */
    void (*merge)(uint32_t *sum, const uint32_t *more, size_t n_words);
    /** Out: words, as encode and decode take them. In: sum: all ranks' words of all tensors that
     *  are summed in one call. Errors: NOMEM */
    int (*settle)(void *state, uint32_t *words, const uint32_t *sum, size_t n_words,
                  unsigned n_ranks, struct strait_error *err);
    /** As the codec's decode, of what was encoded with the same words. */
    int (*decode)(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_agreed agreed, struct strait_error *err);
    /** Encoded size that is expected on average over a model. */
    size_t (*predict)(const void *state, size_t n_elems);
};

/* Coding piece by piece, so that encoding, sending and decoding overlap. */
struct strait_codec_stream_ops {
    size_t piece_elems; /* values of each piece, in order; the last may have fewer */

    /** Start encoding. Out: stream, freed by `end`. In: x: the whole tensor, borrowed until then;
     *  relative bounds need all of it. */
    int (*begin)(void *state, void **stream, const float *x, size_t n_elems,
                 struct strait_request request, struct strait_error *err);
    /** Encode the next piece. Out: n_done: values encoded so far; len_bytes: bytes of this piece.
     *  cap_bytes >= piece_max_bytes. */
    int (*put)(void *stream, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
               size_t *n_done, struct strait_error *err);
    size_t (*piece_max_bytes)(const void *state, size_t n_elems);
    void (*end)(void *stream); /* free a stream of begin or begin_decode at any time */

    int (*begin_decode)(void *state, void **stream, float *y, size_t n_elems,
                        struct strait_error *err);
    /** Decode the next piece: exactly the bytes of one put. Any input bytes are safe. */
    int (*get)(void *stream, size_t *n_done, const unsigned char *in, size_t len_bytes,
               struct strait_error *err);
};

/** Is given the positions of a tensor that a stream holds, and their values, 4 bytes each. */
typedef void (*strait_codec_take)(void *context, const uint32_t *index, const unsigned char *values,
                                  size_t n);

/* Unless STATEFUL, any number of threads may use one state at once. */
struct strait_codec_ops {
    const char *name;
    /* "lossless", "error-bounded", "quantiser", "sign", "sparsifier", "low-rank" */
    const char *family;
    const char *source; /* paper, library and version, or "own" */
    unsigned id;        /* identifies the codec on the wire, 1..255, never reused */
    unsigned flags;     /* enum strait_codec_flag */
    unsigned bounds;    /* bit (1u << enum strait_bound_kind) for each supported bound */
    const struct strait_param *params; /* n_params of them */
    unsigned n_params;
    struct { /* memory (feedback.h) that the source trains with: the default */
        bool residual;
        double momentum; /* 0: none */
        double decay;    /* of the residual; 0: 1, nothing is forgotten */
    } memory;

    /** NULL, or the reason why the codec cannot be used here ("libSZ3c.so is not installed"). NULL
     *  member: always available. */
    const char *(*unavailable)(void);
    size_t state_bytes; /* of the state that init fills; 0: open allocates it, if there is any */
    /** Fill a zeroed state. In: params[n_params] in the declared order, each within its range. */
    void (*init)(void *state, const struct strait_codec_ops *ops, const double *params);
    /** Instead of init. Out: state, freed by close. */
    int (*open)(void **state, const struct strait_codec_ops *ops, const double *params,
                struct strait_error *err);
    void (*close)(void *state); /* never NULL; free, unless open took more than one allocation */
    const void *kernel; /* what the codec adds to its family's functions; NULL: written alone */
    /** Upper limit of the bytes that encode writes for n_elems values. */
    size_t (*max_bytes)(const void *state, size_t n_elems);
    bool fixed_size; /* encode always writes max_bytes */
    /** Encoded size if it follows from the shape alone, else 0. NULL: never, or fixed_size. */
    size_t (*predict)(const void *state, size_t n_elems, size_t n_rows);
    /** Size of a sum of n_added > 1 streams, where it follows from the shape but is not that of one
     *  of them. NULL: as one of them. */
    size_t (*predict_sum)(const void *state, size_t n_elems, unsigned n_added);
    /** Encode x[n_elems] into out, which has room for max_bytes. strait_codec_encode, the caller,
     *  has checked that and the bound. The state keeps scratch memory until close, one buffer for
     *  each thread that ran at the same time. */
    int (*encode)(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                  size_t n_elems, struct strait_request request, struct strait_error *err);
    /** Decode into y[n_elems]; changes no state, STATEFUL or not. Any input bytes are safe: INPUT
     *  when they are not a stream of this codec with n_elems values. */
    int (*decode)(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err);
    /** Decode what was encoded with a reference: these n_elems values. NULL: the codec takes none,
     *  and differences are formed for it (reference.h). */
    int (*decode_from)(void *state, float *y, const float *reference, size_t n_elems,
                       const unsigned char *in, size_t len_bytes, struct strait_error *err);
    /** Read the contents of a SPARSE codec's stream: calls `take` once with its n positions,
     *  ascending, and their decoded values; all other values decode to 0. Cost: O(n). NULL: only
     *  decode shows the contents. Returns: 0, or -1 with *err as decode */
    int (*sent)(void *state, size_t n_elems, const unsigned char *in, size_t len_bytes,
                strait_codec_take take, void *context, struct strait_error *err);
    /** Add two encoded streams without decoding; needed by all-reduces of encoded tensors. NULL:
     *  never.
     *  Out:     out, len_bytes: a stream that decodes to the sum of what a and b decode to (LINEAR:
     *           what the stream of the sum of both tensors decodes to), at most
     *           max_bytes(n_elems) long; cap_bytes is at least that.
     *  Returns: 0, or -1 with *err INPUT when a or b is not a stream of n_elems values, or they
     *           differ in step, seed or the like; out is then undefined */
    int (*add)(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
               const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
               size_t n_elems, struct strait_error *err);
    /** Whether `add` accepts these two; reads their heads only. NULL if `add` is NULL. */
    bool (*summable)(const void *state, const unsigned char *a, size_t a_bytes,
                     const unsigned char *b, size_t b_bytes);
    const struct strait_codec_stream_ops *stream;     /* NULL: whole tensors only */
    const struct strait_codec_statistics *statistics; /* NULL: ranks need not agree on any */
};

/* An open codec; both pointers borrowed. */
struct strait_coder {
    const struct strait_codec_ops *ops;
    void *state;
};

/** The table of codecs, n of them, in the order of `strait list codecs`. */
const struct strait_codec_ops *const *strait_codecs(size_t *n);
/** NULL when there is no such codec. */
const struct strait_codec_ops *strait_codec_find(const char *name);
const struct strait_codec_ops *strait_codec_by_id(unsigned id);

/** Open a codec. Out: state, freed by ops->close. In: params[n_params] in the declared order.
 *  Errors: INPUT when a parameter is outside its declared range, NOMEM, HOST */
int strait_codec_open(const struct strait_codec_ops *ops, void **state, const double *params,
                      struct strait_error *err);
/** Encode; see the member. Errors: INPUT when cap_bytes < max_bytes(n_elems), or when the bound is
 *  not one of `bounds`, not finite or below 0. */
int strait_codec_encode(const struct strait_codec_ops *ops, void *state, unsigned char *out,
                        size_t cap_bytes, size_t *len_bytes, const float *x, size_t n_elems,
                        struct strait_request request, struct strait_error *err);
/** Decode what was encoded with the same words; without any (NULL) as ops->decode. */
int strait_codec_decode(const struct strait_codec_ops *ops, void *state, float *y, size_t n_elems,
                        const unsigned char *in, size_t len_bytes, struct strait_agreed agreed,
                        struct strait_error *err);
/** Encoded size if it follows from the shape alone, else 0. */
size_t strait_codec_predict(const struct strait_codec_ops *ops, const void *state, size_t n_elems,
                            size_t n_rows);
/** Open with the default of every parameter. */
int strait_codec_open_default(const struct strait_codec_ops *ops, void **state,
                              struct strait_error *err);

/** NULL when the codec can be used here, else the reason why not. */
const char *strait_codec_unavailable(const struct strait_codec_ops *ops);

/** The bound as one absolute error for x. Asserts that the kind is not POINTWISE or RATIO, which
 *  have none. 0 if no value is finite or n_elems is 0. */
double strait_bound_absolute(struct strait_bound bound, const float *x, size_t n_elems);
const char *strait_bound_kind_name(enum strait_bound_kind kind); /* "abs", "range", "rms", ... */
/** False when there is no such name. */
bool strait_bound_kind_parse(enum strait_bound_kind *kind, const char *name);
