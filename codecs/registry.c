/* Find a codec in the list of builtin.h, by name or by its id on the wire. */
#include <string.h>
#include "builtin.h"

#define ROW(name) &strait_codec_##name,
static const struct strait_codec_ops *const codecs[] = {STRAIT_CODECS(ROW)};
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
