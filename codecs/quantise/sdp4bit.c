/* sdp4bit: whole numbers of a few bits in units of each block's largest, drawn, behind Hadamard's
 * transform of each 32 values, which spreads what stands out (SDP4Bit, Jia et al., NeurIPS 2024:
 * TLq-HS; without the transform its weight differences, qWD).
 *
 *   u8      codec id
 *   u8      bits of a code
 *   u8      levels of the transform: runs of 2^levels values are mixed; 0: none
 *   u8      number of values mod 256
 *   u32     values of a block
 *   f32[]   of each block the unit: its largest magnitude / (2^(bits - 1) - 1)
 *   codes   two's complement, up or down from x / unit by chance, so that the mean is x
 *
 * The last run is filled up with zeros. A block is made of whole runs. The transform is
 * H x / 2^levels, so that nothing overflows; H gives back what it was. Values that are not finite
 * count as 0. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "codecs/kit/scratch_pool.h"
#include "core/bytes.h"

enum { HEAD_BYTES = 8, MAX_LEVELS = 10, PIECE = 4096, MAX_BLOCK = 1 << 20 };

struct sdp4bit {
    struct strait_pool pool;
    unsigned bits, levels;
    size_t block; /* a multiple of 2^levels */
};

struct scratch {
    struct strait_pooled pooled;
    size_t cap;
    float values[];
};

/* 4, 128 and 32 values: the authors' sample_scripts for gradients between nodes; inside a node 8
 * bits, for differences of weights blocks of 2048 without the transform. */
static const struct strait_param params[] = {
    {"bits", "of a value", STRAIT_PARAM_INTEGER, .min = 2, .max = 8, .fallback = 4},
    {"block", "values that share a unit, rounded up to whole runs of the transform",
     STRAIT_PARAM_INTEGER, .min = 1, .max = MAX_BLOCK, .fallback = 128},
    {"hadamard", "levels of the transform, each of which mixes twice as many values; 0: none",
     STRAIT_PARAM_INTEGER, .max = MAX_LEVELS, .fallback = 5},
};

static size_t rounded_up(size_t n, unsigned levels)
{
    const size_t run = (size_t)1 << levels;
    return (n + run - 1) / run * run;
}

static void init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct sdp4bit *s = state;
    (void)ops;
    strait_pool_init(&s->pool);
    s->bits = (unsigned)values[0];
    s->levels = (unsigned)values[2];
    s->block = rounded_up((size_t)values[1], s->levels);
}

static void close_all(void *state)
{
    struct sdp4bit *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static struct scratch *take(struct sdp4bit *s, size_t n, struct strait_error *err)
{
    struct scratch *piece = strait_pool_take(&s->pool);
    if (piece && piece->cap >= n)
        return piece;
    free(piece);
    piece = n < SIZE_MAX / 8 ? malloc(sizeof(*piece) + n * sizeof(float)) : NULL;
    if (piece)
        piece->cap = n;
    else
        strait_error_set(err, STRAIT_ERR_NOMEM, "sdp4bit", "%zu values do not fit in memory", n);
    return piece;
}

static size_t max_bytes(const void *state, size_t n_elems)
{
    const struct sdp4bit *s = state;
    const size_t n = rounded_up(n_elems, s->levels), n_blocks = (n + s->block - 1) / s->block;
    return HEAD_BYTES + n_blocks * sizeof(float) + strait_packed_bytes(n, s->bits);
}

/* --- the transform -------------------------------------------------------------------------- */

/* Hadamard's transform of each run of 2^levels values, without a factor. */
STRAIT_CLONED
static void mix(float *v, size_t n, unsigned levels)
{
    const size_t run = (size_t)1 << levels;
    for (size_t at = 0; at < n; at += run)
        for (size_t h = run / 2; h > 0; h /= 2)
            for (size_t i = at; i < at + run; i += 2 * h)
                for (size_t k = i; k < i + h; k++) {
                    const float sum = v[k] + v[k + h], rest = v[k] - v[k + h];
                    v[k] = sum;
                    v[k + h] = rest;
                }
}

STRAIT_CLONED
static void transform(float *v, size_t size, const float *x, size_t n_elems, unsigned levels)
{
    const float share = 1.0f / (float)(1u << levels);
    for (size_t i = 0; i < n_elems; i++)
        v[i] = strait_finite(x[i]) * share;
    for (size_t i = n_elems; i < size; i++)
        v[i] = 0;
    mix(v, size, levels);
}

/* --- codes ---------------------------------------------------------------------------------- */

STRAIT_CLONED
static void draw(uint16_t *codes, const float *v, size_t n, uint32_t first, float unit,
                 unsigned bits, struct strait_chance chance)
{
    const int32_t most = (1 << (bits - 1)) - 1;
    const uint32_t mask = (1u << bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const float at = v[i] / unit;
        int32_t down = (int32_t)at;
        down -= (float)down > at;
        const int32_t q = down + strait_chance_below(chance, first + (uint32_t)i, at - (float)down);
        const int32_t held = q < most ? q > -most ? q : -most : most;
        codes[i] = (uint16_t)((uint32_t)held & mask);
    }
}

STRAIT_CLONED
static float largest(const float *v, size_t n)
{
    return strait_largest(v, n);
}

STRAIT_CLONED
static void look_up(float *v, const uint16_t *codes, size_t n, float unit, unsigned bits)
{
    const int32_t sign = 1 << (bits - 1);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(((int32_t)codes[i] ^ sign) - sign) * unit;
}

/* Values from i on, up to `end` and the end of their block. */
static size_t in_block(const struct sdp4bit *s, size_t i, size_t end)
{
    const size_t block_end = (i / s->block + 1) * s->block;
    return (block_end < end ? block_end : end) - i;
}

static int encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                  size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct sdp4bit *s = state;
    const struct strait_chance chance = strait_chance_at(request.key, 0);
    const size_t size = rounded_up(n_elems, s->levels);
    unsigned char *units = out + HEAD_BYTES,
                  *packed = units + (size + s->block - 1) / s->block * sizeof(float);
    struct scratch *piece = take(s, size + 1, err);
    uint16_t codes[PIECE];
    if (!piece)
        return -1;
    transform(piece->values, size, x, n_elems, s->levels);
    out[0] = (unsigned char)strait_codec_sdp4bit.id;
    out[1] = (unsigned char)s->bits;
    out[2] = (unsigned char)s->levels;
    out[3] = (unsigned char)(n_elems & 255);
    strait_put32(out + 4, (uint32_t)s->block);
    for (size_t i = 0; i < size; i += s->block)
        strait_put_float(units + i / s->block * sizeof(float),
                         largest(piece->values + i, in_block(s, i, size)) /
                             (float)((1 << (s->bits - 1)) - 1));
    for (size_t from = 0; from < size; from += PIECE) {
        const size_t end = size - from < PIECE ? size : from + PIECE;
        for (size_t i = from, n; i < end; i += n) {
            const float unit = strait_get_float(units + i / s->block * sizeof(float));
            n = in_block(s, i, end);
            draw(codes + (i - from), piece->values + i, n, (uint32_t)i, unit > 0 ? unit : 1,
                 s->bits, chance);
        }
        strait_pack(packed + from / 8 * s->bits, codes, end - from, s->bits);
    }
    strait_pool_give(&s->pool, piece);
    *len_bytes = max_bytes(s, n_elems);
    return 0;
}

static int decode(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err)
{
    struct sdp4bit *s = state;
    const size_t size = rounded_up(n_elems, s->levels);
    const unsigned char *units = in + HEAD_BYTES;
    uint16_t codes[PIECE];
    if (strait_check_head(&strait_codec_sdp4bit, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_count(&strait_codec_sdp4bit, in[3], n_elems, err) != 0)
        return -1;
    if (in[1] != s->bits || in[2] != s->levels || strait_get32(in + 4) != s->block ||
        len_bytes != max_bytes(s, n_elems))
        return strait_refuse(err, "sdp4bit", "expected a stream of %zu values with these settings",
                             n_elems);
    const unsigned char *packed = units + (size + s->block - 1) / s->block * sizeof(float);
    struct scratch *piece = take(s, size + 1, err);
    if (!piece)
        return -1;
    for (size_t from = 0; from < size; from += PIECE) {
        const size_t end = size - from < PIECE ? size : from + PIECE;
        strait_unpack(codes, packed + from / 8 * s->bits, end - from, s->bits);
        for (size_t i = from, n; i < end; i += n) {
            n = in_block(s, i, end);
            look_up(piece->values + i, codes + (i - from), n,
                    strait_get_float(units + i / s->block * sizeof(float)), s->bits);
        }
    }
    mix(piece->values, size, s->levels);
    memcpy(y, piece->values, n_elems * sizeof(float));
    strait_pool_give(&s->pool, piece);
    return 0;
}

const struct strait_codec_ops strait_codec_sdp4bit = {
    .name = "sdp4bit",
    .family = "quantiser",
    .source = "SDP4Bit (Jia et al., NeurIPS 2024)",
    .id = 44,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct sdp4bit),
    .init = init,
    .close = close_all,
    .max_bytes = max_bytes,
    .fixed_size = true,
    .encode = encode,
    .decode = decode,
};
