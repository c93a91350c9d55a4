/* The table of value codecs, and their common functions. */
#include "value_codec.h"

static const struct strait_value_codec *const codecs[] = {
    /* the position is on the wire */
    &strait_value_raw,     &strait_value_fp16, &strait_value_sz,      &strait_value_qsgd,
    &strait_value_polyfit, &strait_value_dexp, &strait_value_deflate,
};
enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]) };

const char *const strait_value_codec_names[] = {"raw",     "fp16", "sz",      "qsgd",
                                                "polyfit", "dexp", "deflate", NULL};

const struct strait_value_codec *const *strait_value_codecs(size_t *n)
{
    *n = N_CODECS;
    return codecs;
}

const char *strait_value_codec_unavailable(const struct strait_value_codec *codec)
{
    return codec->codec ? strait_codec_unavailable(codec->codec) : NULL;
}

int strait_value_coder_open(struct strait_value_coder *c, const struct strait_value_codec *codec,
                            struct strait_value_params params, struct strait_error *err)
{
    const char *why = strait_value_codec_unavailable(codec);
    *c = (struct strait_value_coder){.params = params};
    if (why)
        return strait_error_set(err, STRAIT_ERR_HOST, codec->name, "%s", why);
    c->ops = codec->codec;
    if (codec->open && codec->open(c, err) != 0)
        return -1;
    c->codec = codec;
    return 0;
}

void strait_value_coder_close(struct strait_value_coder *c)
{
    if (c->codec && c->codec->close)
        c->codec->close(c);
    *c = (struct strait_value_coder){0};
}
