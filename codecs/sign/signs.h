/* Signs of a tensor on the wire, and the sums over its two sides: what the sign codecs share. A
 * value that is not below 0 is positive: +0, -0 and NaN too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codecs/codec.h"

/* "packed": a bit a value, the first value in the lowest bit of the first byte, 1 for positive, the
 * last byte filled with 0. "published": a byte a value, 0 or 1, as the published implementations
 * send it. The number of bytes tells which; of one value both are the same byte. */
extern const char *const strait_sign_payload_names[]; /* choices of the parameter `payload` */

size_t strait_sign_bytes(size_t n_elems, bool published);
/** Write strait_sign_bytes(n_elems, published) of them. */
void strait_put_signs(unsigned char *out, const float *x, size_t n_elems, bool published);
/** Is this the number of bytes of n_elems signs in one of the two forms? */
bool strait_is_sign_bytes(size_t len_bytes, size_t n_elems);
/** Give each value the number of its side. In: len_bytes  is one of the two forms
 *  Returns: false when these are no such signs; y is then undefined */
bool strait_get_signs(float *y, const unsigned char *in, size_t len_bytes, size_t n_elems,
                      float negative, float positive);

/* Sums of the magnitudes, in double over eight interleaved lanes; what is not finite counts as 0.
 */
struct strait_sign_sums {
    double negative, positive;
    size_t n_negative;
};
struct strait_sign_sums strait_sign_sums_of(const float *x, size_t n_elems);

/* A codec's state where the payload's form is all there is to remember; freed by free. */
struct strait_sign_state {
    bool published;
};
/** Out: state. In: payload  of the codec's parameters; name of the codec, for the error */
int strait_sign_open(void **state, double payload, const char *name, struct strait_error *err);
