/* What a codec is, and the one table of all codecs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../core/error.h"

/* Bounds, one definition each; max, min and rms are taken in double over the finite values. */
enum strait_bound_kind {
    STRAIT_BOUND_NONE,     /* the codec has no bound to keep */
    STRAIT_BOUND_ABS,      /* |x - y| <= value */
    STRAIT_BOUND_RANGE,    /* |x - y| <= value * (max - min) of the tensor */
    STRAIT_BOUND_RMS,      /* |x - y| <= value * rms of the tensor */
    STRAIT_BOUND_POINTWISE /* |x - y| <= value * |x| */
};
struct strait_bound {
    enum strait_bound_kind kind;
    double value;
};

enum strait_codec_flag {
    STRAIT_CODEC_LOSSLESS = 1, /* every bit back, NaN payloads included */
    STRAIT_CODEC_BOUNDED = 2,  /* keeps a strait_bound on every finite value */
    STRAIT_CODEC_STATEFUL = 4, /* the order of calls matters */
    STRAIT_CODEC_SPARSE = 8    /* sends chosen elements only */
};

struct strait_codec_param { /* a number that `open` takes, as declared */
    const char *name, *doc;
    double min, max, fallback;
};

/* Unless STATEFUL, any number of threads may encode and decode with one state at once. */
struct strait_codec_ops {
    const char *name;
    const char *family; /* "lossless", "error-bounded", ... */
    const char *source; /* paper, library and version, or "own" */
    unsigned id;        /* on the wire, 1..255, never reused */
    unsigned flags;     /* enum strait_codec_flag */
    unsigned bounds;    /* bit (1u << enum strait_bound_kind) for each bound that it keeps */
    const struct strait_codec_param *params; /* n_params of them */
    unsigned n_params;

    /** Out: state, freed by close. In: params[n_params] in the declared order. */
    int (*open)(void **state, const double *params, struct strait_error *err);
    void (*close)(void *state);
    /** Most bytes that encode may write for n_elems values, whatever they are. */
    size_t (*max_bytes)(const void *state, size_t n_elems);
    /** Bytes that encode will write where these follow from n_elems alone, else 0. NULL: never. */
    size_t (*predict)(const void *state, size_t n_elems);
    /** Encode x[n_elems] into out. Errors: INPUT when cap_bytes < max_bytes(n_elems) or the bound
     *  is not one of `bounds` or not finite and >= 0. Scratch memory stays in the state until
     *  close, one piece for each thread that was ever inside. */
    int (*encode)(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                  const float *x, size_t n_elems, struct strait_bound bound,
                  struct strait_error *err);
    /** Decode into y[n_elems]. Any bytes at all are safe: INPUT when they are not such a stream,
     *  or not one of n_elems values. */
    int (*decode)(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err);
};

/** The table of codecs, n of them, in the order of their names' appearance in `strait list`. */
const struct strait_codec_ops *const *strait_codecs(size_t *n);
/** NULL when there is no such codec. */
const struct strait_codec_ops *strait_codec_find(const char *name);
const struct strait_codec_ops *strait_codec_by_id(unsigned id);

/** Open with the fallback of every parameter. */
int strait_codec_open_default(const struct strait_codec_ops *ops, void **state,
                              struct strait_error *err);

/** The bound as one absolute number for x: the largest |x - y| that is allowed on a finite value.
 *  POINTWISE has none: assert. All values non-finite, or n_elems 0: 0. */
double strait_bound_absolute(struct strait_bound bound, const float *x, size_t n_elems);
const char *strait_bound_kind_name(enum strait_bound_kind kind); /* "abs", "range", "rms", ... */
/** False when there is no such name. */
bool strait_bound_kind_parse(enum strait_bound_kind *kind, const char *name);
