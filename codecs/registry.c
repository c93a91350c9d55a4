/* The one table of codecs: a new codec is one new file and one line here. */
#include <assert.h>
#include <string.h>
#include "builtin.h"

static const struct strait_codec_ops *const codecs[] = {
    &strait_codec_none,       /* raw float32 */
    &strait_codec_zstd,       /* shuffled bytes, libzstd */
    &strait_codec_lz4,        /* shuffled bytes, liblz4 */
    &strait_codec_blosc,      /* shuffled bits or bytes, c-blosc */
    &strait_codec_fpzip,      /* predicted floats, fpzip */
    &strait_codec_sz,         /* error-bounded, own */
    &strait_codec_zfp,        /* error-bounded, libzfp */
    &strait_codec_sz3,        /* error-bounded, libSZ3c where it is installed */
    &strait_codec_libpressio, /* error-bounded, LibPressio where it is installed */
    &strait_codec_fp16,       /* 16 bits a value */
    &strait_codec_bf16,       /* the upper 16 bits of a float32 */
    &strait_codec_qsgd,       /* levels of each bucket's norm, drawn */
    &strait_codec_terngrad,   /* -1, 0, 1, drawn */
    &strait_codec_natural,    /* powers of two, drawn */
    &strait_codec_u8bit,      /* 8-bit data type with a dynamic exponent */
    &strait_codec_sketchml,   /* quantiles */
    &strait_codec_inceptionn, /* truncated by magnitude */
    &strait_codec_signsgd,    /* signs */
    &strait_codec_signum,     /* signs of the momentum */
    &strait_codec_efsignsgd,  /* signs and one scale */
    &strait_codec_onebit,     /* signs and two means */
    &strait_codec_randomk,    /* elements drawn by a shared key */
    &strait_codec_topk,       /* the largest elements */
    &strait_codec_threshold,  /* elements above a threshold */
    &strait_codec_dgc,        /* largest by a sampled threshold */
    &strait_codec_adaq,       /* largest of each sign, two means */
    &strait_codec_gtopk,      /* largest, and largest of sums */
    &strait_codec_deepreduce, /* chosen elements: index and value codecs */
    &strait_codec_powersgd,   /* two factors by power iteration */
    &strait_codec_acpsgd,     /* two factors, one of them new each step */
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
