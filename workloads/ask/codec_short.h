/* A codec of an experiment in its short form, "sz:range=1e-3". */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** Replace a codec's short form under `key` of an experiment by the object that it stands for:
 *  {"name": "sz", "bound": {"range": 1e-3}}. Anything else under the key is left alone.
 *  In:      file   the experiment's, for the error
 *  Returns: 0, or -1 with *err INPUT: `wan.json#/codec: unknown setting "rnge" of sz, ...` */
int strait_codec_short_expand(json_t *experiment, const char *key, const char *file,
                              struct strait_error *err);
