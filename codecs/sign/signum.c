/* signum: the sign of a momentum, m <- beta m + (1 - beta) g from m = 0, sent as in signsgd: n/8
 * bytes (published: n), decoded to -1 and 1. A gradient value that is not finite counts as 0, so m
 * stays finite; m = 0 counts as positive. Wire: the id, then the signs (signs.h). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/bound.h"
#include "signs.h"

struct state {
    bool published;
    float beta;
    float *momentum; /* n_elems of them, allocated by the first encode */
    size_t n_elems;
};

static const struct strait_param params[] = {
    {.name = "beta", .doc = "share of the old momentum in the new", .max = 0.9999, .fallback = 0.9},
    {.name = "payload",
     .doc = "a bit a sign, or a byte a sign as published",
     .max = 1,
     .choices = strait_sign_payload_names},
};

static int signum_open(void **state, const double *values, struct strait_error *err)
{
    if (!(values[0] >= 0 && values[0] <= params[0].max))
        return strait_error_set(err, STRAIT_ERR_INPUT, "signum",
                                "expected a beta from 0 to %g, found %g", params[0].max, values[0]);
    if (values[1] != 0 && values[1] != 1)
        return strait_error_set(err, STRAIT_ERR_INPUT, "signum",
                                "expected a payload of 0 (packed) or 1 (published), found %g",
                                values[1]);
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "signum", "no memory for the codec");
    s->beta = (float)values[0];
    s->published = values[1] == 1;
    *state = s;
    return 0;
}

static void signum_close(void *state)
{
    free(((struct state *)state)->momentum);
    free(state);
}

static size_t signum_bytes(const void *state, size_t n_elems)
{
    return 1 + strait_sign_bytes(n_elems, ((const struct state *)state)->published);
}

static size_t signum_predict(const void *state, size_t n_elems, size_t n_rows)
{
    (void)n_rows;
    return signum_bytes(state, n_elems);
}

/* The result is always finite: of two weights that add up to 1, the product of one with the largest
 * float 2^128 - 2^104 rounds to 2^104 below that weight of 2^128, the other to less. */
static float blend(float beta, float m, float g)
{
    const float finite = fabsf(g) <= FLT_MAX ? g : 0;
    return beta * m + (1 - beta) * finite;
}

static int remember(struct state *s, const float *x, size_t n_elems, struct strait_error *err)
{
    if (!s->momentum) {
        s->momentum = calloc(n_elems > 0 ? n_elems : 1, sizeof(*s->momentum));
        s->n_elems = n_elems;
        if (!s->momentum)
            return strait_error_set(err, STRAIT_ERR_NOMEM, "signum",
                                    "no memory for the momentum of %zu values", n_elems);
    }
    if (n_elems != s->n_elems)
        return strait_error_set(err, STRAIT_ERR_INPUT, "signum",
                                "expected %zu values as in the rounds before, found %zu",
                                s->n_elems, n_elems);
    float *m = s->momentum;
    for (size_t i = 0; i < n_elems; i++)
        m[i] = blend(s->beta, m[i], x[i]);
    return 0;
}

static int signum_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                         const float *x, size_t n_elems, struct strait_request request,
                         struct strait_error *err)
{
    struct state *s = state;
    const size_t need_bytes = signum_bytes(s, n_elems);
    if (strait_bound_check(request.bound, &strait_codec_signum, err) != 0)
        return -1;
    if (cap_bytes < need_bytes)
        return strait_error_set(err, STRAIT_ERR_INPUT, "signum",
                                "expected room for %zu bytes, found %zu", need_bytes, cap_bytes);
    if (remember(s, x, n_elems, err) != 0)
        return -1;
    out[0] = (unsigned char)strait_codec_signum.id;
    strait_put_signs(out + 1, s->momentum, n_elems, s->published);
    *len_bytes = need_bytes;
    return 0;
}

static int signum_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err)
{
    (void)state;
    if (len_bytes < 1 || in[0] != strait_codec_signum.id ||
        !strait_is_sign_bytes(len_bytes - 1, n_elems) ||
        !strait_get_signs(y, in + 1, len_bytes - 1, n_elems, -1, 1))
        return strait_error_set(err, STRAIT_ERR_INPUT, "signum",
                                "expected a stream of %zu signs, found other bytes", n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_signum = {
    .name = "signum",
    .family = "sign",
    .source = "Bernstein et al. 2018, Signum",
    .id = 14,
    .flags = STRAIT_CODEC_STATEFUL,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .open = signum_open,
    .close = signum_close,
    .max_bytes = signum_bytes,
    .predict = signum_predict,
    .encode = signum_encode,
    .decode = signum_decode,
};
