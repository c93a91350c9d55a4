/* efsignsgd: signs and the mean magnitude s = ||x||_1 / n, decoded to -s and s; n/8 + 4 bytes
 * (published: n + 4). With error feedback it converges where plain signs may not. Its squared error
 * is ||x||_2^2 - ||x||_1^2 / n. A value that is not finite counts as 0 in s; an infinity keeps its
 * sign, NaN is positive. Wire: the id, s as a float, the signs (signs.h). */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/bound.h"
#include "core/bytes.h"
#include "signs.h"

enum { HEAD_BYTES = 1 + 4 };

static const struct strait_param params[] = {
    {.name = "payload",
     .doc = "a bit a sign, or a byte a sign as published",
     .max = 1,
     .choices = strait_sign_payload_names},
};

static int efsignsgd_open(void **state, const double *values, struct strait_error *err)
{
    return strait_sign_open(state, values[0], "efsignsgd", err);
}

static size_t efsignsgd_bytes(const void *state, size_t n_elems)
{
    return HEAD_BYTES +
           strait_sign_bytes(n_elems, ((const struct strait_sign_state *)state)->published);
}

static size_t efsignsgd_predict(const void *state, size_t n_elems, size_t n_rows)
{
    (void)n_rows;
    return efsignsgd_bytes(state, n_elems);
}

static int efsignsgd_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                            const float *x, size_t n_elems, struct strait_request request,
                            struct strait_error *err)
{
    const size_t need_bytes = efsignsgd_bytes(state, n_elems);
    if (strait_bound_check(request.bound, &strait_codec_efsignsgd, err) != 0)
        return -1;
    if (cap_bytes < need_bytes)
        return strait_error_set(err, STRAIT_ERR_INPUT, "efsignsgd",
                                "expected room for %zu bytes, found %zu", need_bytes, cap_bytes);
    const struct strait_sign_sums sums = strait_sign_sums_of(x, n_elems);
    const double total = sums.negative + sums.positive;
    out[0] = (unsigned char)strait_codec_efsignsgd.id;
    strait_put_float(out + 1, n_elems > 0 ? (float)(total / (double)n_elems) : 0);
    strait_put_signs(out + HEAD_BYTES, x, n_elems, ((struct strait_sign_state *)state)->published);
    *len_bytes = need_bytes;
    return 0;
}

static int efsignsgd_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                            size_t len_bytes, struct strait_error *err)
{
    (void)state;
    const bool good = len_bytes >= HEAD_BYTES && in[0] == strait_codec_efsignsgd.id &&
                      strait_is_sign_bytes(len_bytes - HEAD_BYTES, n_elems);
    const float scale = good ? strait_get_float(in + 1) : 0;
    if (!good ||
        !strait_get_signs(y, in + HEAD_BYTES, len_bytes - HEAD_BYTES, n_elems, -scale, scale))
        return strait_error_set(err, STRAIT_ERR_INPUT, "efsignsgd",
                                "expected a stream of %zu signs, found other bytes", n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_efsignsgd = {
    .name = "efsignsgd",
    .family = "sign",
    .source = "Karimireddy et al. 2019, EF-signSGD",
    .id = 15,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .memory = {.residual = true},
    .open = efsignsgd_open,
    .close = free,
    .max_bytes = efsignsgd_bytes,
    .predict = efsignsgd_predict,
    .encode = efsignsgd_encode,
    .decode = efsignsgd_decode,
};
