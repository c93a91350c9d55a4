/* none: the float32 values as they are, little-endian. */
#include "codecs/builtin.h"
#include "codecs/bound.h"
#include "core/bytes.h"

static int none_open(void **state, const double *params, struct strait_error *err)
{
    (void)params;
    (void)err;
    *state = NULL;
    return 0;
}

static void none_close(void *state)
{
    (void)state;
}

static size_t none_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems;
}

static size_t none_predict(const void *state, size_t n_elems, size_t n_rows)
{
    (void)n_rows;
    return none_bytes(state, n_elems);
}

static int none_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                       const float *x, size_t n_elems, struct strait_request request,
                       struct strait_error *err)
{
    (void)state;
    if (strait_bound_check(request.bound, &strait_codec_none, err) != 0)
        return -1;
    if (cap_bytes < 4 * n_elems)
        return strait_error_set(err, STRAIT_ERR_INPUT, "none",
                                "expected room for %zu bytes, found %zu", 4 * n_elems, cap_bytes);
    strait_put_floats(out, x, n_elems);
    *len_bytes = 4 * n_elems;
    return 0;
}

static int none_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    (void)state;
    if (len_bytes != 4 * n_elems)
        return strait_error_set(err, STRAIT_ERR_INPUT, "none", "expected %zu bytes, found %zu",
                                4 * n_elems, len_bytes);
    strait_get_floats(y, in, n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_none = {
    .name = "none",
    .family = "lossless",
    .source = "own",
    .id = 1,
    .flags = STRAIT_CODEC_LOSSLESS,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .open = none_open,
    .close = none_close,
    .max_bytes = none_bytes,
    .predict = none_predict,
    .encode = none_encode,
    .decode = none_decode,
};
