/* fixed: every value as a whole number of steps, 16 bits each, so that encoded tensors can be
 * added.
 *
 *     u8 wire id, float32 step, int16[n_elems]
 *
 * A value is held to 2047 steps to either side, so that 16 streams can be added before a sum runs
 * out of its 16 bits. NaN counts as 0, infinities as the outermost step. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "core/bytes.h"
#include "codecs/codec.h"
#include "core/random.h"
#include "example_codec.h"

enum { HEAD_BYTES = 5, LIMIT = 2047, NEAREST = 1 };

struct fixed {
    float step;
    int rounding;
};

static const char *const roundings[] = {"stochastic", "nearest", NULL};
static const struct strait_param params[] = {
    {"step", "size of a step", .min = 1e-9, .max = 1e3, .fallback = 1e-4},
    {"rounding", "by chance, or to the nearest step", .max = 1, .choices = roundings},
};

static void fixed_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    *(struct fixed *)state = (struct fixed){.step = (float)values[0], .rounding = (int)values[1]};
}

static size_t fixed_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return HEAD_BYTES + 2 * n_elems;
}

static int fixed_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                        size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct fixed *f = state;
    struct strait_sequence chance = strait_sequence_at(request.key);
    (void)err;
    out[0] = (unsigned char)strait_codec_fixed.id;
    strait_put_float(out + 1, f->step);
    for (size_t i = 0; i < n_elems; i++) {
        const double up = f->rounding == NEAREST ? 0.5 : strait_sequence_unit(&chance);
        double q = (double)x[i] / (double)f->step;
        q = q > -LIMIT ? q : isnan(q) ? 0 : -LIMIT; /* in range before it becomes an integer */
        q = q < LIMIT ? floor(q + up) : LIMIT;
        strait_put16(out + HEAD_BYTES + 2 * i, (uint16_t)(int16_t)q);
    }
    *len_bytes = fixed_bytes(f, n_elems);
    return 0;
}

/* The step of a stream of n_elems values, or 0: these bytes are none. */
static float step_of(const unsigned char *in, size_t len_bytes, size_t n_elems)
{
    if (len_bytes < HEAD_BYTES || (len_bytes - HEAD_BYTES) / 2 != n_elems ||
        (len_bytes - HEAD_BYTES) % 2 != 0 || in[0] != strait_codec_fixed.id)
        return 0;
    const float step = strait_get_float(in + 1);
    return step > 0 && isfinite(step) ? step : 0;
}

static int16_t steps_at(const unsigned char *in, size_t i)
{
    return (int16_t)strait_get16(in + HEAD_BYTES + 2 * i);
}

static int fixed_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                        size_t len_bytes, struct strait_error *err)
{
    const float step = step_of(in, len_bytes, n_elems);
    (void)state;
    if (!(step > 0))
        return strait_refuse(err, "fixed", "expected a stream of %zu values, found something else",
                             n_elems);
    for (size_t i = 0; i < n_elems; i++)
        y[i] = (float)steps_at(in, i) * step;
    return 0;
}

static int fixed_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                     const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
                     size_t n_elems, struct strait_error *err)
{
    const float step = step_of(a, a_bytes, n_elems);
    if (!(step > 0) || step_of(b, b_bytes, n_elems) != step || cap_bytes < a_bytes)
        return strait_refuse(err, "fixed", "expected two streams of %zu values with one step",
                             n_elems);
    (void)state;
    memmove(out, a, HEAD_BYTES);
    for (size_t i = 0; i < n_elems; i++) {
        const int sum = steps_at(a, i) + steps_at(b, i);
        if (sum < INT16_MIN || sum > INT16_MAX)
            return strait_refuse(err, "fixed",
                                 "expected a sum of at most 16 streams, found a larger one");
        strait_put16(out + HEAD_BYTES + 2 * i, (uint16_t)sum);
    }
    *len_bytes = a_bytes;
    return 0;
}

static bool fixed_summable(const void *state, const unsigned char *a, size_t a_bytes,
                           const unsigned char *b, size_t b_bytes)
{
    (void)state;
    return a_bytes == b_bytes && a_bytes >= HEAD_BYTES && memcmp(a, b, HEAD_BYTES) == 0;
}

const struct strait_codec_ops strait_codec_fixed = {
    .name = "fixed",
    .family = "quantiser",
    .source = "own",
    .id = 31, /* on the wire: this example's; take the next that is free */
    .flags = STRAIT_CODEC_STOCHASTIC,
    .bounds = 1u << STRAIT_BOUND_NONE, /* it clips, so it keeps no bound */
    STRAIT_PARAMS(params),
    .memory = {.residual = true}, /* what was clipped and rounded is sent later */
    .state_bytes = sizeof(struct fixed),
    .init = fixed_init,
    .close = free,
    .max_bytes = fixed_bytes,
    .fixed_size = true, /* so simulation needs no measured ratio */
    .encode = fixed_encode,
    .decode = fixed_decode,
    .add = fixed_add,
    .summable = fixed_summable,
};
