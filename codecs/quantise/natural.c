/* Natural compression: each value becomes one of the two neighbouring powers of two, drawn so that
 * the mean is the value.
 *
 *   u8      codec id
 *   u8      bits of a value: 8 or 9
 *   codes   8: sign, then 7 bits e for 2^(e - 109), 0 for 0 (GRACE's bytes: exponents from 2^-108
 *           to 2^18); 9, packed: sign, then the 8 bits of a float32's exponent (the paper's)
 *
 * Values below the smallest power become 0 or that power, drawn in the same way. Values at or above
 * the largest power (2^18 or 2^127) become that power; only there the mean is not the value. NaN
 * counts as 0, infinity as large. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"

enum { HEAD_BYTES = 2, PIECE = 4096 };
/* Exponent fields of float32: the offset of the 7-bit form, and the largest of each form. */
enum { SKIPPED = 18, LARGEST_8 = 127 + 18, LARGEST_9 = 254 };

struct state {
    unsigned bits;
};

static const struct strait_param params[] = {
    {"bits", "8: GRACE's byte with an exponent of 7 bits; 9: the whole exponent",
     STRAIT_PARAM_INTEGER, .min = 8, .max = 9, .fallback = 8},
};

static void natural_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    ((struct state *)state)->bits = (unsigned)values[0];
}

static size_t natural_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    return HEAD_BYTES + strait_packed_bytes(n_elems, s->bits);
}

/* The fraction of a float is the probability of the next power: 23 random bits decide exactly. A
 * subnormal is a fraction of the smallest normal power, which follows the same rule. */
STRAIT_INLINE int32_t rounded_exponent(uint32_t magnitude, uint32_t draw)
{
    return (int32_t)(magnitude >> 23) + ((int32_t)(draw >> 9) < (int32_t)(magnitude & 0x7fffffu));
}

/* NaN as 0. */
STRAIT_INLINE uint32_t number(uint32_t magnitude)
{
    return strait_choose_bits((int32_t)magnitude <= 0x7f800000, magnitude, 0);
}

STRAIT_CLONED
static void quantise_9(uint16_t *codes, const float *x, uint32_t n, uint32_t first,
                       struct strait_chance chance)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bits = strait_bits_of(x[i]);
        const uint32_t magnitude = number(bits & 0x7fffffffu);
        const int32_t e = rounded_exponent(magnitude, strait_chance_bits(chance, first + i));
        codes[i] = (uint16_t)((uint32_t)(e < LARGEST_9 ? e : LARGEST_9) | bits >> 31 << 8);
    }
}

STRAIT_CLONED
static void quantise_8(unsigned char *codes, const float *x, uint32_t n, uint32_t first,
                       struct strait_chance chance)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bits = strait_bits_of(x[i]);
        const uint32_t magnitude = number(bits & 0x7fffffffu);
        const uint32_t draw = strait_chance_bits(chance, first + i);
        const int32_t normal = rounded_exponent(magnitude, draw) - SKIPPED;
        const bool tiny = (int32_t)magnitude < 19 << 23;
        /* Below 2^-108 the probability of that power is the value divided by it. */
        const float small = strait_float_of(strait_choose_bits(tiny, magnitude, 0)) * 0x1p108f;
        const int32_t up = (int32_t)(draw >> 2) < (int32_t)(small * 0x1p30f);
        int32_t e = (int32_t)strait_choose_bits(tiny, (uint32_t)up, (uint32_t)normal);
        e = e < LARGEST_8 - SKIPPED ? e : LARGEST_8 - SKIPPED;
        codes[i] = (unsigned char)((uint32_t)e | bits >> 31 << 7);
    }
}

static int natural_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                          size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct state *s = state;
    uint16_t codes[PIECE];
    (void)err;
    out[0] = (unsigned char)strait_codec_natural.id;
    out[1] = (unsigned char)s->bits;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const uint32_t n = (uint32_t)(n_elems - i < PIECE ? n_elems - i : PIECE);
        const struct strait_chance chance = strait_chance_at(request.key, (uint64_t)i >> 32);
        unsigned char *p = out + HEAD_BYTES + i / 8 * s->bits;
        if (s->bits == 8) {
            quantise_8(p, x + i, n, (uint32_t)i, chance);
        } else {
            quantise_9(codes, x + i, n, (uint32_t)i, chance);
            strait_pack(p, codes, n, 9);
        }
    }
    *len_bytes = natural_bytes(s, n_elems);
    return 0;
}

/* Code 255 of the 9-bit form would be infinity: encode never writes it. */
STRAIT_CLONED
static void restore_9(float *y, const uint16_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = strait_float_of((uint32_t)(codes[i] & 0xff) << 23 | (uint32_t)codes[i] >> 8 << 31);
}

STRAIT_CLONED
static void restore_8(float *y, const unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t e = codes[i] & 0x7fu, magnitude = e > 0 ? (e + SKIPPED) << 23 : 0;
        y[i] = strait_float_of(magnitude | (uint32_t)codes[i] >> 7 << 31);
    }
}

static int natural_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                          size_t len_bytes, struct strait_error *err)
{
    const struct strait_codec_ops *ops = &strait_codec_natural;
    uint16_t codes[PIECE];
    (void)state;
    if (strait_check_head(ops, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    if (in[1] != 8 && in[1] != 9)
        return strait_refuse(err, "natural", "expected 8 or 9 bits a value, found %u", in[1]);
    const unsigned bits = in[1];
    if (strait_check_length(ops, natural_bytes(&(struct state){bits}, n_elems), len_bytes, err) !=
        0)
        return -1;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        const unsigned char *p = in + HEAD_BYTES + i / 8 * bits;
        if (bits == 8) {
            restore_8(y + i, p, n);
        } else {
            strait_unpack(codes, p, n, 9);
            restore_9(y + i, codes, n);
        }
    }
    return 0;
}

const struct strait_codec_ops strait_codec_natural = {
    .name = "natural",
    .family = "quantiser",
    .source = "Horvath et al. 2019, definition 1; exponents clipped as in GRACE",
    .id = 17,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct state),
    .init = natural_init,
    .close = free,
    .max_bytes = natural_bytes,
    .fixed_size = true,
    .encode = natural_encode,
    .decode = natural_decode,
};
