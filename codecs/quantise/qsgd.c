/* QSGD: each bucket's l2 norm, and for each value a whole number of norm / levels, rounded up or
 * down at random so that the mean is the value.
 *
 *   u8      codec id
 *   u8      payload: 0 packed, 1 published
 *   u16     levels L
 *   u32     values of a bucket; 0: all in one
 *   u8      number of values mod 256, which the length leaves open if several share a byte
 *   f32[]   norm of each bucket
 *   codes   packed: q + L in ceil(log2(2 L + 1)) bits each; published: q in 8 bits signed, in 16
 *           from 128 levels on (GRACE sends halves there, which are as long)
 *
 * Values that are not finite count as 0. A norm beyond the largest float is sent as the largest
 * float, which is still at least every value. Unbiased up to the rounding of float32, 2^-22 of the
 * value, and of a draw, 2^-30 of a level. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"
#include "levels.h"

enum { HEAD_BYTES = 9, PIECE = 4096 };
enum payload { PACKED, PUBLISHED };

/* The head of a stream. */
struct shape {
    enum payload payload;
    uint32_t levels, bucket;
};

static const char *const payloads[] = {"packed", "published", NULL};
static const struct strait_param params[] = {
    STRAIT_LEVELS_PARAMS(127,
                         "values that share a norm; 0: the whole tensor (GRACE's Horovod version)"),
    {"payload", "packed bits, or the bytes of GRACE's implementation", .min = 0, .max = 1,
     .fallback = PACKED, .choices = payloads},
};

static void qsgd_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    *(struct shape *)state =
        (struct shape){(enum payload)values[2], (uint32_t)values[0], (uint32_t)values[1]};
}

static size_t bucket_elems(const struct shape *s, size_t n_elems)
{
    return s->bucket > 0 && s->bucket < n_elems ? s->bucket : n_elems;
}

static size_t n_buckets(const struct shape *s, size_t n_elems)
{
    const size_t each = bucket_elems(s, n_elems);
    return n_elems == 0 ? 0 : n_elems / each + (n_elems % each != 0);
}

static unsigned code_bits(const struct shape *s)
{
    if (s->payload == PUBLISHED)
        return s->levels < 128 ? 8 : 16;
    return strait_code_bits(2 * s->levels + 1);
}

static size_t qsgd_bytes(const void *state, size_t n_elems)
{
    const struct shape *s = state;
    return HEAD_BYTES + 4 * n_buckets(s, n_elems) + strait_packed_bytes(n_elems, code_bits(s));
}

/* Scale |x| by a power of two first, so that both factors stay normal floats. */
struct scale {
    float first, then;
    int32_t levels, zero; /* zero: added to a signed number to give its code */
};

static struct scale scale_of(float norm, uint32_t levels, int32_t zero)
{
    struct scale s = {.first = 1, .then = 0, .levels = (int32_t)levels, .zero = zero};
    if (norm > 0x1p60f)
        s.first = 0x1p-64f;
    else if (norm < 0x1p-60f)
        s.first = 0x1p64f;
    if (norm > 0)
        s.then = (float)levels / (norm * s.first);
    return s;
}

STRAIT_CLONED
static void quantise(uint16_t *codes, const float *x, uint32_t n, uint32_t first,
                     struct strait_chance chance, struct scale s)
{
    for (uint32_t i = 0; i < n; i++) {
        const float level = strait_finite_abs(x[i]) * s.first * s.then;
        const int32_t below = (int32_t)level;
        int32_t q = below + strait_chance_below(chance, first + i, level - (float)below);
        q = q < s.levels ? q : s.levels;
        const int32_t minus = -(int32_t)(strait_bits_of(x[i]) >> 31);
        codes[i] = (uint16_t)(s.zero + ((q ^ minus) - minus));
    }
}

void strait_levels_draw(uint16_t *codes, const float *x, uint32_t n, uint32_t first,
                        struct strait_chance chance, float norm, uint32_t levels, int32_t zero)
{
    quantise(codes, x, n, first, chance, scale_of(norm, levels, zero));
}

STRAIT_CLONED
static void restore(float *y, const uint16_t *codes, size_t n, int32_t zero, float step)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((int32_t)codes[i] - zero) * step;
}

/* Signed numbers of the published form, as codes with a zero of 2^15. */
static void published_codes(uint16_t *codes, size_t n, unsigned bits)
{
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint16_t)(bits == 8 ? (codes[i] ^ 0x80u) + 0x7f80u : codes[i] ^ 0x8000u);
}

static void put_head(unsigned char *out, const struct shape *s, size_t n_elems)
{
    out[0] = (unsigned char)strait_codec_qsgd.id;
    out[1] = (unsigned char)s->payload;
    strait_put16(out + 2, (uint16_t)s->levels);
    strait_put32(out + 4, s->bucket);
    out[8] = (unsigned char)n_elems;
}

static int qsgd_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct shape *s = state;
    uint16_t codes[PIECE];
    (void)err;
    put_head(out, s, n_elems);
    const size_t each = bucket_elems(s, n_elems);
    const unsigned bits = code_bits(s);
    const int32_t zero = s->payload == PACKED ? (int32_t)s->levels : 0;
    unsigned char *norms = out + HEAD_BYTES, *packed = norms + 4 * n_buckets(s, n_elems);
    struct scale scale = {0};
    size_t in_bucket = 0; /* values of the bucket that are still to come */
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t end = n_elems - i < PIECE ? n_elems : i + PIECE;
        const struct strait_chance chance = strait_chance_at(request.key, (uint64_t)i >> 32);
        for (size_t at = i, n; at < end; at += n, in_bucket -= n) {
            if (in_bucket == 0) {
                in_bucket = n_elems - at < each ? n_elems - at : each;
                const float norm = strait_norm_of(x + at, in_bucket);
                scale = scale_of(norm, s->levels, zero);
                strait_put_float(norms, norm);
                norms += 4;
            }
            n = in_bucket < end - at ? in_bucket : end - at;
            quantise(codes + (at - i), x + at, (uint32_t)n, (uint32_t)at, chance, scale);
        }
        strait_pack(packed + i / 8 * bits, codes, end - i, bits);
    }
    *len_bytes = qsgd_bytes(s, n_elems);
    return 0;
}

static int read_head(struct shape *s, const unsigned char *in, size_t len_bytes, size_t n_elems,
                     struct strait_error *err)
{
    if (strait_check_head(&strait_codec_qsgd, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    *s = (struct shape){(enum payload)in[1], strait_get16(in + 2), strait_get32(in + 4)};
    if (in[1] > PUBLISHED || s->levels == 0 || s->levels > STRAIT_MAX_LEVELS)
        return strait_refuse(err, "qsgd", "expected 1 to %d levels, found %u", STRAIT_MAX_LEVELS,
                             (unsigned)s->levels);
    if (strait_check_count(&strait_codec_qsgd, in[8], n_elems, err) != 0)
        return -1;
    return strait_check_length(&strait_codec_qsgd, qsgd_bytes(s, n_elems), len_bytes, err);
}

static int qsgd_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    struct shape s;
    uint16_t codes[PIECE];
    (void)state;
    if (read_head(&s, in, len_bytes, n_elems, err) != 0)
        return -1;
    const size_t each = bucket_elems(&s, n_elems);
    const unsigned bits = code_bits(&s);
    const int32_t zero = s.payload == PACKED ? (int32_t)s.levels : 0x8000;
    const unsigned char *norms = in + HEAD_BYTES, *packed = norms + 4 * n_buckets(&s, n_elems);
    float step = 0;
    size_t in_bucket = 0;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t end = n_elems - i < PIECE ? n_elems : i + PIECE;
        strait_unpack(codes, packed + i / 8 * bits, end - i, bits);
        if (s.payload == PUBLISHED)
            published_codes(codes, end - i, bits);
        for (size_t at = i, n; at < end; at += n, in_bucket -= n) {
            if (in_bucket == 0) {
                in_bucket = n_elems - at < each ? n_elems - at : each;
                step = strait_get_float(norms) / (float)s.levels;
                norms += 4;
            }
            n = in_bucket < end - at ? in_bucket : end - at;
            restore(y + at, codes + (at - i), n, zero, step);
        }
    }
    return 0;
}

const struct strait_codec_ops strait_codec_qsgd = {
    .name = "qsgd",
    .family = "quantiser",
    .source = "Alistarh et al. 2017, section 3.1; buckets as in section 4",
    .id = 11,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct shape),
    .init = qsgd_init,
    .close = free,
    .max_bytes = qsgd_bytes,
    .fixed_size = true,
    .encode = qsgd_encode,
    .decode = qsgd_decode,
};
