/* Checks at the beginning of decode, and arithmetic on the bits of floats. */
#pragma once
#include <math.h>
#include <string.h>
#include "codecs/bound.h"
#include "core/host.h"

/** Check that the stream is as long as its head says, for n_elems values. */
static inline int strait_check_length(const struct strait_codec_ops *ops, size_t expected_bytes,
                                      size_t len_bytes, struct strait_error *err)
{
    if (len_bytes != expected_bytes)
        return strait_error_set(err, STRAIT_ERR_INPUT, ops->name, "expected %zu bytes, found %zu",
                                expected_bytes, len_bytes);
    return 0;
}

/** Check the number of values mod 256, which the codec sends. */
static inline int strait_check_count(const struct strait_codec_ops *ops, unsigned char sent,
                                     size_t n_elems, struct strait_error *err)
{
    if (sent != (n_elems & 255))
        return strait_error_set(err, STRAIT_ERR_INPUT, ops->name,
                                "expected %zu mod 256 values, found %u", n_elems & 255, sent);
    return 0;
}

/** Check that the stream has at least `head_bytes` bytes and begins with the codec's id. */
static inline int strait_check_head(const struct strait_codec_ops *ops, const unsigned char *in,
                                    size_t len_bytes, size_t head_bytes, struct strait_error *err)
{
    if (len_bytes < head_bytes || in[0] != ops->id)
        return strait_error_set(err, STRAIT_ERR_INPUT, ops->name, "expected a stream of %s",
                                ops->name);
    return 0;
}

STRAIT_INLINE uint32_t strait_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

STRAIT_INLINE float strait_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/** `yes` or `no`, selected by a mask: a conditional expression prevents vectorisation of loops that
 *  compute with floats, since the branch not taken might trap. */
STRAIT_INLINE uint32_t strait_choose_bits(bool which, uint32_t yes, uint32_t no)
{
    const uint32_t mask = -(uint32_t)which;
    return no ^ ((yes ^ no) & mask);
}

/** |x|, or 0 where x is not finite. */
STRAIT_INLINE float strait_finite_abs(float x)
{
    const uint32_t magnitude = strait_bits_of(x) & 0x7fffffffu;
    return strait_float_of(strait_choose_bits((int32_t)magnitude < 0x7f800000, magnitude, 0));
}

/** x, or 0 where it is not finite. */
STRAIT_INLINE float strait_finite(float x)
{
    const uint32_t bits = strait_bits_of(x);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return strait_float_of(strait_choose_bits(finite, bits, 0));
}

/** The largest magnitude of a finite value, 0 where there is none. */
STRAIT_INLINE float strait_largest(const float *x, size_t n)
{
    int32_t most = 0; /* magnitudes compare like their bits */
    for (size_t i = 0; i < n; i++) {
        const int32_t a = (int32_t)strait_bits_of(strait_finite_abs(x[i]));
        most = a > most ? a : most;
    }
    return strait_float_of((uint32_t)most);
}
