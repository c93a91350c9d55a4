/* A model update is many tensors: each is encoded by its own codec, all into one payload.
 *
 *   for each tensor: u8 codec id, 7 bytes length, the codec's bytes
 *
 * The numbers of values are not in the payload: both sides know the model. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codec.h"
#include "feedback.h"

enum {
    STRAIT_BUNDLE_SLICE_BYTES = 8, /* codec id and length before the bytes of each tensor */
    STRAIT_BUNDLE_CUTOFF_ELEMS = 1024
};

struct strait_slice {
    float *x; /* read by encode, written by decode */
    size_t n_elems;
    bool lossy;
    size_t n_rows; /* number of rows as a matrix; 0: a vector */
    struct strait_feedback
        *memory;               /* the sender's error feedback; NULL: none. Lossy tensors only */
    struct strait_bound bound; /* this tensor's own; kind NONE: the bundle's */
    float scale;               /* struct strait_request */
    const float *reference;    /* what the receiver has, for a codec with decode_from; else NULL */
    struct strait_agreed agreed; /* struct strait_request; lossy tensors only */
};

/* The codecs of a payload. `lossy` may itself be a lossless codec: its bound then has kind NONE. */
struct strait_bundle {
    struct strait_coder lossy, lossless;
    struct strait_bound bound; /* relative kinds are relative to each tensor */
    uint64_t key, own, common; /* of the random draws; each tensor derives its own */
    unsigned rank, n_ranks;    /* struct strait_request */
    double share;              /* struct strait_request */
};

/** Whether a tensor gets the lossy codec: matrices and larger with more than cutoff_elems values
 *  do. Small and one-dimensional tensors (biases, normalisation) are few bytes and sensitive to
 *  errors. */
bool strait_slice_lossy(unsigned n_dims, size_t n_elems, size_t cutoff_elems);

/** Upper limit of the bytes that strait_bundle_encode writes. */
size_t strait_bundle_max_bytes(const struct strait_bundle *bundle, const struct strait_slice *s,
                               size_t n_slices);
/** Encode all tensors into out.
 *  Out:     len_bytes  bytes written
 *           raw_bytes  float32 bytes of the values; may be NULL
 *  Returns: 0, or -1 with *err INPUT when cap_bytes < strait_bundle_max_bytes, or the codec's error
 *  Cost:    that of the codecs; no allocation */
int strait_bundle_encode(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                         size_t *len_bytes, size_t *raw_bytes, const struct strait_slice *s,
                         size_t n_slices, struct strait_error *err);
/** Decode into the tensors; any input bytes are safe. Each tensor must have been encoded by the
 *  codec that its `lossy` selects: a payload cannot choose what the receiver runs.
 *  Returns: 0, or -1 with *err INPUT naming the tensor */
int strait_bundle_decode(const struct strait_bundle *bundle, struct strait_slice *s,
                         size_t n_slices, const unsigned char *in, size_t len_bytes,
                         struct strait_error *err);
/** Add two payloads of the same tensors (x is not read). A tensor whose codec can add the two
 *  streams is added encoded; any other is decoded, added in float32 and encoded within the bound.
 *  In:      scratch  float32[2 n_elems of the largest tensor]
 *  Returns: 0, or -1 with *err INPUT when cap_bytes < strait_bundle_max_bytes or a payload is
 *           malformed */
int strait_bundle_add(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                      size_t *len_bytes, const struct strait_slice *s, size_t n_slices,
                      const unsigned char *a, size_t a_bytes, const unsigned char *b,
                      size_t b_bytes, float *scratch, struct strait_error *err);
