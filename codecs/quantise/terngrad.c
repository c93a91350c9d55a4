/* TernGrad: each value becomes -s, 0 or s, where s is the largest magnitude after clipping, drawn
 * so that the mean is the (clipped) value.
 *
 *   u8      codec id
 *   u8      payload: 0 packed, 1 published, 2 two bits
 *   u8      number of values mod 256, which the length leaves open
 *   f32     s
 *   codes   packed: five values a byte, t0 + 3 t1 + 9 t2 + 27 t3 + 81 t4 with t of 0, 1, 2 for
 *           -s, 0, s; in blocks of 320 values value 64 k + j is digit k of byte j, in a last block
 *           of n values m k + j with m = ceil(n / 5); absent digits are 0
 *           published: one signed byte each; two bits: t, four values a byte
 *
 * Clipping is at `clip` standard deviations about 0, as published; clip 0 is off. If the spread is
 * below 2^-20 of the mean (a constant tensor, a single value) nothing is clipped: published code
 * sends zeros there. Values that are not finite count as 0.
 *
 * With clip 0 it is unbiased up to the rounding of float32, 2^-23 of the value, and of a draw,
 * 2^-30 of s; with clipping it is biased. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"

enum { HEAD_BYTES = 7, DIGITS = 5, BLOCK_BYTES = 64, BLOCK = DIGITS * BLOCK_BYTES };
enum { PIECE = 12 * BLOCK, N_LANES = 8 };
enum payload { PACKED, PUBLISHED, TWO_BITS };

struct state {
    double clip;
    enum payload payload;
};

static const char *const payloads[] = {"packed", "published", "two_bits", NULL};
static const struct strait_param params[] = {
    {"clip", "values are clipped at so many standard deviations; 0: not at all", .min = 0,
     .max = 1000, .fallback = 2.5},
    {"payload", "five values a byte, the byte a value of published code, or four values a byte",
     .min = 0, .max = 2, .fallback = PACKED, .choices = payloads},
};

static void terngrad_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    *(struct state *)state = (struct state){values[0], (enum payload)values[1]};
}

static size_t code_bytes(enum payload payload, size_t n)
{
    if (payload == PUBLISHED)
        return n;
    return payload == TWO_BITS ? strait_packed_bytes(n, 2) : n / DIGITS + (n % DIGITS != 0);
}

static size_t terngrad_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    return HEAD_BYTES + code_bytes(s->payload, n_elems);
}

struct moments {
    double sum, squares;
};

/* In double, in eight interleaved lanes, which are then added in order. */
STRAIT_CLONED
static struct moments moments_of(const float *x, size_t n)
{
    double sums[N_LANES] = {0}, squares[N_LANES] = {0};
    struct moments m = {0};
    size_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++) {
            const double v = (double)strait_finite(x[i + k]);
            sums[k] += v;
            squares[k] += v * v;
        }
    for (; i < n; i++) {
        const double v = (double)strait_finite(x[i]);
        sums[i % N_LANES] += v;
        squares[i % N_LANES] += v * v;
    }
    for (size_t k = 0; k < N_LANES; k++) {
        m.sum += sums[k];
        m.squares += squares[k];
    }
    return m;
}

STRAIT_CLONED
static float largest(const float *x, size_t n)
{
    return strait_largest(x, n);
}

static float scale_of(const float *x, size_t n, double clip)
{
    const float max = largest(x, n);
    if (n == 0 || !(clip > 0))
        return max;
    const struct moments m = moments_of(x, n);
    const double mean = m.sum / (double)n, variance = m.squares / (double)n - mean * mean;
    if (!(variance > 0x1p-40 * mean * mean))
        return max;
    const double most = clip * sqrt(variance);
    return most < (double)max ? (float)most : max;
}

/* 0, 1 or 2 for -s, 0 or s. s is not 0. */
STRAIT_CLONED
static void quantise(uint8_t *trits, const float *x, uint32_t n, uint32_t first,
                     struct strait_chance chance, float s)
{
    for (uint32_t i = 0; i < n; i++) {
        const float a = strait_finite_abs(x[i]);
        const int32_t other = strait_chance_below(chance, first + i, (a < s ? a : s) / s);
        const int32_t minus = -(int32_t)(strait_bits_of(x[i]) >> 31);
        trits[i] = (uint8_t)(1 + ((other ^ minus) - minus));
    }
}

/* m bytes of five digits each from 5 m values. */
STRAIT_INLINE void join(unsigned char *out, const uint8_t *t, uint32_t m)
{
    for (uint32_t j = 0; j < m; j++)
        out[j] = (unsigned char)(t[j] + 3 * t[m + j] + 9 * t[2 * m + j] + 27 * t[3 * m + j] +
                                 81 * t[4 * m + j]);
}

/* Nonzero if a byte is not five digits. v * 171 >> 9 is v / 3 for every byte v. */
STRAIT_INLINE unsigned split(uint8_t *t, const unsigned char *in, uint32_t m)
{
    unsigned char bad = 0;
    for (uint32_t j = 0; j < m; j++) {
        const uint16_t a = in[j], b = (uint16_t)(a * 171) >> 9, c = (uint16_t)(b * 171) >> 9,
                       d = (uint16_t)(c * 171) >> 9, e = (uint16_t)(d * 171) >> 9;
        t[j] = (uint8_t)(a - 3 * b);
        t[m + j] = (uint8_t)(b - 3 * c);
        t[2 * m + j] = (uint8_t)(c - 3 * d);
        t[3 * m + j] = (uint8_t)(d - 3 * e);
        t[4 * m + j] = (uint8_t)e;
        bad |= (unsigned char)(e == 3);
    }
    return bad;
}

STRAIT_CLONED
static void join_blocks(unsigned char *out, const uint8_t *trits, size_t n_blocks)
{
    for (size_t b = 0; b < n_blocks; b++)
        join(out + b * BLOCK_BYTES, trits + b * BLOCK, BLOCK_BYTES);
}

STRAIT_CLONED
static unsigned split_blocks(uint8_t *trits, const unsigned char *in, size_t n_blocks)
{
    unsigned bad = 0;
    for (size_t b = 0; b < n_blocks; b++)
        bad |= split(trits + b * BLOCK, in + b * BLOCK_BYTES, BLOCK_BYTES);
    return bad;
}

static void put_trits(unsigned char *out, const uint8_t *trits, size_t n, enum payload payload)
{
    const size_t n_blocks = n / BLOCK, rest = n % BLOCK;
    uint16_t codes[PIECE];
    uint8_t last[BLOCK] = {0};
    switch (payload) {
    case PACKED:
        join_blocks(out, trits, n_blocks);
        memcpy(last, trits + n_blocks * BLOCK, rest);
        join(out + n_blocks * BLOCK_BYTES, last, (uint32_t)((rest + DIGITS - 1) / DIGITS));
        return;
    case PUBLISHED:
        for (size_t i = 0; i < n; i++)
            out[i] = (unsigned char)(trits[i] - 1);
        return;
    case TWO_BITS:
        for (size_t i = 0; i < n; i++)
            codes[i] = trits[i];
        strait_pack(out, codes, n, 2);
        return;
    }
}

/* False if a code is not a value. */
static bool get_trits(uint8_t *trits, const unsigned char *in, size_t n, enum payload payload)
{
    const size_t n_blocks = n / BLOCK, rest = n % BLOCK;
    uint16_t codes[PIECE];
    uint8_t last[BLOCK];
    unsigned bad = 0;
    switch (payload) {
    case PACKED:
        bad = split_blocks(trits, in, n_blocks);
        bad |= split(last, in + n_blocks * BLOCK_BYTES, (uint32_t)((rest + DIGITS - 1) / DIGITS));
        memcpy(trits + n_blocks * BLOCK, last, rest);
        break;
    case PUBLISHED:
        for (size_t i = 0; i < n; i++) {
            trits[i] = (uint8_t)(in[i] + 1);
            bad |= trits[i] > 2;
        }
        break;
    case TWO_BITS:
        strait_unpack(codes, in, n, 2);
        for (size_t i = 0; i < n; i++) {
            trits[i] = (uint8_t)codes[i];
            bad |= codes[i] > 2;
        }
    }
    return bad == 0;
}

static int terngrad_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                           size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct state *s = state;
    uint8_t trits[PIECE];
    (void)err;
    const float scale = scale_of(x, n_elems, s->clip);
    out[0] = (unsigned char)strait_codec_terngrad.id;
    out[1] = (unsigned char)s->payload;
    out[2] = (unsigned char)n_elems;
    strait_put_float(out + 3, scale);
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        if (scale > 0)
            quantise(trits, x + i, (uint32_t)n, (uint32_t)i,
                     strait_chance_at(request.key, (uint64_t)i >> 32), scale);
        else
            memset(trits, 1, n);
        put_trits(out + HEAD_BYTES + code_bytes(s->payload, i), trits, n, s->payload);
    }
    *len_bytes = terngrad_bytes(s, n_elems);
    return 0;
}

STRAIT_CLONED
static void restore(float *y, const uint8_t *trits, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((int32_t)trits[i] - 1) * scale;
}

static int terngrad_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                           size_t len_bytes, struct strait_error *err)
{
    const struct strait_codec_ops *ops = &strait_codec_terngrad;
    uint8_t trits[PIECE];
    (void)state;
    if (strait_check_head(ops, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    if (in[1] > TWO_BITS)
        return strait_refuse(err, "terngrad", "expected payload 0, 1 or 2, found %u", in[1]);
    const enum payload payload = (enum payload)in[1];
    const float scale = strait_get_float(in + 3);
    if (strait_check_count(ops, in[2], n_elems, err) != 0 ||
        strait_check_length(ops, HEAD_BYTES + code_bytes(payload, n_elems), len_bytes, err) != 0)
        return -1;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        if (!get_trits(trits, in + HEAD_BYTES + code_bytes(payload, i), n, payload))
            return strait_refuse(err, "terngrad", "expected codes of three values, found others");
        restore(y + i, trits, n, scale);
    }
    return 0;
}

const struct strait_codec_ops strait_codec_terngrad = {
    .name = "terngrad",
    .family = "quantiser",
    .source = "Wen et al. 2017, equations 1 to 3, clipping of section 3.3",
    .id = 12,
    .flags = STRAIT_CODEC_STOCHASTIC,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct state),
    .init = terngrad_init,
    .close = free,
    .max_bytes = terngrad_bytes,
    .fixed_size = true,
    .encode = terngrad_encode,
    .decode = terngrad_decode,
};
