/* fp16 and bf16: each value rounded to IEEE binary16 or to bfloat16.
 *
 *   u8      codec id
 *   u16[]   the values, little-endian
 *
 * To nearest, ties to even. fp16: |x - y| <= 2^-11 |x| from 2^-14 to 65504, at most 2^-25 below;
 * infinity from 65520 on. bf16: |x - y| <= 2^-8 |x|, the range of float32. Infinities and NaN are
 * kept; a NaN's payload is cut.
 *
 * A sum adds the decoded values and rounds once, so a sum of W streams has W - 1 more roundings,
 * like an all-reduce in half precision. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/kit/half.h"

enum { HEAD_BYTES = 1, PIECE = 4096 };

static size_t half_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return HEAD_BYTES + 2 * n_elems;
}

/* 16-bit values in the stream: little-endian, at any address. */
static void put16(unsigned char *out, const uint16_t *v, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out, v, 2 * n);
#else
    for (size_t i = 0; i < n; i++)
        strait_put16(out + 2 * i, v[i]);
#endif
}

static void get16(uint16_t *v, const unsigned char *in, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(v, in, 2 * n);
#else
    for (size_t i = 0; i < n; i++)
        v[i] = (uint16_t)strait_get16(in + 2 * i);
#endif
}

STRAIT_CLONED
static void to_half(uint16_t *v, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = strait_half_of(x[i]);
}

STRAIT_CLONED
static void to_bfloat(uint16_t *v, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = strait_bfloat_of(x[i]);
}

STRAIT_CLONED
static void from_half(float *y, const uint16_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = strait_float_of_half(v[i]);
}

STRAIT_CLONED
static void from_bfloat(float *y, const uint16_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = strait_float_of_bfloat(v[i]);
}

/* float32 has more than twice the digits of either format plus two, so rounding the float32 sum
 * equals rounding the exact sum. */
STRAIT_CLONED
static void add_halves(uint16_t *sum, const uint16_t *a, const uint16_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = strait_half_of(strait_float_of_half(a[i]) + strait_float_of_half(b[i]));
}

STRAIT_CLONED
static void add_bfloats(uint16_t *sum, const uint16_t *a, const uint16_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = strait_bfloat_of(strait_float_of_bfloat(a[i]) + strait_float_of_bfloat(b[i]));
}

static size_t piece_at(size_t i, size_t n)
{
    return n - i < PIECE ? n - i : PIECE;
}

static int encode(const struct strait_codec_ops *ops, unsigned char *out, size_t *len_bytes,
                  const float *x, size_t n_elems)
{
    uint16_t v[PIECE];
    out[0] = (unsigned char)ops->id;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = piece_at(i, n_elems);
        if (ops == &strait_codec_fp16)
            to_half(v, x + i, n);
        else
            to_bfloat(v, x + i, n);
        put16(out + HEAD_BYTES + 2 * i, v, n);
    }
    *len_bytes = half_bytes(NULL, n_elems);
    return 0;
}

static int check_stream(const struct strait_codec_ops *ops, const unsigned char *in,
                        size_t len_bytes, size_t n_elems, struct strait_error *err)
{
    if (strait_check_head(ops, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    return strait_check_length(ops, half_bytes(NULL, n_elems), len_bytes, err);
}

static int decode(const struct strait_codec_ops *ops, float *y, size_t n_elems,
                  const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    uint16_t v[PIECE];
    if (check_stream(ops, in, len_bytes, n_elems, err) != 0)
        return -1;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = piece_at(i, n_elems);
        get16(v, in + HEAD_BYTES + 2 * i, n);
        if (ops == &strait_codec_fp16)
            from_half(y + i, v, n);
        else
            from_bfloat(y + i, v, n);
    }
    return 0;
}

static int add(const struct strait_codec_ops *ops, unsigned char *out, size_t *len_bytes,
               const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
               size_t n_elems, struct strait_error *err)
{
    uint16_t u[PIECE], v[PIECE];
    if (check_stream(ops, a, a_bytes, n_elems, err) != 0 ||
        check_stream(ops, b, b_bytes, n_elems, err) != 0)
        return -1;
    out[0] = (unsigned char)ops->id;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = piece_at(i, n_elems), at = HEAD_BYTES + 2 * i;
        get16(u, a + at, n);
        get16(v, b + at, n);
        if (ops == &strait_codec_fp16)
            add_halves(u, u, v, n);
        else
            add_bfloats(u, u, v, n);
        put16(out + at, u, n);
    }
    *len_bytes = half_bytes(NULL, n_elems);
    return 0;
}

static bool summable(const struct strait_codec_ops *ops, const unsigned char *a, size_t a_bytes,
                     const unsigned char *b, size_t b_bytes)
{
    return a_bytes >= HEAD_BYTES && a_bytes == b_bytes && a[0] == ops->id && b[0] == ops->id;
}

static int fp16_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err)
{
    (void)state;
    (void)request;
    (void)err;
    return encode(&strait_codec_fp16, out, len_bytes, x, n_elems);
}

static int fp16_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    (void)state;
    return decode(&strait_codec_fp16, y, n_elems, in, len_bytes, err);
}

static int fp16_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                    const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
                    size_t n_elems, struct strait_error *err)
{
    (void)state;
    (void)cap_bytes;
    return add(&strait_codec_fp16, out, len_bytes, a, a_bytes, b, b_bytes, n_elems, err);
}

static bool fp16_summable(const void *state, const unsigned char *a, size_t a_bytes,
                          const unsigned char *b, size_t b_bytes)
{
    (void)state;
    return summable(&strait_codec_fp16, a, a_bytes, b, b_bytes);
}

static int bf16_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err)
{
    (void)state;
    (void)request;
    (void)err;
    return encode(&strait_codec_bf16, out, len_bytes, x, n_elems);
}

static int bf16_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    (void)state;
    return decode(&strait_codec_bf16, y, n_elems, in, len_bytes, err);
}

static int bf16_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                    const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
                    size_t n_elems, struct strait_error *err)
{
    (void)state;
    (void)cap_bytes;
    return add(&strait_codec_bf16, out, len_bytes, a, a_bytes, b, b_bytes, n_elems, err);
}

static bool bf16_summable(const void *state, const unsigned char *a, size_t a_bytes,
                          const unsigned char *b, size_t b_bytes)
{
    (void)state;
    return summable(&strait_codec_bf16, a, a_bytes, b, b_bytes);
}

const struct strait_codec_ops strait_codec_fp16 = {
    .name = "fp16",
    .family = "quantiser",
    .source = "IEEE 754-2019 binary16",
    .id = 5,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .close = free,
    .max_bytes = half_bytes,
    .fixed_size = true,
    .encode = fp16_encode,
    .decode = fp16_decode,
    .add = fp16_add,
    .summable = fp16_summable,
};

const struct strait_codec_ops strait_codec_bf16 = {
    .name = "bf16",
    .family = "quantiser",
    .source = "bfloat16: the upper half of a float32",
    .id = 6,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .close = free,
    .max_bytes = half_bytes,
    .fixed_size = true,
    .encode = bf16_encode,
    .decode = bf16_decode,
    .add = bf16_add,
    .summable = bf16_summable,
};
