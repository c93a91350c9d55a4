/* The one table of codecs: a new codec is one new file and one line here. */
#include <assert.h>
#include <string.h>
#include "builtin.h"

static const struct strait_codec_ops *const codecs[] = {
    &strait_codec_none, /* raw float32 */
    &strait_codec_zstd, /* shuffled bytes, libzstd */
    &strait_codec_sz,   /* error-bounded, own */
    &strait_codec_zfp,  /* error-bounded, libzfp */
};
enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]) };

const struct strait_codec_ops *const *strait_codecs(size_t *n)
{
    *n = N_CODECS;
    return codecs;
}

const struct strait_codec_ops *strait_codec_find(const char *name)
{
    for (size_t i = 0; i < N_CODECS; i++)
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    return NULL;
}

const struct strait_codec_ops *strait_codec_by_id(unsigned id)
{
    for (size_t i = 0; i < N_CODECS; i++)
        if (codecs[i]->id == id)
            return codecs[i];
    return NULL;
}

const char *strait_codec_unavailable(const struct strait_codec_ops *ops)
{
    return ops->unavailable ? ops->unavailable() : NULL;
}

int strait_codec_open_default(const struct strait_codec_ops *ops, void **state,
                              struct strait_error *err)
{
    enum { MAX_PARAMS = 16 };
    double values[MAX_PARAMS] = {0};
    assert(ops->n_params <= MAX_PARAMS);
    for (unsigned i = 0; i < ops->n_params; i++)
        values[i] = ops->params[i].fallback;
    return ops->open(state, values, err);
}
