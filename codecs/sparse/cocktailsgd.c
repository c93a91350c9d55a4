/* cocktailsgd: of a random sample of the values, which the key decides, the largest, in a few bits
 * each (CocktailSGD, Wang et al., ICML 2023).
 *
 *   u8   wire id
 *   u8   bits
 *   u8   number of values mod 256
 *   u8   0
 *   u64  key
 *   scales  float16 of each bucket of chosen values: their largest magnitude
 *   mask    one bit a sampled value, in ascending position: chosen
 *   codes   `bits` each (pack.h): round(v / (scale + 1e-6) 2^(bits - 1)), ties to even, held to
 *           bits, plus 2^(bits - 1); decoded as code / 2^(bits - 1) times the scale
 *
 * Sampled are floor(n sample), chosen floor(sampled ratio), at least one each, and of either whole
 * buckets where it is one or more. Values that are not finite count as 0; scales end at 65504.
 * Payload and defaults are those of the authors' code, behind a head of 12; there a sample takes
 * what earlier ones left, here each key draws a fresh one. */
#include <math.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "codecs/kit/half.h"
#include "sparse_stream.h"

enum { HEAD_BYTES = 12, MAX_BITS = 8, MAX_BUCKET = 4096 };

struct cocktail {
    struct strait_sparse_state sparse; /* scratch memory alone */
    double sample, ratio;
    unsigned bits;
    size_t bucket;
};

struct shape {
    size_t n_sampled, n_chosen, n_buckets, bucket;
};

static const struct strait_param params[] = {
    {"sample", "share of the values that is looked at", .max = 1, .fallback = 0.1},
    {"ratio", "share of these that is sent", .max = 1, .fallback = 0.2},
    {"bits", "of a value", STRAIT_PARAM_INTEGER, .min = 2, .max = MAX_BITS, .fallback = 4},
    {"bucket", "sent values that share a scale", STRAIT_PARAM_INTEGER, .min = 1, .max = MAX_BUCKET,
     .fallback = 128},
};

static void cocktail_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct cocktail *s = state;
    s->sparse.ops = ops;
    strait_pool_init(&s->sparse.pool);
    s->sample = values[0];
    s->ratio = values[1];
    s->bits = (unsigned)values[2];
    s->bucket = (size_t)values[3];
}

/* Whole buckets, if there is one. */
static size_t share_of(const struct cocktail *s, double ratio, size_t n)
{
    const size_t k = strait_sparse_share(ratio, n);
    return k >= s->bucket ? k - k % s->bucket : k;
}

static struct shape shape_of(const struct cocktail *s, size_t n_elems)
{
    struct shape of = {.n_sampled = share_of(s, s->sample, n_elems)};
    of.n_chosen = share_of(s, s->ratio, of.n_sampled);
    of.bucket = of.n_chosen < s->bucket ? of.n_chosen : s->bucket;
    of.n_buckets = of.n_chosen > 0 ? of.n_chosen / of.bucket : 0;
    return of;
}

static size_t cocktail_bytes(const void *state, size_t n_elems)
{
    const struct cocktail *s = state;
    const struct shape of = shape_of(s, n_elems);
    return HEAD_BYTES + 2 * of.n_buckets + (of.n_sampled + 7) / 8 +
           strait_packed_bytes(of.n_chosen, s->bits);
}

/* The positions of a key's sample, ascending. */
static void draw(struct strait_sparse_piece *piece, const struct shape *of, size_t n_elems,
                 uint64_t key)
{
    /* of which n_elems times is n_sampled, rounded down */
    const struct strait_sparsifier_params all = {.ratio = ((double)of->n_sampled + 0.5) /
                                                          (double)n_elems};
    if (of->n_sampled == n_elems)
        for (uint32_t i = 0; i < n_elems; i++)
            piece->index[i] = i;
    else
        strait_sparsifier_randomk.choose(piece->index, NULL, n_elems, &all, key, piece->scratch);
}

/* A bucket's codes. Returns: its scale */
static uint16_t quantise(uint16_t *codes, const float *v, size_t n, unsigned bits)
{
    const float units = (float)(1u << (bits - 1)), largest = strait_largest(v, n);
    const uint16_t scale = strait_half_of(largest < 65504.0f ? largest : 65504.0f);
    const float step = strait_float_of_half(scale) + 1e-6f;
    for (size_t i = 0; i < n; i++) {
        float q = rintf(v[i] / step * units);
        q = q > -units ? q : -units;
        q = q < units - 1 ? q : units - 1;
        codes[i] = (uint16_t)(int)(q + units);
    }
    return scale;
}

static int cocktail_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                           size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct cocktail *s = state;
    const struct shape of = shape_of(s, n_elems);
    struct strait_sparse_piece *piece = strait_sparse_take(&s->sparse, 2 * n_elems, err);
    if (!piece)
        return -1;
    unsigned char *scales = out + HEAD_BYTES, *mask = scales + 2 * of.n_buckets,
                  *packed = mask + (of.n_sampled + 7) / 8;
    uint32_t *chosen = piece->index + n_elems;
    float *sampled = piece->values, *values = sampled + n_elems;
    uint16_t *codes = (uint16_t *)piece->scratch;
    memset(out, 0, HEAD_BYTES + 2 * of.n_buckets + (of.n_sampled + 7) / 8);
    out[0] = (unsigned char)strait_codec_cocktailsgd.id;
    out[1] = (unsigned char)s->bits;
    out[2] = (unsigned char)(n_elems & 255);
    strait_put64(out + 4, request.key);
    if (n_elems > 0) {
        draw(piece, &of, n_elems, request.key);
        for (size_t i = 0; i < of.n_sampled; i++)
            sampled[i] = strait_finite(x[piece->index[i]]);
        strait_select_largest(chosen, sampled, of.n_sampled, of.n_chosen, piece->scratch);
    }
    for (size_t i = 0; i < of.n_chosen; i++) {
        mask[chosen[i] / 8] = (unsigned char)(mask[chosen[i] / 8] | 1u << chosen[i] % 8);
        values[i] = sampled[chosen[i]];
    }
    for (size_t b = 0; b < of.n_buckets; b++)
        strait_put16(scales + 2 * b,
                     quantise(codes + b * of.bucket, values + b * of.bucket, of.bucket, s->bits));
    strait_pack(packed, codes, of.n_chosen, s->bits);
    *len_bytes = cocktail_bytes(s, n_elems);
    strait_sparse_give(&s->sparse, piece);
    return 0;
}

static int cocktail_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                           size_t len_bytes, struct strait_error *err)
{
    struct cocktail *s = state;
    const struct shape of = shape_of(s, n_elems);
    if (len_bytes != cocktail_bytes(s, n_elems) || in[0] != strait_codec_cocktailsgd.id ||
        in[1] != s->bits || in[2] != (n_elems & 255) || in[3] != 0)
        return strait_sparse_refused(&strait_codec_cocktailsgd, n_elems, err);
    struct strait_sparse_piece *piece = strait_sparse_take(&s->sparse, 2 * n_elems, err);
    if (!piece)
        return -1;
    const unsigned char *scales = in + HEAD_BYTES, *mask = scales + 2 * of.n_buckets,
                        *packed = mask + (of.n_sampled + 7) / 8;
    uint16_t *codes = (uint16_t *)(piece->index + n_elems);
    const float units = (float)(1u << (s->bits - 1));
    size_t at = 0;
    memset(y, 0, n_elems * sizeof(*y));
    if (n_elems > 0)
        draw(piece, &of, n_elems, strait_get64(in + 4));
    strait_unpack(codes, packed, of.n_chosen, s->bits);
    for (size_t i = 0; i < of.n_sampled; i++) {
        if (!(mask[i / 8] >> i % 8 & 1))
            continue;
        if (at == of.n_chosen) /* more than were sent */
            break;
        const uint16_t scale = (uint16_t)strait_get16(scales + 2 * (at / of.bucket));
        y[piece->index[i]] =
            ((float)codes[at] - units) / units * strait_finite(strait_float_of_half(scale));
        at++;
    }
    strait_sparse_give(&s->sparse, piece);
    return at == of.n_chosen ? 0 : strait_sparse_refused(&strait_codec_cocktailsgd, n_elems, err);
}

const struct strait_codec_ops strait_codec_cocktailsgd = {
    .name = "cocktailsgd",
    .family = "sparsifier",
    .source = "CocktailSGD (Wang et al., ICML 2023)",
    .id = 40,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .state_bytes = sizeof(struct cocktail),
    .init = cocktail_init,
    .close = strait_sparse_close,
    .max_bytes = cocktail_bytes,
    .fixed_size = true,
    .encode = cocktail_encode,
    .decode = cocktail_decode,
};
