/* Signs of a tensor on the wire, and sums over positive and negative values: common to the sign
 * codecs. Values that are not below 0 are positive, including +0, -0 and NaN. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codecs/codec.h"

/* Forms of the payload. "packed": a bit a value, the first value in the lowest bit of the first
 * byte, 1 for positive, the last byte padded with 0. "published": a byte a value, 0 or 1, as the
 * published implementations send it. The length tells which; for one value both are the same
 * byte. */
extern const char *const strait_sign_payload_names[]; /* choices of the parameter `payload` */

/* Sums of magnitudes by sign, in double over eight interleaved lanes; non-finite values count as
 * 0. */
struct strait_sign_sums {
    double negative, positive;
    size_t n_negative;
};
struct strait_sign_sums strait_sign_sums_of(const float *x, size_t n_elems);

/* What a sign codec sends beside the signs. Wire: the id, the scales, the signs. */
struct strait_sign_kernel {
    unsigned n_scales; /* 0: decoded to -1 and 1; 1: s, to -s and s; 2: to the one and the other */
    void (*scales_of)(float *scales, const float *x, size_t n_elems);
};

/* State of a codec with a struct strait_sign_kernel, or the beginning of its state. */
struct strait_sign_state {
    const struct strait_codec_ops *ops;
    const struct strait_sign_kernel *kernel;
    bool published;
};

/* Members of struct strait_codec_ops for codecs whose one parameter is the payload's form. */
extern const struct strait_param strait_sign_params[1];
void strait_sign_init(void *state, const struct strait_codec_ops *ops, const double *params);
size_t strait_sign_max_bytes(const void *state, size_t n_elems);
int strait_sign_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err);
int strait_sign_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err);

/* These members of a codec whose one parameter is the payload's form. of: its kernel. */
#define STRAIT_SIGN_CODEC(of)                                                                      \
    .family = "sign", .bounds = 1u << STRAIT_BOUND_NONE, STRAIT_PARAMS(strait_sign_params),        \
    .kernel = (of), .state_bytes = sizeof(struct strait_sign_state), .init = strait_sign_init,     \
    .close = free, .max_bytes = strait_sign_max_bytes, .fixed_size = true,                         \
    .encode = strait_sign_encode, .decode = strait_sign_decode
