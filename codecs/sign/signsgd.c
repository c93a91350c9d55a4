/* signsgd: the sign of each value, n/8 bytes (published: n), decoded to -1 and 1; the majority vote
 * over ranks is the sign of the sum of decoded values. +0 and -0 count as positive, as in the
 * published x >= 0; NaN counts as 0. Wire: the id, then the signs (signs.h). */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/bound.h"
#include "signs.h"

static const struct strait_param params[] = {
    {.name = "payload",
     .doc = "a bit a sign, or a byte a sign as published",
     .max = 1,
     .choices = strait_sign_payload_names},
};

static int signsgd_open(void **state, const double *values, struct strait_error *err)
{
    return strait_sign_open(state, values[0], "signsgd", err);
}

static size_t signsgd_bytes(const void *state, size_t n_elems)
{
    return 1 + strait_sign_bytes(n_elems, ((const struct strait_sign_state *)state)->published);
}

static size_t signsgd_predict(const void *state, size_t n_elems, size_t n_rows)
{
    (void)n_rows;
    return signsgd_bytes(state, n_elems);
}

static int signsgd_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                          const float *x, size_t n_elems, struct strait_request request,
                          struct strait_error *err)
{
    const size_t need_bytes = signsgd_bytes(state, n_elems);
    if (strait_bound_check(request.bound, &strait_codec_signsgd, err) != 0)
        return -1;
    if (cap_bytes < need_bytes)
        return strait_error_set(err, STRAIT_ERR_INPUT, "signsgd",
                                "expected room for %zu bytes, found %zu", need_bytes, cap_bytes);
    out[0] = (unsigned char)strait_codec_signsgd.id;
    strait_put_signs(out + 1, x, n_elems, ((struct strait_sign_state *)state)->published);
    *len_bytes = need_bytes;
    return 0;
}

static int signsgd_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                          size_t len_bytes, struct strait_error *err)
{
    (void)state;
    if (len_bytes < 1 || in[0] != strait_codec_signsgd.id ||
        !strait_is_sign_bytes(len_bytes - 1, n_elems) ||
        !strait_get_signs(y, in + 1, len_bytes - 1, n_elems, -1, 1))
        return strait_error_set(err, STRAIT_ERR_INPUT, "signsgd",
                                "expected a stream of %zu signs, found other bytes", n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_signsgd = {
    .name = "signsgd",
    .family = "sign",
    .source = "Bernstein et al. 2018, signSGD",
    .id = 13,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .open = signsgd_open,
    .close = free,
    .max_bytes = signsgd_bytes,
    .predict = signsgd_predict,
    .encode = signsgd_encode,
    .decode = signsgd_decode,
};
