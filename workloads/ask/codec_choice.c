#include "codec_choice.h"
#include "codecs/bundle.h"
#include "core/names.h"
#include "tensor_bounds.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 64, LOSSY_CUTOFF_ELEMS = 1024 };

/* Those that have all of these flags would do. */
static int unknown_codec(const char *where, const char *expected, unsigned flags, const char *name,
                         struct strait_error *err)
{
    size_t n, n_names = 0;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    const char *names[MAX_NAMES] = {0};
    for (size_t i = 0; i < n && n_names + 1 < MAX_NAMES; i++)
        if ((codecs[i]->flags & flags) == flags)
            names[n_names++] = codecs[i]->name;
    return strait_refuse_name(err, STRAIT_ERR_INPUT, where, expected, name, names);
}

static int read_bound(struct strait_codec_spec *c, struct strait_object *o,
                      struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    const bool wanted = (c->ops->flags & STRAIT_CODEC_BOUNDED) != 0;
    if (!wanted && !strait_object_has(o, "bound"))
        return 0;
    strait_object_where(o, "bound", where, sizeof(where));
    if (!wanted)
        return strait_refuse(err, where, "expected no bound, since \"%s\" keeps none",
                             c->ops->name);
    struct strait_object b;
    if (strait_object_enter(&b, o, "bound", false, err) != 0)
        return -1;
    static const enum strait_bound_kind kinds[] = {STRAIT_BOUND_ABS, STRAIT_BOUND_RANGE,
                                                   STRAIT_BOUND_RMS, STRAIT_BOUND_POINTWISE,
                                                   STRAIT_BOUND_RATIO};
    unsigned n_found = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *name = strait_bound_kind_name(kinds[i]);
        if (!(c->ops->bounds & 1u << kinds[i]) || !strait_object_has(&b, name))
            continue;
        n_found++;
        c->bound.kind = kinds[i];
        const double least = kinds[i] == STRAIT_BOUND_RATIO ? 1 : 0;
        if (strait_object_number(&b, &c->bound.value, name, least, DBL_MAX, err) != 0)
            return -1;
    }
    if (strait_object_close(&b, err) != 0)
        return -1;
    if (n_found != 1)
        return strait_refuse(err, where, "expected one bound such as {\"range\": 1e-3}, found %u",
                             n_found);
    return 0;
}

/* The codec's own parameters, numbers or names, and what its sender remembers. */
static int read_settings(struct strait_codec_spec *spec, struct strait_object *codec,
                         struct strait_error *err)
{
    for (unsigned i = 0; i < spec->ops->n_params; i++) {
        const struct strait_param *p = &spec->ops->params[i];
        char where[STRAIT_JSON_POINTER_MAX * 2];
        const char *choice;
        if (!p->choices) {
            if (strait_object_number_or(codec, &spec->params[i], p->name, p->min, p->max,
                                        p->fallback, err) != 0)
                return -1;
            if (strcmp(p->name, "threads") == 0 && spec->params[i] > 1)
                return strait_refuse(err, strait_object_where(codec, p->name, where, sizeof(where)),
                                     "expected 1, since a rank encodes on one core, found %g",
                                     spec->params[i]);
            continue;
        }
        strait_object_where(codec, p->name, where, sizeof(where));
        if (strait_object_string_or(codec, &choice, p->name, p->choices[(int)p->fallback], err) !=
                0 ||
            strait_codec_param_parse(&spec->params[i], p, choice, where, err) != 0)
            return -1;
    }
    return strait_object_bool_or(codec, &spec->memory.residual, "error_feedback",
                                 spec->memory.residual, err) != 0 ||
                   strait_object_number_or(codec, &spec->memory.momentum, "momentum", 0, 0.9999,
                                           spec->memory.momentum, err) != 0 ||
                   strait_object_number_or(codec, &spec->memory.decay, "feedback_decay", 1e-9, 1,
                                           spec->memory.decay, err) != 0
               ? -1
               : 0;
}

/* "reference": parameters as differences from what the receiver decoded last, or whatever a sender
 * sends as differences from what its receivers have of it, in the place of error feedback. */
static int read_reference(struct strait_codec_choice *c, struct strait_object *codec,
                          struct strait_error *err)
{
    static const char *const names[] = {"none", "last", "own", NULL};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    const char *name, *name_of = c->spec.ops->name;
    const enum strait_bound_kind kind = c->spec.bound.kind;
    if (strait_object_string_or(codec, &name, "reference", names[0], err) != 0)
        return -1;
    strait_object_where(codec, "reference", where, sizeof(where));
    c->own = strcmp(name, names[2]) == 0;
    c->reference = c->own || strcmp(name, names[1]) == 0;
    if (!c->reference)
        return strcmp(name, names[0]) == 0
                   ? 0
                   : strait_refuse_name(err, STRAIT_ERR_INPUT, where, "one of none, last, own",
                                        name, names);
    if (c->own && !json_object_get(codec->json, "error_feedback"))
        c->spec.memory.residual = false;
    if (c->spec.ops->flags & STRAIT_CODEC_LOSSLESS && !c->spec.ops->decode_from)
        return strait_refuse(err, where, "expected \"none\" for \"%s\", which is lossless",
                             name_of);
    if (strait_feedback_needed(&c->spec))
        return strait_refuse(err, where,
                             "expected \"none\" for a sender of \"%s\" that remembers what it sent "
                             "(error_feedback, momentum or the codec's own state)",
                             name_of);
    if (kind != STRAIT_BOUND_NONE &&
        (kind == STRAIT_BOUND_POINTWISE || kind == STRAIT_BOUND_RATIO ||
         !(c->spec.ops->bounds & 1u << STRAIT_BOUND_ABS)))
        return strait_refuse(err, where,
                             "expected \"none\" for \"%s\" with a bound \"%s\": differences need "
                             "one that has an absolute value for a tensor",
                             name_of, strait_bound_kind_name(kind));
    return 0;
}

/* "vectors": false, true or "weights". */
static int read_vectors(enum strait_coded_tensors *coded, struct strait_object *codec,
                        struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    const char *word = json_string_value(strait_object_value(codec, "vectors"));
    bool all = false;
    if (word && strcmp(word, "weights") != 0)
        return strait_refuse(err, strait_object_where(codec, "vectors", where, sizeof(where)),
                             "expected true, false or \"weights\", found \"%s\"", word);
    if (!word && strait_object_bool_or(codec, &all, "vectors", false, err) != 0)
        return -1;
    *coded = word ? STRAIT_CODED_WEIGHTS : all ? STRAIT_CODED_ALL : STRAIT_CODED_MATRICES;
    return 0;
}

int strait_codec_choice_read(struct strait_codec_choice *c, struct strait_object *o,
                             const char *key, struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    const json_t *value = strait_object_value(o, key);
    *c = (struct strait_codec_choice){.spec = strait_codec_spec_default(strait_codec_find("none")),
                                      .lossless =
                                          strait_codec_spec_default(strait_codec_find("zstd")),
                                      .encode_speed = 1,
                                      .decode_speed = 1,
                                      .cutoff_elems = LOSSY_CUTOFF_ELEMS};
    if (!value)
        return 0;
    struct strait_object codec = {0};
    const char *name = json_string_value(value);
    const char *lossless = c->lossless.ops->name;
    if (!name && (strait_object_enter(&codec, o, key, false, err) != 0 ||
                  strait_object_string(&codec, &name, "name", err) != 0))
        return -1;
    strait_object_where(o, key, where, sizeof(where));
    const struct strait_codec_ops *ops = strait_codec_find(name);
    if (!ops)
        return unknown_codec(where, "a codec (strait list codecs)", 0, name, err);
    if (strait_codec_unavailable(ops))
        return strait_refuse(err, where, "codec \"%s\" cannot be used: %s", name,
                             strait_codec_unavailable(ops));
    c->spec = strait_codec_spec_default(ops);
    if (!codec.json)
        return ops->flags & STRAIT_CODEC_BOUNDED
                   ? strait_refuse(
                         err, where,
                         "expected {\"name\": \"%s\", \"bound\": ...}, found the name alone", name)
                   : 0;
    if (read_settings(&c->spec, &codec, err) != 0 || read_bound(&c->spec, &codec, err) != 0 ||
        read_reference(c, &codec, err) != 0 ||
        strait_object_string_or(&codec, &c->profile, "profile", NULL, err) != 0 ||
        strait_object_number_or(&codec, &c->encode_speed, "speed", 1e-6, 1e6, 1, err) != 0 ||
        strait_object_string_or(&codec, &c->bounds_file, "bounds", NULL, err) != 0 ||
        strait_object_string_or(&codec, &lossless, "lossless", lossless, err) != 0 ||
        strait_object_integer_or(&codec, &c->cutoff_elems, "cutoff", 0, INT32_MAX, c->cutoff_elems,
                                 err) != 0 ||
        read_vectors(&c->coded, &codec, err) != 0 || strait_object_close(&codec, err) != 0)
        return -1;
    c->decode_speed = c->encode_speed;
    ops = strait_codec_find(lossless);
    if (!ops || !(ops->flags & STRAIT_CODEC_LOSSLESS))
        return unknown_codec(strait_object_where(&codec, "lossless", where, sizeof(where)),
                             "a lossless codec", STRAIT_CODEC_LOSSLESS, lossless, err);
    c->lossless = strait_codec_spec_default(ops);
    return 0;
}

int strait_codec_choice_bounds(struct strait_codec_choice *c, const struct strait_model *m,
                               const char *where, struct strait_error *err)
{
    char at[STRAIT_JSON_POINTER_MAX * 2];
    enum strait_bound_kind kind;
    if (!c->bounds_file)
        return 0;
    snprintf(at, sizeof(at), "%s/bounds", where);
    if (strait_tensor_bounds_load(&c->row_bounds, &kind, c->bounds_file, m, at, err) != 0)
        return -1;
    return kind == c->spec.bound.kind
               ? 0
               : strait_refuse(err, at, "expected bounds of the codec's kind \"%s\", found \"%s\"",
                               strait_bound_kind_name(c->spec.bound.kind),
                               strait_bound_kind_name(kind));
}

bool strait_codec_choice_takes(const struct strait_codec_choice *c,
                               const struct strait_param_row *row)
{
    if (c->coded == STRAIT_CODED_WEIGHTS && !strstr(row->param, "weight") &&
        !strstr(row->layer, "weight"))
        return false;
    return strait_slice_lossy(c->coded == STRAIT_CODED_MATRICES ? row->n_dims : 2, row->n_elems,
                              (size_t)c->cutoff_elems);
}

void strait_codec_choice_release(struct strait_codec_choice *c)
{
    free(c->row_bounds);
    c->row_bounds = NULL;
}

/* --- the short form -------------------------------------------------------------------- */

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
        return strait_refuse(err, where, "expected a codec of fewer than %d letters, found %zu",
                             STRAIT_SPEC_CHARS, strlen(text));
    if (strait_codec_spec_parse(&spec, text, &why) != 0)
        return strait_error_set(err, why.code, where, "%s", why.text);
    return json_object_set_new(experiment, key, long_form(&spec, settings + 1)) == 0
               ? 0
               : strait_error_memory(err, where);
}

void strait_codec_same_resolve(json_t *json)
{
    const json_t *up = json_object_get(json, "codec"),
                 *down = json_object_get(json, "download_codec");
    const json_t *name = json_is_object(down) ? json_object_get(down, "name") : down;
    const char *of_up = json_string_value(json_is_object(up) ? json_object_get(up, "name") : up);
    if (!json_is_string(name) || strcmp(json_string_value(name), "same") != 0)
        return;
    if (!of_up || strcmp(of_up, "none") == 0) {
        json_object_set_new(json, "download_codec", json_string("none"));
        return;
    }
    json_t *both = json_is_object(up) ? json_deep_copy(up) : json_pack("{s:s}", "name", of_up);
    json_t *rest = json_is_object(down) ? json_deep_copy(down) : json_object();
    json_object_del(rest, "name");
    json_object_update(both, rest);
    json_decref(rest);
    json_object_set_new(json, "download_codec", both);
}
