/* Signs of a tensor on the wire, and sums by sign. Plain loops that compilers turn into vector
 * compares: eight bytes of 0 or 1 become eight bits by one multiplication. */
#include "signs.h"
#include <math.h>
#include <stdlib.h>
#include "core/bytes.h"

enum { BLOCK = 64, N_LANES = 8 };

const char *const strait_sign_payload_names[] = {"packed", "published", NULL};

static size_t bytes_of(size_t n_elems, bool published)
{
    return published ? n_elems : n_elems / 8 + (n_elems % 8 != 0);
}

/* Whether len_bytes is the length of n_elems signs in one of the two forms. */
static bool is_sign_bytes(size_t len_bytes, size_t n_elems)
{
    return len_bytes == bytes_of(n_elems, false) || len_bytes == bytes_of(n_elems, true);
}

static void put_flags(unsigned char *flags, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        flags[i] = !(x[i] < 0);
}

/* Byte i of the eight, 0 or 1, at bit 8 i: the multiplier's bit 56 - 7 i brings it to bit 56 + i,
 * and no two products meet below that. */
static unsigned char bits_of(const unsigned char *flags)
{
    return (unsigned char)(strait_get64(flags) * 0x0102040810204080u >> 56);
}

/* Write the signs, bytes_of(n_elems, published) bytes. */
static void put_signs(unsigned char *out, const float *x, size_t n_elems, bool published)
{
    unsigned char flags[BLOCK];
    size_t i = 0;
    if (published) {
        put_flags(out, x, n_elems);
        return;
    }
    for (; i + BLOCK <= n_elems; i += BLOCK) {
        put_flags(flags, x + i, BLOCK);
        for (size_t k = 0; k < BLOCK; k += 8)
            out[(i + k) / 8] = bits_of(flags + k);
    }
    for (; i < n_elems; i += 8) {
        memset(flags, 0, 8);
        put_flags(flags, x + i, n_elems - i < 8 ? n_elems - i : 8);
        out[i / 8] = bits_of(flags);
    }
}

static uint32_t bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* The n <= 8 values of one byte; `other` holds the bits in which the two numbers differ. */
static inline void spread(float *y, uint32_t byte, size_t n, uint32_t negative, uint32_t other)
{
    static const uint32_t place[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    uint32_t out[8];
    for (size_t k = 0; k < 8; k++)
        out[k] = negative ^ ((byte & place[k]) ? other : 0);
    memcpy(y, out, n * sizeof(*out));
}

static bool get_packed(float *y, const unsigned char *in, size_t n_elems, uint32_t negative,
                       uint32_t other)
{
    size_t i = 0;
    for (; i + 8 <= n_elems; i += 8)
        spread(y + i, in[i / 8], 8, negative, other);
    if (i == n_elems)
        return true;
    spread(y + i, in[i / 8], n_elems - i, negative, other);
    return in[i / 8] >> (n_elems - i) == 0;
}

static bool get_published(float *y, const unsigned char *in, size_t n_elems, uint32_t negative,
                          uint32_t other)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n_elems; i++) {
        const uint32_t bits = negative ^ (other & -(uint32_t)(in[i] & 1));
        all |= in[i];
        memcpy(&y[i], &bits, sizeof(bits));
    }
    return all <= 1;
}

/* Replace each sign by the number for its side. In: len_bytes: of one of the two forms.
 * Returns: false when malformed; y is then undefined */
static bool get_signs(float *y, const unsigned char *in, size_t len_bytes, size_t n_elems,
                      float negative, float positive)
{
    const uint32_t low = bits_of_float(negative), other = low ^ bits_of_float(positive);
    if (len_bytes == bytes_of(n_elems, false))
        return get_packed(y, in, n_elems, low, other);
    return get_published(y, in, n_elems, low, other);
}

static void add_lanes(double *lanes, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += N_LANES)
        for (size_t k = 0; k < N_LANES; k++)
            lanes[k] += (double)x[i + k];
}

/* Sums by sign, in simple passes over a block that stays in the first-level cache. A NaN is neither
 * above nor below 0 and adds 0. */
static void add_block(double *negative, double *positive, size_t *n_negative, const float *x)
{
    float below[BLOCK], above[BLOCK];
    int32_t count = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        below[i] = x[i] < 0 ? -x[i] : 0;
        above[i] = x[i] > 0 ? x[i] : 0;
        count += x[i] < 0;
    }
    add_lanes(negative, below, BLOCK);
    add_lanes(positive, above, BLOCK);
    *n_negative += (size_t)count;
}

static struct strait_sign_sums add_up(const float *x, size_t n_elems)
{
    double negative[N_LANES] = {0}, positive[N_LANES] = {0};
    struct strait_sign_sums sums = {0};
    float rest[BLOCK] = {0};
    size_t i = 0;
    for (; i + BLOCK <= n_elems; i += BLOCK)
        add_block(negative, positive, &sums.n_negative, x + i);
    if (i < n_elems) {
        memcpy(rest, x + i, (n_elems - i) * sizeof(*x));
        add_block(negative, positive, &sums.n_negative, rest);
    }
    for (size_t k = 0; k < N_LANES; k++) {
        sums.negative += negative[k];
        sums.positive += positive[k];
    }
    return sums;
}

struct strait_sign_sums strait_sign_sums_of(const float *x, size_t n_elems)
{
    struct strait_sign_sums sums = add_up(x, n_elems);
    if (isfinite(sums.negative) && isfinite(sums.positive))
        return sums;
    sums = (struct strait_sign_sums){0}; /* 2^64 floats fit a double: there is an infinity */
    for (size_t i = 0; i < n_elems; i++) {
        const double v = isfinite(x[i]) ? (double)x[i] : 0;
        sums.negative -= v < 0 ? v : 0;
        sums.positive += v > 0 ? v : 0;
        sums.n_negative += x[i] < 0;
    }
    return sums;
}

const struct strait_param strait_sign_params[1] = {
    {"payload", "a bit a sign, or a byte a sign as published", .max = 1,
     .choices = strait_sign_payload_names},
};

void strait_sign_init(void *state, const struct strait_codec_ops *ops, const double *params)
{
    *(struct strait_sign_state *)state =
        (struct strait_sign_state){ops, ops->kernel, params[0] > 0};
}

static size_t head_bytes(const struct strait_sign_state *s)
{
    return 1 + 4 * (size_t)s->kernel->n_scales;
}

size_t strait_sign_max_bytes(const void *state, size_t n_elems)
{
    const struct strait_sign_state *s = state;
    return head_bytes(s) + bytes_of(n_elems, s->published);
}

int strait_sign_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct strait_sign_state *s = state;
    float scales[2];
    (void)request;
    (void)err;
    out[0] = (unsigned char)s->ops->id;
    if (s->kernel->n_scales > 0)
        s->kernel->scales_of(scales, x, n_elems);
    strait_put_floats(out + 1, scales, s->kernel->n_scales);
    put_signs(out + head_bytes(s), x, n_elems, s->published);
    *len_bytes = strait_sign_max_bytes(s, n_elems);
    return 0;
}

int strait_sign_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    const struct strait_sign_state *s = state;
    const size_t head = head_bytes(s);
    float scales[2] = {-1, 1};
    bool good =
        len_bytes >= head && in[0] == s->ops->id && is_sign_bytes(len_bytes - head, n_elems);
    if (good && s->kernel->n_scales > 0) {
        scales[1] = strait_get_float(in + head - 4);
        scales[0] = s->kernel->n_scales > 1 ? strait_get_float(in + 1) : -scales[1];
    }
    good = good && get_signs(y, in + head, len_bytes - head, n_elems, scales[0], scales[1]);
    if (!good)
        return strait_refuse(err, s->ops->name, "expected a stream of %zu signs, found other bytes",
                             n_elems);
    return 0;
}
