/* A model update is many tensors: each encoded by its own codec, one payload for all.
 *
 *   for each tensor: u8 codec id, 7 bytes length, the codec's bytes
 *
 * Numbers of values are not in the payload: both sides know the model. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codec.h"
#include "feedback.h"

enum {
    STRAIT_BUNDLE_SLICE_BYTES = 8, /* before the bytes of each tensor */
    STRAIT_BUNDLE_CUTOFF_ELEMS = 1024
};

struct strait_slice {
    float *x; /* read by encode, written by decode */
    size_t n_elems;
    bool lossy;
    size_t n_rows;                /* rows of the tensor as a matrix; 0: a vector */
    struct strait_memory *memory; /* what its sender remembers of it; NULL: nothing. Lossy only */
};

/* What one bundle codes with. `lossy` may itself be lossless: it then gets a bound of kind NONE. */
struct strait_bundle {
    struct strait_coder lossy, lossless;
    struct strait_bound bound; /* relative kinds are relative to each tensor of its own */
    uint64_t key;              /* of chance; each slice draws from one of its own */
};

/** The rule: matrices and larger of more than cutoff_elems values are worth a lossy codec; small
 *  and one-dimensional tensors (biases, normalisation) are few bytes and sensitive. */
bool strait_slice_lossy(unsigned n_dims, size_t n_elems, size_t cutoff_elems);

/** Most bytes that strait_bundle_encode may write. */
size_t strait_bundle_max_bytes(const struct strait_bundle *bundle, const struct strait_slice *s,
                               size_t n_slices);
/** Encode all slices into out.
 *  Out:     len_bytes  bytes written
 *           raw_bytes  float32 bytes that they stand for; NULL: not wanted
 *  Returns: 0, or -1 with *err INPUT when cap_bytes < strait_bundle_max_bytes, or the codec's error
 *  Cost:    that of the codecs; no allocation */
int strait_bundle_encode(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                         size_t *len_bytes, size_t *raw_bytes, const struct strait_slice *s,
                         size_t n_slices, struct strait_error *err);
/** Decode into the slices; any bytes are safe. The codec of each tensor has to be the one that
 *  `lossy` of the slice asks for: a payload does not choose what the receiver runs.
 *  Returns: 0, or -1 with *err INPUT naming the slice */
int strait_bundle_decode(const struct strait_bundle *bundle, struct strait_slice *s,
                         size_t n_slices, const unsigned char *in, size_t len_bytes,
                         struct strait_error *err);
/** Payload of the sum of two payloads of the same slices (x is not looked at): a tensor whose codec
 *  adds and whose two streams are summable is added encoded, every other one is decoded, added in
 *  float32 and encoded within the bound.
 *  In:      scratch  float32[2 n_elems of the largest slice]
 *  Returns: 0, or -1 with *err INPUT when cap_bytes < strait_bundle_max_bytes or a payload is none
 */
int strait_bundle_add(const struct strait_bundle *bundle, unsigned char *out, size_t cap_bytes,
                      size_t *len_bytes, const struct strait_slice *s, size_t n_slices,
                      const unsigned char *a, size_t a_bytes, const unsigned char *b,
                      size_t b_bytes, float *scratch, struct strait_error *err);
