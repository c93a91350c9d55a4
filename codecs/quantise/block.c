/* block and mx: values in a few bits each, in units of what their block of the flat order needs.
 *
 *   u8      codec id
 *   u8      type
 *   u8      number of values mod 256
 *   u8      0
 *   u32     values of a block; 0: the whole tensor is one
 *   scale[] of each block: block: f32, its largest magnitude; mx: u8 b, 2^(b - 127)
 *   codes   of `bits` each (pack.h), block after block without gaps
 *
 * block: x / scale times the largest value of the type, to the nearest of its values, ties to even
 * codes: whole numbers to +-127 or +-7 (two's complement), the 16 quantiles of a normal
 * distribution of NF4, or a float. |x - y| <= scale / 254 for int8, scale / 14 for int4, 0.152
 * scale for nf4. mx: b is 127 plus the exponent of the largest magnitude less that of the type's
 * largest value, so that magnitudes up to one and a fraction of it saturate, as the OCP's text has
 * it. Values that are not finite count as 0. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/kit/pack.h"
#include "core/bytes.h"
#include "minifloat.h"

enum { HEAD_BYTES = 8, PIECE = 4096, MX_BLOCK = 32, MAX_BLOCK = 1 << 20, MAX_CODES = 256 };

enum kind { WHOLE, QUANTILES, FLOAT };

struct type {
    enum kind kind;
    unsigned bits;
    float max;        /* what a block's largest magnitude becomes */
    int max_exponent; /* of max: what mx aligns */
    const struct strait_minifloat *as;
};

static const struct type block_types[] = {
    {WHOLE, 8, 127, 0, NULL},
    {WHOLE, 4, 7, 0, NULL},
    {QUANTILES, 4, 1, 0, NULL},
    {FLOAT, 8, 448, 8, &strait_e4m3},
    {FLOAT, 8, 57344, 15, &strait_e5m2},
    {FLOAT, 4, 6, 2, &strait_e2m1},
    {FLOAT, 4, 1, 0, &strait_e3m0},
};
static const char *const block_names[] = {"int8", "int4", "nf4",  "e4m3",
                                          "e5m2", "e2m1", "e3m0", NULL};

/* An int8 of mx counts 64ths: 127 / 64 is its largest value. */
static const struct type mx_types[] = {
    {FLOAT, 8, 448, 8, &strait_e4m3}, {FLOAT, 8, 57344, 15, &strait_e5m2},
    {FLOAT, 6, 28, 4, &strait_e3m2},  {FLOAT, 6, 7.5F, 2, &strait_e2m3},
    {FLOAT, 4, 6, 2, &strait_e2m1},   {WHOLE, 8, 127.0F / 64, 0, NULL},
};
static const char *const mx_names[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "int8", NULL};

/* QLoRA (arXiv 2305.14314), appendix E */
static const float nf4[16] = {
    -1.0F,
    -0.6961928009986877F,
    -0.5250730514526367F,
    -0.39491748809814453F,
    -0.28444138169288635F,
    -0.18477343022823334F,
    -0.09105003625154495F,
    0.0F,
    0.07958029955625534F,
    0.16093020141124725F,
    0.24611230194568634F,
    0.33791524171829224F,
    0.44070982933044434F,
    0.5626170039176941F,
    0.7229568362236023F,
    1.0F,
};

struct state {
    const struct strait_codec_ops *ops;
    unsigned type;
    size_t block; /* values; 0: all of a tensor */
};

static const struct strait_param block_params[] = {
    {"type",
     "of a value: whole numbers, quantiles of a normal distribution, or floats of 8 and 4 bits",
     .max = 6, .choices = block_names},
    {"block", "values that share a scale; 0: all of a tensor", STRAIT_PARAM_INTEGER,
     .max = MAX_BLOCK, .fallback = 64},
};
static const struct strait_param mx_params[] = {
    {"type", "of a value", .max = 5, .choices = mx_names},
};

static bool is_mx(const struct strait_codec_ops *ops)
{
    return ops == &strait_codec_mx;
}

static const struct type *type_of(const struct strait_codec_ops *ops, unsigned type)
{
    return is_mx(ops) ? &mx_types[type] : &block_types[type];
}

static void init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    *(struct state *)state = (struct state){.ops = ops,
                                            .type = (unsigned)values[0],
                                            .block = is_mx(ops) ? MX_BLOCK : (size_t)values[1]};
}

static size_t scale_bytes(const struct strait_codec_ops *ops)
{
    return is_mx(ops) ? 1 : sizeof(float);
}

static size_t n_blocks(size_t n_elems, size_t block)
{
    return n_elems == 0 || block == 0 ? n_elems > 0 : (n_elems - 1) / block + 1;
}

static size_t total_bytes(const struct state *s, size_t n_elems)
{
    return HEAD_BYTES + n_blocks(n_elems, s->block) * scale_bytes(s->ops) +
           strait_packed_bytes(n_elems, type_of(s->ops, s->type)->bits);
}

static size_t max_bytes(const void *state, size_t n_elems)
{
    return total_bytes(state, n_elems);
}

/* --- one block, or a part of it ------------------------------------------------------------ */

STRAIT_CLONED
static float largest(const float *x, size_t n)
{
    return strait_largest(x, n);
}

/* Two's complement of the nearest whole number to x / scale * steps. Adding 1.5 * 2^23 rounds. */
STRAIT_CLONED
static void code_whole(uint16_t *codes, const float *x, size_t n, float scale, const struct type *t,
                       float steps)
{
    const int32_t most = (1 << (t->bits - 1)) - 1;
    const uint32_t mask = (1u << t->bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const float v = strait_finite(x[i]) / scale * steps;
        const int32_t q = (int32_t)(strait_bits_of(v + 0x1.8p23f) - strait_bits_of(0x1.8p23f));
        const int32_t held = q < most ? q > -most ? q : -most : most;
        codes[i] = (uint16_t)((uint32_t)held & mask);
    }
}

STRAIT_CLONED
static void code_quantile(uint16_t *codes, const float *x, size_t n, float scale)
{
    float thresholds[15];
    for (unsigned k = 0; k < 15; k++)
        thresholds[k] = (nf4[k] + nf4[k + 1]) / 2;
    for (size_t i = 0; i < n; i++) {
        const float v = strait_finite(x[i]) / scale;
        uint16_t code = 0;
        for (unsigned k = 0; k < 15; k++)
            code = (uint16_t)(code + (v > thresholds[k]));
        codes[i] = code;
    }
}

STRAIT_CLONED
static void code_float(uint16_t *codes, const float *x, size_t n, float scale, float max,
                       const struct strait_minifloat *f)
{
    for (size_t i = 0; i < n; i++)
        codes[i] = strait_minifloat_code(strait_finite(x[i]) / scale * max, f);
}

/* The code of an exponent such that 2^exponent makes the largest magnitude of the block one of the
 * type's largest binade. */
static unsigned shared_exponent(float most, const struct type *t)
{
    int e;
    frexpf(most, &e); /* most in [2^(e - 1), 2^e) */
    const int code = 127 + e - 1 - t->max_exponent;
    return most > 0 && code > 0 ? code < 254 ? (unsigned)code : 254 : 0;
}

static float power_of(unsigned code)
{
    return code == 255 ? NAN : ldexpf(1, (int)code - 127);
}

/* What the values of a block are divided by, as it stands in the stream. */
static float put_scale(unsigned char *out, const struct state *s, const float *x, size_t n)
{
    const float most = largest(x, n);
    if (!is_mx(s->ops)) {
        strait_put_float(out, most);
        return most > 0 ? most : 1;
    }
    out[0] = (unsigned char)shared_exponent(most, type_of(s->ops, s->type));
    return power_of(out[0]);
}

static void code_values(uint16_t *codes, const struct state *s, const float *x, size_t n,
                        float scale)
{
    const struct type *t = type_of(s->ops, s->type);
    if (t->kind == WHOLE)
        code_whole(codes, x, n, scale, t, is_mx(s->ops) ? 64 : t->max);
    else if (t->kind == QUANTILES)
        code_quantile(codes, x, n, scale);
    else
        code_float(codes, x, n, scale, is_mx(s->ops) ? 1 : t->max, t->as);
}

/* --- tensors ------------------------------------------------------------------------------- */

/* Values of the block from i on, up to end. */
static size_t rest_of_block(const struct state *s, size_t i, size_t end)
{
    const size_t block_end = s->block > 0 ? (i / s->block + 1) * s->block : end;
    return (block_end < end ? block_end : end) - i;
}

static int encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                  size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct state *s = state;
    const unsigned bits = type_of(s->ops, s->type)->bits;
    unsigned char *scales = out + HEAD_BYTES,
                  *packed = scales + n_blocks(n_elems, s->block) * scale_bytes(s->ops);
    uint16_t codes[PIECE];
    float scale = 1;
    (void)request;
    (void)err;
    out[0] = (unsigned char)s->ops->id;
    out[1] = (unsigned char)s->type;
    out[2] = (unsigned char)(n_elems & 255);
    out[3] = 0;
    strait_put32(out + 4, (uint32_t)s->block);
    for (size_t from = 0; from < n_elems; from += PIECE) {
        const size_t end = n_elems - from < PIECE ? n_elems : from + PIECE;
        for (size_t i = from, n; i < end; i += n) {
            n = rest_of_block(s, i, end);
            if (s->block > 0 ? i % s->block == 0 : i == 0) {
                scale = put_scale(scales, s, x + i, rest_of_block(s, i, n_elems));
                scales += scale_bytes(s->ops);
            }
            code_values(codes + (i - from), s, x + i, n, scale);
        }
        strait_pack(packed, codes, end - from, bits);
        packed += strait_packed_bytes(end - from, bits);
    }
    *len_bytes = total_bytes(s, n_elems);
    return 0;
}

/* The values of a type's codes, in units of a block's scale. */
static void values_of(float values[MAX_CODES], const struct strait_codec_ops *ops,
                      const struct type *t)
{
    if (t->kind == FLOAT)
        strait_minifloat_values(values, t->as);
    for (int code = 0; code < 1 << t->bits; code++) {
        const int signed_code = code >= 1 << (t->bits - 1) ? code - (1 << t->bits) : code;
        if (t->kind == WHOLE)
            values[code] = (float)signed_code / (is_mx(ops) ? 64 : t->max);
        else if (t->kind == QUANTILES)
            values[code] = nf4[code];
        else if (!is_mx(ops))
            values[code] /= t->max;
    }
}

/* What the head says: this codec, a type of it, a block that it can have. */
static int read_head(struct state *s, const struct strait_codec_ops *ops, const unsigned char *in,
                     size_t len_bytes, size_t n_elems, struct strait_error *err)
{
    if (strait_check_head(ops, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    *s = (struct state){.ops = ops, .type = in[1], .block = strait_get32(in + 4)};
    if (s->type > ops->params[0].max || in[3] != 0 ||
        (is_mx(ops) ? s->block != MX_BLOCK : s->block > MAX_BLOCK))
        return strait_refuse(err, ops->name,
                             "expected a type and a block that it has, found %u and %zu", s->type,
                             s->block);
    return strait_check_count(ops, in[2], n_elems, err) != 0
               ? -1
               : strait_check_length(ops, total_bytes(s, n_elems), len_bytes, err);
}

STRAIT_CLONED
static void look_up(float *y, const uint16_t *codes, size_t n, const float *values, float scale)
{
    for (size_t i = 0; i < n; i++)
        y[i] = values[codes[i]] * scale;
}

static int decode(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err)
{
    struct state s;
    if (read_head(&s, ((const struct state *)state)->ops, in, len_bytes, n_elems, err) != 0)
        return -1;
    const struct type *t = type_of(s.ops, s.type);
    const unsigned char *scales = in + HEAD_BYTES,
                        *packed = scales + n_blocks(n_elems, s.block) * scale_bytes(s.ops);
    uint16_t codes[PIECE];
    float values[MAX_CODES], scale = 1;
    values_of(values, s.ops, t);
    for (size_t from = 0; from < n_elems; from += PIECE) {
        const size_t end = n_elems - from < PIECE ? n_elems : from + PIECE;
        strait_unpack(codes, packed, end - from, t->bits);
        packed += strait_packed_bytes(end - from, t->bits);
        for (size_t i = from, n; i < end; i += n) {
            n = rest_of_block(&s, i, end);
            if (s.block > 0 ? i % s.block == 0 : i == 0) {
                scale = is_mx(s.ops) ? power_of(scales[0]) : strait_get_float(scales);
                scales += scale_bytes(s.ops);
            }
            look_up(y + i, codes + (i - from), n, values, scale);
        }
    }
    return 0;
}

#define COMMON                                                                                     \
    .family = "quantiser", .bounds = 1u << STRAIT_BOUND_NONE, .state_bytes = sizeof(struct state), \
    .init = init, .close = free, .max_bytes = max_bytes, .fixed_size = true, .encode = encode,     \
    .decode = decode

const struct strait_codec_ops strait_codec_block = {
    .name = "block",
    .source = "blocks of int8 and int4 (ZeRO++, arXiv 2306.10209), NF4 (QLoRA, 2305.14314), FP8 "
              "(2209.05433), E3M0 (streaming DiLoCo, 2501.18512)",
    .id = 34,
    STRAIT_PARAMS(block_params),
    COMMON,
};

const struct strait_codec_ops strait_codec_mx = {
    .name = "mx",
    .source = "OCP Microscaling Formats (MX) 1.0, 2023",
    .id = 35,
    STRAIT_PARAMS(mx_params),
    COMMON,
};
