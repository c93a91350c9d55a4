/* A base and its axes: JSON Pointers into the base, and the values that stand there in turn. */
#include "experiment.h"

#include "core/json.h"
#include "named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 1000000 };

/* One reference token of a JSON Pointer (RFC 6901), unescaped; returns what follows it. */
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

/* Put value (borrowed) at pointer; the last key of an object may be new. */
static int set_pointer(const char *file, json_t *root, const char *pointer, const json_t *value,
                       struct strait_error *err)
{
    char token[STRAIT_JSON_POINTER_MAX], where[2 * STRAIT_JSON_POINTER_MAX];
    snprintf(where, sizeof(where), "%s#%s", file, pointer);
    json_t *at = root;
    if (pointer[0] != '/')
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected a JSON Pointer such as /clients, found \"%s\"", pointer);
    for (const char *rest = pointer; *rest;) {
        rest = next_token(token, sizeof(token), rest);
        json_t *next = NULL;
        char *end;
        const unsigned long index = strtoul(token, &end, 10);
        const bool is_index = json_is_array(at) && token[0] && !*end && index < json_array_size(at);
        if (*rest) {
            next = is_index ? json_array_get(at, index) : json_object_get(at, token);
            if (!json_is_object(next) && !json_is_array(next))
                return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                        "expected a place in the experiment, found nothing to "
                                        "enter at \"%s\"",
                                        token);
            at = next;
            continue;
        }
        json_t *copy = json_deep_copy(value);
        const int failed = is_index             ? json_array_set_new(at, index, copy)
                           : json_is_object(at) ? json_object_set_new(at, token, copy)
                                                : (json_decref(copy), -1);
        if (failed)
            return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                    "expected a key of an object or an element of an array, found "
                                    "\"%s\"",
                                    token);
    }
    return 0;
}

/* A key as a reference token: a JSON Pointer inside a JSON Pointer. */
static void escape(char *token, size_t cap, const char *key)
{
    size_t n = 0;
    for (; *key && n + 2 < cap; key++) {
        if (*key == '~' || *key == '/')
            token[n++] = '~';
        token[n++] = *key == '~' ? '0' : *key == '/' ? '1' : *key;
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
        return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                "expected an object of JSON Pointers and arrays");
    s->axes = calloc(json_object_size(s->vary) + 1, sizeof(*s->axes));
    if (!s->axes)
        return strait_error_set(err, STRAIT_ERR_NOMEM, where, "memory ran out");
    s->n_points = 1;
    json_object_foreach(s->vary, pointer, values)
    {
        escape(token, sizeof(token), pointer);
        snprintf(where, sizeof(where), "%s#/vary/%s", s->file, token);
        if (!json_is_array(values) || json_array_size(values) == 0)
            return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                    "expected an array of at least one value");
        s->axes[s->n_axes++] = (struct strait_axis){pointer, values};
        if (json_array_size(values) > MAX_POINTS / s->n_points)
            return strait_error_set(err, STRAIT_ERR_INPUT, where,
                                    "expected at most %d points in all", MAX_POINTS);
        s->n_points *= json_array_size(values);
    }
    return 0;
}

/* "/clients=64": the value as JSON where it is JSON, else as a string. */
static int apply_setting(struct strait_sweep *s, const char *setting, struct strait_error *err)
{
    const char *equals = strchr(setting, '=');
    if (setting[0] != '/' || !equals)
        return strait_error_set(err, STRAIT_ERR_USAGE, "--set",
                                "expected /pointer=value such as /clients=64, found \"%s\"",
                                setting);
    char *pointer = strndup(setting, (size_t)(equals - setting));
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (!value)
        value = json_string(equals + 1);
    int failed = -1;
    if (!pointer || !value)
        strait_error_set(err, STRAIT_ERR_INPUT, "--set", "expected text in UTF-8, found \"%s\"",
                         setting);
    else
        failed = set_pointer("--set", s->base, pointer, value, err);
    if (pointer && json_is_object(s->vary))
        json_object_del(s->vary, pointer);
    free(pointer);
    json_decref(value);
    return failed;
}

static int load(struct strait_sweep *s, const char *path, const char *const *settings,
                size_t n_settings, struct strait_error *err)
{
    char shipped[4096];
    if (!strchr(path, '/') && !strchr(path, '.')) {
        snprintf(shipped, sizeof(shipped), "%s/experiments/%s.json", STRAIT_SHARE, path);
        path = shipped;
    }
    s->base = strait_json_load(path, err);
    s->file = strdup(path == shipped ? strrchr(shipped, '/') + 1 : path);
    if (!s->base)
        return -1;
    if (!s->file)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    if (!json_is_object(s->base))
        return strait_error_set(err, STRAIT_ERR_INPUT, s->file, "expected an object");
    s->vary = json_incref(json_object_get(s->base, "vary"));
    json_object_del(s->base, "vary");
    if (strait_named_expand(s->base, s->file, err) != 0) /* so that settings reach inside */
        return -1;
    for (size_t i = 0; i < n_settings; i++)
        if (apply_setting(s, settings[i], err) != 0)
            return -1;
    if (read_axes(s, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n_points; i++) { /* a bad point is found before anything runs */
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
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    if (load(s, path, settings, n_settings, err) != 0) {
        strait_sweep_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void strait_sweep_free(struct strait_sweep *s)
{
    if (!s)
        return;
    free(s->file);
    free(s->axes);
    json_decref(s->base);
    json_decref(s->vary);
    free(s);
}

json_t *strait_sweep_point(const struct strait_sweep *s, size_t i, json_t **labels,
                           struct strait_error *err)
{
    json_t *point = json_deep_copy(s->base), *named = json_object();
    for (size_t a = 0; a < s->n_axes; a++) { /* the first axis is the slowest */
        size_t stride = 1;
        for (size_t b = a + 1; b < s->n_axes; b++)
            stride *= json_array_size(s->axes[b].values);
        const size_t n = json_array_size(s->axes[a].values);
        json_t *value = json_array_get(s->axes[a].values, i / stride % n);
        if (set_pointer(s->file, point, s->axes[a].pointer, value, err) != 0) {
            json_decref(point);
            json_decref(named);
            return NULL;
        }
        json_object_set(named, s->axes[a].pointer, value);
    }
    if (strait_named_expand(point, s->file, err) != 0) {
        json_decref(point);
        json_decref(named);
        return NULL;
    }
    if (labels)
        *labels = named;
    else
        json_decref(named);
    return point;
}
