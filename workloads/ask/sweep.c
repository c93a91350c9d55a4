/* A base and its axes: JSON Pointers into the base, and the values to put there. */
#include "experiment.h"

#include "core/json.h"
#include "core/names.h"
#include "core/shipped.h"
#include "named.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_POINTS = 1000000 };

/* Unescape one reference token of a JSON Pointer (RFC 6901); returns what follows it. */
static const char *next_token(char *token, size_t cap, const char *pointer)
{
    size_t n = 0;
    for (pointer++; *pointer && *pointer != '/'; pointer++) {
        char c = *pointer;
        if (c == '~' && (pointer[1] == '0' || pointer[1] == '1'))
            c = *++pointer == '0' ? '~' : '/';
        if (n + 1 < cap)
            token[n++] = c;
    }
    token[n] = '\0';
    return pointer;
}

/* An element of an array, where token is the index of one. */
static bool is_index(const json_t *at, const char *token, size_t *index)
{
    char *end;
    *index = strtoul(token, &end, 10);
    return json_is_array(at) && *token >= '0' && *token <= '9' && !*end &&
           *index < json_array_size(at);
}

/* Put what a name of the experiment stands for in its place, so that a pointer can go on in it. */
static int open_name(json_t *experiment, const char *key, const char *file,
                     struct strait_error *err)
{
    json_t *value = json_object_get(experiment, key);
    const char *name = json_string_value(value);
    const bool is_codec = strcmp(key, "codec") == 0 || strcmp(key, "download_codec") == 0;
    if (!name)
        return 0;
    if (strcmp(key, "model") == 0 || (is_codec && !strchr(name, ':')))
        return json_object_set_new(experiment, key, json_pack("{s:O}", "name", value));
    return strait_named_expand(experiment, file, err);
}

/* The object or array at token of `at`, which is root or inside of it. */
static json_t *enter(json_t *root, json_t *at, const char *token, const char *file,
                     const char *where, struct strait_error *err)
{
    size_t index;
    if (at == root && open_name(root, token, file, err) != 0)
        return NULL;
    json_t *next =
        is_index(at, token, &index) ? json_array_get(at, index) : json_object_get(at, token);
    if (json_is_object(next) || json_is_array(next))
        return next;
    const char *names[STRAIT_JSON_MAX_KEYS + 1] = {NULL}, *key;
    size_t n = 0;
    json_t *value;
    json_object_foreach (at, key, value)
        if ((json_is_object(value) || json_is_array(value)) && n < STRAIT_JSON_MAX_KEYS)
            names[n++] = key;
    const char *nearest = next ? NULL : strait_nearest(token, names);
    strait_refuse(
        err, where, "expected a place in the experiment, found nothing to enter at \"%s\"%s%s%s",
        token, nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return NULL;
}

/* Put value (borrowed) at pointer; only the last key may be new. */
static int set_pointer(const char *file, json_t *root, const char *pointer, const json_t *value,
                       struct strait_error *err)
{
    char token[STRAIT_JSON_POINTER_MAX], where[2 * STRAIT_JSON_POINTER_MAX];
    snprintf(where, sizeof(where), "%s#%s", file, pointer);
    if (pointer[0] != '/')
        return strait_refuse(err, where, "expected a JSON Pointer such as /clients, found \"%s\"",
                             pointer);
    json_t *at = root;
    const char *rest = next_token(token, sizeof(token), pointer);
    for (; *rest; rest = next_token(token, sizeof(token), rest))
        if (!(at = enter(root, at, token, file, where, err)))
            return -1;
    size_t index;
    json_t *copy = json_deep_copy(value);
    const int failed = is_index(at, token, &index) ? json_array_set_new(at, index, copy)
                       : json_is_object(at)        ? json_object_set_new(at, token, copy)
                                                   : (json_decref(copy), -1);
    return failed
               ? strait_refuse(
                     err, where,
                     "expected a key of an object or an element of an array, found \"%s\"", token)
               : 0;
}

/* How many keys deep a pointer goes, or that of a setting "/pointer=value". */
static size_t depth_of(const char *pointer)
{
    size_t n = 0;
    for (; *pointer && *pointer != '='; pointer++)
        n += *pointer == '/';
    return n;
}

/* Escape a key as a reference token (a JSON Pointer as a key of another one). */
static void escape(char *token, size_t cap, const char *key)
{
    size_t n = 0;
    for (; *key && n + 2 < cap; key++) {
        const bool escaped = *key == '~' || *key == '/';
        if (escaped)
            token[n++] = '~';
        if (escaped)
            token[n++] = *key == '~' ? '0' : '1';
        else
            token[n++] = *key;
    }
    token[n] = '\0';
}

static int read_axes(struct strait_sweep *s, struct strait_error *err)
{
    char where[2 * STRAIT_JSON_POINTER_MAX], token[STRAIT_JSON_POINTER_MAX];
    const char *pointer;
    json_t *values;
    snprintf(where, sizeof(where), "%s#/vary", s->file);
    if (!s->vary)
        s->vary = json_object();
    if (!json_is_object(s->vary))
        return strait_refuse_value(err, where, "an object of JSON Pointers and arrays", s->vary);
    s->axes = calloc(json_object_size(s->vary) + 1, sizeof(*s->axes));
    if (!s->axes)
        return strait_error_memory(err, where);
    s->n_points = 1;
    json_object_foreach (s->vary, pointer, values) {
        escape(token, sizeof(token), pointer);
        snprintf(where, sizeof(where), "%s#/vary/%s", s->file, token);
        if (!json_is_array(values))
            return strait_refuse_value(err, where, "an array of at least one value", values);
        if (json_array_size(values) == 0)
            return strait_refuse(err, where, "expected an array of at least one value, found none");
        s->axes[s->n_axes++] = (struct strait_axis){pointer, values, depth_of(pointer)};
        if (json_array_size(values) > MAX_POINTS / s->n_points)
            return strait_refuse(err, where,
                                 "expected at most %d points in all, found at least %zu",
                                 MAX_POINTS, s->n_points * json_array_size(values));
        s->n_points *= json_array_size(values);
    }
    return 0;
}

/* A setting inside of what an axis puts there: in each of its values. */
static int set_in_axis(struct strait_sweep *s, const char *axis, json_t *values,
                       const char *pointer, const json_t *value, struct strait_error *err)
{
    char last[STRAIT_JSON_POINTER_MAX];
    int failed = 0;
    for (size_t i = 0; i < json_array_size(values) && !failed; i++) {
        json_t *all = json_deep_copy(s->base), *at = all;
        failed = set_pointer(s->file, all, axis, json_array_get(values, i), err) != 0 ||
                 set_pointer("--set", all, pointer, value, err) != 0;
        for (const char *rest = axis; *rest && !failed;) {
            size_t index;
            rest = next_token(last, sizeof(last), rest);
            at = is_index(at, last, &index) ? json_array_get(at, index) : json_object_get(at, last);
        }
        if (!failed)
            json_array_set(values, i, at);
        json_decref(all);
    }
    return failed ? -1 : 0;
}

static int set_all(struct strait_sweep *s, const char *pointer, const json_t *value,
                   struct strait_error *err)
{
    const char *axis;
    json_t *values;
    if (json_is_object(s->vary)) {
        json_object_del(s->vary, pointer);
        json_object_foreach (s->vary, axis, values) {
            const size_t n = strlen(axis);
            if (strncmp(pointer, axis, n) == 0 && pointer[n] == '/')
                return set_in_axis(s, axis, values, pointer, value, err);
        }
    }
    return set_pointer("--set", s->base, pointer, value, err);
}

/* Apply "/clients=64": the value is parsed as JSON, else it is a string. */
static int apply_setting(struct strait_sweep *s, const char *setting, struct strait_error *err)
{
    const char *equals = strchr(setting, '=');
    char *pointer = strndup(setting, (size_t)(equals - setting));
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (!value)
        value = json_string(equals + 1);
    int failed = -1;
    if (pointer && (strcmp(pointer, "/vary") == 0 || strncmp(pointer, "/vary/", 6) == 0))
        strait_error_set(err, STRAIT_ERR_USAGE, "--set",
                         "expected a setting, which takes its axis' place, such as /clients=64, "
                         "found \"%s\"; other axes need a file of their own",
                         pointer);
    else if (!pointer || !value)
        strait_refuse(err, "--set", "expected text in UTF-8, found \"%s\"", setting);
    else
        failed = set_all(s, pointer, value, err);
    if (!failed) { /* what is set again is told where it was set last */
        json_object_del(s->set, pointer);
        json_object_set(s->set, pointer, value);
    }
    free(pointer);
    json_decref(value);
    return failed;
}

/* What stands further out goes first, whatever the order on the command line is: a network, then
 * what is set inside of it. */
static int apply_settings(struct strait_sweep *s, const char *const *settings, size_t n_settings,
                          struct strait_error *err)
{
    size_t deepest = 0;
    for (size_t i = 0; i < n_settings; i++) {
        const char *equals = strchr(settings[i], '=');
        if (settings[i][0] != '/' || !equals)
            return strait_error_set(err, STRAIT_ERR_USAGE, "--set",
                                    "expected /pointer=value such as /clients=64, found \"%s\"",
                                    settings[i]);
        deepest = deepest > depth_of(settings[i]) ? deepest : depth_of(settings[i]);
    }
    for (size_t depth = 1; depth <= deepest; depth++)
        for (size_t i = 0; i < n_settings; i++)
            if (depth_of(settings[i]) == depth && apply_setting(s, settings[i], err) != 0)
                return -1;
    return 0;
}

/* The file of an experiment, or of a shipped one's bare name. */
static int load_file(struct strait_sweep *s, const char *path, struct strait_error *err)
{
    char shipped[4096];
    if (!strchr(path, '/') && !strchr(path, '.')) {
        char folder[3500];
        strait_share_path(folder, sizeof(folder), "experiments");
        snprintf(shipped, sizeof(shipped), "%s/%.500s.json", folder, path);
        if (access(shipped, F_OK) != 0)
            return strait_refuse_file_name(err, STRAIT_ERR_INPUT, NULL,
                                           "an experiment that ships (strait list experiments) or "
                                           "a path",
                                           path, folder);
        path = shipped;
    }
    s->base = strait_json_load(path, err);
    s->file = strdup(path == shipped ? strrchr(shipped, '/') + 1 : path);
    return s->base ? 0 : -1;
}

/* A sweep of its base, which still has "vary", and settings. */
static int prepare(struct strait_sweep *s, const char *const *settings, size_t n_settings,
                   struct strait_error *err)
{
    if (!s->file)
        return strait_error_memory(err, NULL);
    if (!json_is_object(s->base))
        return strait_refuse_value(err, s->file, "an object", s->base);
    const char *schema = json_string_value(json_object_get(s->base, "schema"));
    if (schema && strcmp(schema, "strait-plan/1") == 0) /* before its "vary", which is of others */
        return strait_refuse_at(err, s->file, "/schema",
                                "expected \"strait-experiment/1\", found \"%s\" (strait plan reads "
                                "it)",
                                schema);
    s->vary = json_incref(json_object_get(s->base, "vary"));
    json_object_del(s->base, "vary");
    if (strait_named_expand(s->base, s->file, err) != 0) /* so that settings can reach inside */
        return -1;
    s->set = json_object();
    if (apply_settings(s, settings, n_settings, err) != 0)
        return -1;
    if (read_axes(s, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n_points; i++) { /* find a bad point before anything runs */
        struct strait_experiment *e;
        json_t *point = strait_sweep_point(s, i, NULL, err);
        const int failed = !point || strait_experiment_read(&e, s->file, point, err) != 0;
        json_decref(point);
        if (failed)
            return -1;
        strait_experiment_free(e);
    }
    return 0;
}

int strait_sweep_load(struct strait_sweep **out, const char *path, const char *const *settings,
                      size_t n_settings, struct strait_error *err)
{
    struct strait_sweep *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return strait_error_memory(err, NULL);
    if (load_file(s, path, err) != 0 || prepare(s, settings, n_settings, err) != 0) {
        strait_sweep_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

int strait_sweep_new(struct strait_sweep **out, const char *file, const json_t *experiment,
                     struct strait_error *err)
{
    struct strait_sweep *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return strait_error_memory(err, NULL);
    s->file = strdup(file);
    s->base = json_deep_copy(experiment);
    if (prepare(s, NULL, 0, err) != 0) {
        strait_sweep_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

int strait_sweep_of(struct strait_sweep **out, const char *file, const json_t *base,
                    const json_t *vary, struct strait_error *err)
{
    struct strait_sweep *s = *out = calloc(1, sizeof(*s));
    if (s) {
        s->file = strdup(file);
        s->base = json_deep_copy(base);
        s->set = json_object();
        s->vary = vary ? json_deep_copy(vary) : NULL;
    }
    if (s && s->file && s->base && s->set && read_axes(s, err) == 0)
        return 0;
    strait_sweep_free(s);
    *out = NULL;
    return strait_error_memory(err, NULL); /* or what was before */
}

void strait_sweep_free(struct strait_sweep *s)
{
    if (!s)
        return;
    free(s->file);
    free(s->axes);
    json_decref(s->base);
    json_decref(s->set);
    json_decref(s->vary);
    free(s);
}

/* The value that axis a has at point i; the last axis is the fastest. */
static json_t *axis_value(const struct strait_sweep *s, size_t a, size_t i)
{
    size_t stride = 1;
    for (size_t b = a + 1; b < s->n_axes; b++)
        stride *= json_array_size(s->axes[b].values);
    return json_array_get(s->axes[a].values, i / stride % json_array_size(s->axes[a].values));
}

json_t *strait_sweep_resolve(const char *file, const json_t *base, const json_t *labels,
                             struct strait_error *err)
{
    json_t *point = json_deep_copy(base), *value;
    const char *pointer;
    size_t deepest = 0;
    json_object_foreach ((json_t *)(uintptr_t)labels, pointer, value)
        deepest = deepest > depth_of(pointer) ? deepest : depth_of(pointer);
    bool failed = false; /* an axis outside of another goes first, whatever their order is */
    for (size_t depth = 0; depth <= deepest && !failed; depth++)
        json_object_foreach ((json_t *)(uintptr_t)labels, pointer, value)
            failed = failed || (depth_of(pointer) == depth &&
                                set_pointer(file, point, pointer, value, err) != 0);
    if (failed || strait_named_expand(point, file, err) != 0) {
        json_decref(point);
        return NULL;
    }
    return point;
}

json_t *strait_sweep_point(const struct strait_sweep *s, size_t i, json_t **labels,
                           struct strait_error *err)
{
    json_t *own = json_object();
    for (size_t a = 0; a < s->n_axes; a++)
        json_object_set(own, s->axes[a].pointer, axis_value(s, a, i));
    json_t *point = strait_sweep_resolve(s->file, s->base, own, err);
    if (labels && point)
        *labels = json_incref(own);
    json_decref(own);
    return point;
}
