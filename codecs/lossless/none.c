/* none: the float32 values as they are, little-endian. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"

static size_t none_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems;
}

static int none_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                       size_t n_elems, struct strait_request request, struct strait_error *err)
{
    (void)state;
    (void)request;
    (void)err;
    strait_put_floats(out, x, n_elems);
    *len_bytes = 4 * n_elems;
    return 0;
}

static int none_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    (void)state;
    if (len_bytes != 4 * n_elems)
        return strait_refuse(err, "none", "expected %zu bytes, found %zu", 4 * n_elems, len_bytes);
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
    .close = free,
    .max_bytes = none_bytes,
    .fixed_size = true,
    .encode = none_encode,
    .decode = none_decode,
};
