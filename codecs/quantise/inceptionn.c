/* INCEPTIONN: each value in 0, 8, 16 or 32 bits depending on its magnitude.
 *
 *   u8      codec id
 *   u8      k, | 128 for the published fixed point
 *   u32     number of values mod 2^32
 *   tags    2 bits a value: 0 nothing, 1 eight bits, 2 sixteen, 3 all
 *   u32[]   values of magnitude 1 and above, and those not finite, as they are
 *   u16[]   values from 2^-(k / 2) on (k / 2 rounded down): sign, then 15 bits of fixed point
 *   u8[]    values from 2^-k on: sign, then 7 bits of fixed point; smaller values become 0
 *
 * Fixed point "aligned": the top bit is worth half of the class's upper end, steps of 2^-15 and of
 * 2^-(k / 2 + 7), truncated toward 0. With k up to 14 this keeps |x - y| < 2^-k on every value, the
 * bound that the method is named for. "published": the top bit is worth 1 in both classes, so that
 * steps are 2^-14 and 2^-6 and a byte that came out 0 decodes to 2^-7, as in GRACE's code: then
 * only |x - y| < 2^-6 holds. The number of bytes is the same.
 *
 * GRACE's default, given there as 2e-10, is k = 10. Sizes depend on the values. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/pack.h"

enum { HEAD_BYTES = 6, PIECE = 4096, MAX_K = 14, PUBLISHED_BIT = 128 };
enum tag { NOTHING, EIGHT, SIXTEEN, ALL, N_TAGS };

struct state {
    unsigned k;
    bool published;
};

/* Derived from k and the form: magnitudes (as bits) where classes begin, and fixed-point units. */
struct classes {
    int32_t from_8, from_16, from_32;
    float per_unit_8, per_unit_16, unit_8, unit_16, zero_8;
};

static const char *const points[] = {"aligned", "published", NULL};
static const struct strait_param params[] = {
    {"k", "values below 2^-k become 0; with fixed point aligned every error is below that",
     STRAIT_PARAM_INTEGER, .min = 1, .max = MAX_K, .fallback = 10},
    {"fixed_point", "aligned to the class, or at 1 as in published code, which loses bits",
     .min = 0, .max = 1, .fallback = 0, .choices = points},
};

static void inceptionn_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    *(struct state *)state = (struct state){(unsigned)values[0], values[1] > 0};
}

static size_t inceptionn_max_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return HEAD_BYTES + strait_packed_bytes(n_elems, 2) + 4 * n_elems;
}

static int32_t bits_of_power(int exponent)
{
    return (127 + exponent) << 23;
}

static float power(int exponent)
{
    return strait_float_of((uint32_t)bits_of_power(exponent));
}

static struct classes classes_of(unsigned k, bool published)
{
    const int half = (int)(k / 2), fine_8 = published ? 6 : half + 7, fine_16 = published ? 14 : 15;
    return (struct classes){.from_8 = bits_of_power(-(int)k),
                            .from_16 = bits_of_power(-half),
                            .from_32 = bits_of_power(0),
                            .per_unit_8 = power(fine_8),
                            .per_unit_16 = power(fine_16),
                            .unit_8 = power(-fine_8),
                            .unit_16 = power(-fine_16),
                            .zero_8 = published ? power(-7) : 0};
}

/* Returns how many values have each tag. */
STRAIT_CLONED
static void classify(uint16_t *tags, uint32_t *counts, const float *x, uint32_t n, struct classes c)
{
    uint32_t not_0 = 0, not_8 = 0, not_16 = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t a = (int32_t)(strait_bits_of(x[i]) & 0x7fffffffu);
        const uint32_t p = a >= c.from_8, q = a >= c.from_16, r = a >= c.from_32;
        not_0 += p;
        not_8 += q;
        not_16 += r;
        tags[i] = (uint16_t)(p + q + r);
    }
    counts[EIGHT] = not_0 - not_8;
    counts[SIXTEEN] = not_8 - not_16;
    counts[ALL] = not_16;
}

/* What is sent of each value, in 32 bits: sign above the truncated number of units, or all bits. */
STRAIT_CLONED
static void fix(uint32_t *sent, const uint16_t *tags, const float *x, uint32_t n, struct classes c)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bits = strait_bits_of(x[i]), a = bits & 0x7fffffffu;
        const float small = strait_float_of(strait_choose_bits((int32_t)a < c.from_32, a, 0));
        const uint32_t fixed_8 = (uint32_t)(int32_t)(small * c.per_unit_8) | bits >> 31 << 7;
        const uint32_t fixed_16 = (uint32_t)(int32_t)(small * c.per_unit_16) | bits >> 31 << 15;
        const uint32_t fixed = strait_choose_bits(tags[i] == EIGHT, fixed_8, fixed_16);
        sent[i] = strait_choose_bits(tags[i] == ALL, bits, fixed);
    }
}

/* A piece sorted by class: slot 0 for values that are not sent, then room for 8, 16 and 32 bits.
 * The next free slots of the four classes are the quarters of one word. */
enum { SLOT_8 = 1, SLOT_16 = SLOT_8 + PIECE, SLOT_32 = SLOT_16 + PIECE, N_SLOTS = SLOT_32 + PIECE };
static const uint64_t first_slots =
    (uint64_t)SLOT_8 << 16 | (uint64_t)SLOT_16 << 32 | (uint64_t)SLOT_32 << 48;

static void gather(uint32_t *slots, const uint32_t *sent, const uint16_t *tags, size_t n)
{
    uint64_t next = first_slots;
    for (size_t i = 0; i < n; i++) {
        const unsigned shift = tags[i] * 16u;
        slots[next >> shift & 0xffff] = sent[i];
        next += (uint64_t)(tags[i] != NOTHING) << shift;
    }
}

static void scatter(float *y, const float *slots, const uint16_t *tags, size_t n)
{
    uint64_t next = first_slots;
    for (size_t i = 0; i < n; i++) {
        const unsigned shift = tags[i] * 16u;
        y[i] = slots[next >> shift & 0xffff];
        next += (uint64_t)(tags[i] != NOTHING) << shift;
    }
}

STRAIT_CLONED
static void narrow_8(unsigned char *out, const uint32_t *sent, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)sent[i];
}

STRAIT_CLONED
static void narrow_16(uint16_t *out, const uint32_t *sent, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint16_t)sent[i];
}

static int inceptionn_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                             size_t n_elems, struct strait_request request,
                             struct strait_error *err)
{
    const struct state *s = state;
    const struct classes c = classes_of(s->k, s->published);
    uint16_t tags[PIECE], narrowed[PIECE];
    uint32_t sent[PIECE], slots[N_SLOTS];
    uint32_t counts[N_TAGS];
    size_t totals[N_TAGS] = {0};
    (void)request;
    (void)err;
    out[0] = (unsigned char)strait_codec_inceptionn.id;
    out[1] = (unsigned char)(s->k | (s->published ? PUBLISHED_BIT : 0));
    strait_put32(out + 2, (uint32_t)n_elems);
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const uint32_t n = (uint32_t)(n_elems - i < PIECE ? n_elems - i : PIECE);
        classify(tags, counts, x + i, n, c);
        strait_pack(out + HEAD_BYTES + i / 4, tags, n, 2);
        for (unsigned t = EIGHT; t < N_TAGS; t++)
            totals[t] += counts[t];
    }
    unsigned char *p32 = out + HEAD_BYTES + strait_packed_bytes(n_elems, 2);
    unsigned char *p16 = p32 + 4 * totals[ALL], *p8 = p16 + 2 * totals[SIXTEEN];
    *len_bytes = (size_t)(p8 - out) + totals[EIGHT];
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const uint32_t n = (uint32_t)(n_elems - i < PIECE ? n_elems - i : PIECE);
        classify(tags, counts, x + i, n, c);
        fix(sent, tags, x + i, n, c);
        gather(slots, sent, tags, n);
        for (size_t k = 0; k < counts[ALL]; k++)
            strait_put32(p32 + 4 * k, slots[SLOT_32 + k]);
        narrow_16(narrowed, slots + SLOT_16, counts[SIXTEEN]);
        strait_pack(p16, narrowed, counts[SIXTEEN], 16);
        narrow_8(p8, slots + SLOT_8, counts[EIGHT]);
        p32 += 4 * counts[ALL];
        p16 += 2 * counts[SIXTEEN];
        p8 += counts[EIGHT];
    }
    return 0;
}

STRAIT_CLONED
static void count(uint32_t *counts, const uint16_t *tags, size_t n)
{
    uint16_t n8 = 0, n16 = 0, n32 = 0; /* of at most PIECE */
    for (size_t i = 0; i < n; i++) {
        n8 = (uint16_t)(n8 + (tags[i] == EIGHT));
        n16 = (uint16_t)(n16 + (tags[i] == SIXTEEN));
        n32 = (uint16_t)(n32 + (tags[i] == ALL));
    }
    counts[EIGHT] = n8;
    counts[SIXTEEN] = n16;
    counts[ALL] = n32;
}

STRAIT_CLONED
static void restore_8(float *y, const unsigned char *in, size_t n, struct classes c)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t fixed = in[i] & 0x7f;
        const float a = fixed == 0 ? c.zero_8 : (float)fixed * c.unit_8;
        y[i] = strait_float_of(strait_bits_of(a) | (uint32_t)(in[i] >> 7) << 31);
    }
}

STRAIT_CLONED
static void restore_16(float *y, const uint16_t *in, size_t n, struct classes c)
{
    for (size_t i = 0; i < n; i++) {
        const float a = (float)(int32_t)(in[i] & 0x7fff) * c.unit_16;
        y[i] = strait_float_of(strait_bits_of(a) | (uint32_t)(in[i] >> 15) << 31);
    }
}

static int inceptionn_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                             size_t len_bytes, struct strait_error *err)
{
    const struct strait_codec_ops *ops = &strait_codec_inceptionn;
    uint16_t tags[PIECE], halves[PIECE];
    float slots[N_SLOTS];
    uint32_t counts[N_TAGS];
    size_t totals[N_TAGS] = {0};
    (void)state;
    if (strait_check_head(ops, in, len_bytes, HEAD_BYTES, err) != 0)
        return -1;
    const unsigned k = in[1] & ~(unsigned)PUBLISHED_BIT;
    const struct classes c = classes_of(k <= MAX_K ? k : MAX_K, (in[1] & PUBLISHED_BIT) != 0);
    const size_t before_values = HEAD_BYTES + strait_packed_bytes(n_elems, 2);
    if (k < 1 || k > MAX_K || strait_get32(in + 2) != (uint32_t)n_elems ||
        len_bytes < before_values)
        return strait_refuse(err, "inceptionn", "expected k of 1 to %d and tags of %zu values",
                             MAX_K, n_elems);
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        strait_unpack(tags, in + HEAD_BYTES + i / 4, n, 2);
        count(counts, tags, n);
        for (unsigned t = EIGHT; t < N_TAGS; t++)
            totals[t] += counts[t];
    }
    const unsigned char *p32 = in + before_values;
    const size_t bytes_32 = 4 * totals[ALL], bytes_16 = 2 * totals[SIXTEEN];
    if (strait_check_length(ops, before_values + bytes_32 + bytes_16 + totals[EIGHT], len_bytes,
                            err) != 0)
        return -1;
    const unsigned char *p16 = p32 + bytes_32, *p8 = p16 + bytes_16;
    slots[0] = 0;
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        strait_unpack(tags, in + HEAD_BYTES + i / 4, n, 2);
        count(counts, tags, n);
        strait_get_floats(slots + SLOT_32, p32, counts[ALL]);
        strait_unpack(halves, p16, counts[SIXTEEN], 16);
        restore_16(slots + SLOT_16, halves, counts[SIXTEEN], c);
        restore_8(slots + SLOT_8, p8, counts[EIGHT], c);
        scatter(y + i, slots, tags, n);
        p32 += 4 * counts[ALL];
        p16 += 2 * counts[SIXTEEN];
        p8 += counts[EIGHT];
    }
    return 0;
}

const struct strait_codec_ops strait_codec_inceptionn = {
    .name = "inceptionn",
    .family = "quantiser",
    .source = "Li et al. 2018, section 4; classes as in GRACE",
    .id = 23,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct state),
    .init = inceptionn_init,
    .close = free,
    .max_bytes = inceptionn_max_bytes,
    .encode = inceptionn_encode,
    .decode = inceptionn_decode,
};
