/* onebit: the sign of each value and the means of the negative and of the other values, to which
 * they decode; n/8 + 8 bytes (published: n + 8). The two means minimise the squared error for these
 * bits. Here one pair of means a tensor, where Seide et al. have one a column of the matrix. The
 * mean of no values is 0. A value that is not finite counts as 0 in its mean; an infinity keeps its
 * sign, NaN is positive. Wire: the id, the mean below 0, the other mean, the signs (signs.h). */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/bound.h"
#include "core/bytes.h"
#include "signs.h"

enum { HEAD_BYTES = 1 + 4 + 4 };

static const struct strait_param params[] = {
    {.name = "payload",
     .doc = "a bit a sign, or a byte a sign as published",
     .max = 1,
     .choices = strait_sign_payload_names},
};

static int onebit_open(void **state, const double *values, struct strait_error *err)
{
    return strait_sign_open(state, values[0], "onebit", err);
}

static size_t onebit_bytes(const void *state, size_t n_elems)
{
    return HEAD_BYTES +
           strait_sign_bytes(n_elems, ((const struct strait_sign_state *)state)->published);
}

static size_t onebit_predict(const void *state, size_t n_elems, size_t n_rows)
{
    (void)n_rows;
    return onebit_bytes(state, n_elems);
}

static float mean_of(double sum, size_t n)
{
    return n > 0 ? (float)(sum / (double)n) : 0;
}

static int onebit_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                         const float *x, size_t n_elems, struct strait_request request,
                         struct strait_error *err)
{
    const size_t need_bytes = onebit_bytes(state, n_elems);
    if (strait_bound_check(request.bound, &strait_codec_onebit, err) != 0)
        return -1;
    if (cap_bytes < need_bytes)
        return strait_error_set(err, STRAIT_ERR_INPUT, "onebit",
                                "expected room for %zu bytes, found %zu", need_bytes, cap_bytes);
    const struct strait_sign_sums sums = strait_sign_sums_of(x, n_elems);
    out[0] = (unsigned char)strait_codec_onebit.id;
    strait_put_float(out + 1, -mean_of(sums.negative, sums.n_negative));
    strait_put_float(out + 5, mean_of(sums.positive, n_elems - sums.n_negative));
    strait_put_signs(out + HEAD_BYTES, x, n_elems, ((struct strait_sign_state *)state)->published);
    *len_bytes = need_bytes;
    return 0;
}

static int onebit_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err)
{
    (void)state;
    const bool good = len_bytes >= HEAD_BYTES && in[0] == strait_codec_onebit.id &&
                      strait_is_sign_bytes(len_bytes - HEAD_BYTES, n_elems);
    const float negative = good ? strait_get_float(in + 1) : 0;
    const float positive = good ? strait_get_float(in + 5) : 0;
    if (!good ||
        !strait_get_signs(y, in + HEAD_BYTES, len_bytes - HEAD_BYTES, n_elems, negative, positive))
        return strait_error_set(err, STRAIT_ERR_INPUT, "onebit",
                                "expected a stream of %zu signs, found other bytes", n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_onebit = {
    .name = "onebit",
    .family = "sign",
    .source = "Seide et al. 2014, 1-bit SGD",
    .id = 16,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .memory = {.residual = true},
    .open = onebit_open,
    .close = free,
    .max_bytes = onebit_bytes,
    .predict = onebit_predict,
    .encode = onebit_encode,
    .decode = onebit_decode,
};
