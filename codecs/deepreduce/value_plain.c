/* raw, fp16, sz, qsgd: value codecs that treat the chosen values as a tensor of their own. raw is
 * the float32 values, the others are the streams of the codecs with these names. */
#include <assert.h>
#include <string.h>
#include "codecs/builtin.h"
#include "value_codec.h"

static size_t raw_max_bytes(const struct strait_value_coder *c, size_t n_values)
{
    (void)c;
    return 4 * n_values;
}

static int raw_encode(const struct strait_value_coder *c, struct strait_writer *w, const float *v,
                      size_t n_values, uint64_t key, struct strait_error *err)
{
    (void)c;
    (void)key;
    (void)err;
    if (strait_write_room(w, 4 * n_values)) {
        strait_put_floats(w->p, v, n_values);
        w->p += 4 * n_values;
    }
    return 0;
}

static int raw_decode(const struct strait_value_coder *c, float *v, size_t n_values,
                      const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    if (len_bytes != 4 * n_values)
        return strait_refuse(err, c->codec->name, "expected %zu bytes of values, found %zu",
                             4 * n_values, len_bytes);
    strait_get_floats(v, in, n_values);
    return 0;
}

/* The codec's defaults, except for the value codec's own parameters. */
static int codec_open(struct strait_value_coder *c, struct strait_error *err)
{
    enum { MAX_PARAMS = 16 };
    double values[MAX_PARAMS] = {0};
    assert(c->ops->n_params <= MAX_PARAMS);
    for (unsigned i = 0; i < c->ops->n_params; i++) {
        const struct strait_param *p = &c->ops->params[i];
        values[i] = p->fallback;
        if (strcmp(p->name, "levels") == 0)
            values[i] = c->params.levels;
        if (strcmp(p->name, "bucket") == 0)
            values[i] = 512;
        for (unsigned k = 0; p->choices && strcmp(p->name, "payload") == 0 && p->choices[k]; k++)
            if (strcmp(p->choices[k], c->params.published ? "published" : "packed") == 0)
                values[i] = k;
    }
    return strait_codec_open(c->ops, &c->state, values, err);
}

static void codec_close(struct strait_value_coder *c)
{
    c->ops->close(c->state);
}

static size_t codec_max_bytes(const struct strait_value_coder *c, size_t n_values)
{
    return c->ops->max_bytes(c->state, n_values);
}

static int codec_encode(const struct strait_value_coder *c, struct strait_writer *w, const float *v,
                        size_t n_values, uint64_t key, struct strait_error *err)
{
    struct strait_request request = {.key = key};
    size_t len = 0;
    if (c->ops->flags & STRAIT_CODEC_BOUNDED)
        request.bound = (struct strait_bound){STRAIT_BOUND_RANGE, c->params.bound};
    if (strait_codec_encode(c->ops, c->state, w->p, (size_t)(w->end - w->p), &len, v, n_values,
                            request, err) != 0)
        return -1;
    w->p += len;
    return 0;
}

static int codec_decode(const struct strait_value_coder *c, float *v, size_t n_values,
                        const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    return c->ops->decode(c->state, v, n_values, in, len_bytes, err);
}

const struct strait_value_codec strait_value_raw = {
    .name = "raw",
    .source = "own",
    .max_bytes = raw_max_bytes,
    .encode = raw_encode,
    .decode = raw_decode,
};
const struct strait_value_codec strait_value_fp16 = {
    .name = "fp16",
    .source = "the codec fp16",
    .codec = &strait_codec_fp16,
    .open = codec_open,
    .close = codec_close,
    .max_bytes = codec_max_bytes,
    .encode = codec_encode,
    .decode = codec_decode,
};
const struct strait_value_codec strait_value_sz = {
    .name = "sz",
    .source = "the codec sz, bound relative to the range of the chosen values",
    .codec = &strait_codec_sz,
    .open = codec_open,
    .close = codec_close,
    .max_bytes = codec_max_bytes,
    .encode = codec_encode,
    .decode = codec_decode,
};
const struct strait_value_codec strait_value_qsgd = {
    .name = "qsgd",
    .source = "the codec qsgd, buckets of 512 (DeepReduce, Xu et al. 2021)",
    .codec = &strait_codec_qsgd,
    .open = codec_open,
    .close = codec_close,
    .max_bytes = codec_max_bytes,
    .encode = codec_encode,
    .decode = codec_decode,
};
