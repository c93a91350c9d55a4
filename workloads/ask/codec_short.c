#include "codec_short.h"

#include <stdio.h>
#include <string.h>

#include "codecs/spec.h"

/* A value as the long form has it: a choice as text, yes and no as a boolean, else a number. */
static json_t *long_value(const struct strait_param *p, const char *key, const char *value)
{
    if (p && p->choices)
        return json_string(value);
    if (!p && strcmp(key, "error_feedback") == 0)
        return json_boolean(strcmp(value, "yes") == 0);
    json_t *number = json_loads(value, JSON_DECODE_ANY, NULL);
    return number ? number : json_real(strtod(value, NULL)); /* ".5" is no JSON */
}

static const struct strait_param *find_param(const struct strait_codec_ops *ops, const char *key)
{
    for (unsigned i = 0; i < ops->n_params; i++)
        if (strcmp(ops->params[i].name, key) == 0)
            return &ops->params[i];
    return NULL;
}

/* The text is known to be right. */
static json_t *long_form(const struct strait_codec_spec *spec, const char *settings)
{
    json_t *codec = json_pack("{s:s}", "name", spec->ops->name);
    char text[STRAIT_SPEC_CHARS], *rest = text;
    snprintf(text, sizeof(text), "%s", settings);
    for (char *value; (value = strsep(&rest, ","));) {
        const char *key = strsep(&value, "=");
        const struct strait_param *p = find_param(spec->ops, key);
        enum strait_bound_kind kind;
        json_t *all = codec, *said = long_value(p, key, value);
        if (!p && strait_bound_kind_parse(&kind, key)) {
            all = json_object();
            json_object_set_new(codec, "bound", all);
        }
        json_object_set_new(all, key, said);
    }
    return codec;
}

int strait_codec_short_expand(json_t *experiment, const char *key, const char *file,
                              struct strait_error *err)
{
    const char *text = json_string_value(json_object_get(experiment, key));
    const char *settings = text ? strchr(text, ':') : NULL;
    struct strait_codec_spec spec;
    struct strait_error why = {0};
    char where[512];
    if (!settings)
        return 0;
    snprintf(where, sizeof(where), "%s#/%s", file, key);
    if (strlen(text) >= STRAIT_SPEC_CHARS)
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a codec of fewer than %d letters", STRAIT_SPEC_CHARS);
    if (strait_codec_spec_parse(&spec, text, &why) != 0)
        return strait_error_set(err, why.code, where, "%s", why.text);
    return json_object_set_new(experiment, key, long_form(&spec, settings + 1)) == 0
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, where, "memory ran out");
}
