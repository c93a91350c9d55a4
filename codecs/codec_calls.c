/* Open a codec and call it. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "bound.h"
#include "codec.h"

const char *strait_codec_unavailable(const struct strait_codec_ops *ops)
{
    return ops->unavailable ? ops->unavailable() : NULL;
}

static int check_params(const struct strait_codec_ops *ops, const double *values,
                        struct strait_error *err)
{
    for (unsigned i = 0; i < ops->n_params; i++) {
        const struct strait_param *p = &ops->params[i];
        const double v = values[i];
        const bool whole = p->kind == STRAIT_PARAM_INTEGER;
        if (!(v >= p->min && v <= p->max) || ((whole || p->choices) && v != floor(v)))
            return strait_refuse(err, ops->name, "expected %s from %g to %g%s, found %g", p->name,
                                 p->min, p->max, whole ? ", a whole number" : "", v);
    }
    return 0;
}

int strait_codec_open(const struct strait_codec_ops *ops, void **state, const double *params,
                      struct strait_error *err)
{
    assert(ops->close && ops->max_bytes && ops->encode && ops->decode);
    if (check_params(ops, params, err) != 0)
        return -1;
    if (ops->open)
        return ops->open(state, ops, params, err);
    *state = ops->state_bytes > 0 ? calloc(1, ops->state_bytes) : NULL;
    if (ops->state_bytes > 0 && !*state)
        return strait_error_set(err, STRAIT_ERR_NOMEM, ops->name, "no memory for the codec");
    if (ops->init)
        ops->init(*state, ops, params);
    return 0;
}

int strait_codec_encode(const struct strait_codec_ops *ops, void *state, unsigned char *out,
                        size_t cap_bytes, size_t *len_bytes, const float *x, size_t n_elems,
                        struct strait_request request, struct strait_error *err)
{
    const size_t max_bytes = ops->max_bytes(state, n_elems);
    if (strait_bound_check(request.bound, ops, err) != 0)
        return -1;
    if (cap_bytes < max_bytes)
        return strait_refuse(err, ops->name, "expected room for %zu bytes, found %zu", max_bytes,
                             cap_bytes);
    return ops->encode(state, out, len_bytes, x, n_elems, request, err);
}

int strait_codec_decode(const struct strait_codec_ops *ops, void *state, float *y, size_t n_elems,
                        const unsigned char *in, size_t len_bytes, struct strait_agreed agreed,
                        struct strait_error *err)
{
    return agreed.words ? ops->statistics->decode(state, y, n_elems, in, len_bytes, agreed, err)
                        : ops->decode(state, y, n_elems, in, len_bytes, err);
}

size_t strait_codec_predict(const struct strait_codec_ops *ops, const void *state, size_t n_elems,
                            size_t n_rows)
{
    if (ops->fixed_size)
        return ops->max_bytes(state, n_elems);
    return ops->predict ? ops->predict(state, n_elems, n_rows) : 0;
}

int strait_codec_open_default(const struct strait_codec_ops *ops, void **state,
                              struct strait_error *err)
{
    enum { MAX_PARAMS = 16 };
    double values[MAX_PARAMS] = {0};
    assert(ops->n_params <= MAX_PARAMS);
    for (unsigned i = 0; i < ops->n_params; i++)
        values[i] = ops->params[i].fallback;
    return strait_codec_open(ops, state, values, err);
}
