/* Labels that differ where rows do. */
#include "row_names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "label.h"
#include "place.h"

/* A varied value whose label is longer is shown by what differs inside of it. */
enum { MAX_VALUE_CHARS = 96, MAX_POINTER_CHARS = 1024 };

struct axis {
    char *pointer; /* as rows are labelled */
    char *inside;  /* a JSON Pointer into the value; NULL: all of it */
    char *title;
};

struct strait_names {
    struct axis *axes;
    size_t n_axes;
    json_t *settings, *codecs; /* {key: label} */
};

/* --- axes --------------------------------------------------------------------------------- */

/* {pointer: {canonical JSON: value}} of all labels but codecs and clients. */
static json_t *values_of(const json_t *rows)
{
    json_t *axes = json_object(), *row, *value;
    const char *pointer;
    size_t i;
    json_array_foreach (rows, i, row)
        json_object_foreach (json_object_get(row, "labels"), pointer, value) {
            if (strait_label_is_codec(pointer) || strait_label_is_clients(pointer))
                continue;
            char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
            json_t *values = json_object_get(axes, pointer);
            if (!values)
                json_object_set_new(axes, pointer, values = json_object());
            if (text)
                json_object_set(values, text, value);
            free(text);
        }
    return axes;
}

/* Whether the labels of an axis's values are short and differ; objects need a name for that. */
static bool are_told_apart(json_t *values)
{
    json_t *seen = json_object(), *value;
    const char *canonical;
    bool apart = true;
    json_object_foreach (values, canonical, value) {
        char *text = strait_label_value(value);
        const bool inside = json_is_object(value) || json_is_array(value);
        apart = apart && text && !json_object_get(seen, text) &&
                !(inside && strlen(text) > MAX_VALUE_CHARS) &&
                !(json_is_object(value) && !json_is_string(json_object_get(value, "name")));
        json_object_set_new(seen, text ? text : "", json_true());
        free(text);
    }
    json_decref(seen);
    return apart;
}

/* inside: a JSON Pointer into the axis's values; NULL: values as a whole. */
static int add_axis(struct strait_names *n, const char *pointer, const char *inside)
{
    struct axis *more = realloc(n->axes, (n->n_axes + 1) * sizeof(*more));
    if (!more)
        return -1;
    n->axes = more;
    struct axis *a = &n->axes[n->n_axes++];
    char whole[2 * MAX_POINTER_CHARS];
    snprintf(whole, sizeof(whole), "%s%s", pointer, inside ? inside : "");
    *a = (struct axis){strdup(pointer), inside ? strdup(inside) : NULL, strait_label_axis(whole)};
    return a->pointer && (a->inside || !inside) && a->title ? 0 : -1;
}

static int add_inside(struct strait_names *n, const char *pointer, json_t *values)
{
    json_t *all = json_array(), *value, *inside;
    const char *canonical;
    size_t i;
    int failed = 0;
    json_object_foreach (values, canonical, value) {
        json_t *leaves = json_object();
        strait_json_leaves(leaves, "", value);
        json_array_append_new(all, leaves);
    }
    json_t *pointers = strait_json_differing(all);
    json_array_foreach (pointers, i, inside)
        failed = failed || add_axis(n, pointer, json_string_value(inside)) != 0;
    if (json_array_size(pointers) == 0 && json_array_size(all) > 1)
        failed = add_axis(n, pointer, NULL); /* one long value alone needs no words */
    json_decref(pointers);
    json_decref(all);
    return failed ? -1 : 0;
}

static int name_by_pointer(struct axis *a)
{
    char *whole = NULL;
    if (asprintf(&whole, "%s%s", a->pointer, a->inside ? a->inside : "") < 0)
        return -1;
    free(a->title);
    a->title = whole;
    return 0;
}

/* Titles that are the same for two axes become their pointers: "client rate" of two sites. */
static int tell_titles_apart(struct strait_names *n)
{
    int failed = 0;
    for (size_t i = 0; i < n->n_axes && !failed; i++) {
        bool twice = false;
        for (size_t k = i + 1; k < n->n_axes && !failed; k++)
            if (strcmp(n->axes[k].title, n->axes[i].title) == 0) {
                failed = name_by_pointer(&n->axes[k]);
                twice = true;
            }
        if (twice && !failed)
            failed = name_by_pointer(&n->axes[i]);
    }
    return failed;
}

static int find_axes(struct strait_names *n, const json_t *rows)
{
    json_t *axes = values_of(rows), *values;
    const char *pointer;
    int failed = 0;
    json_object_foreach (axes, pointer, values) {
        if (failed)
            break;
        failed =
            are_told_apart(values) ? add_axis(n, pointer, NULL) : add_inside(n, pointer, values);
    }
    json_decref(axes);
    return failed ? -1 : tell_titles_apart(n);
}

char *strait_names_value(const struct strait_names *n, size_t axis, const json_t *row)
{
    const struct axis *a = &n->axes[axis];
    const json_t *value = json_object_get(json_object_get(row, "labels"), a->pointer);
    json_t *leaf =
        a->inside ? strait_json_leaf(value, a->inside) : json_incref((json_t *)(uintptr_t)value);
    char *text = strait_label_value(leaf);
    json_decref(leaf);
    return text;
}

/* --- labels ------------------------------------------------------------------------------- */

static char *setting_text(const struct strait_names *n, const json_t *row)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    const char *comma = "";
    for (size_t a = 0; out && a < n->n_axes; a++) {
        if (!json_object_get(json_object_get(row, "labels"), n->axes[a].pointer))
            continue;
        char *value = strait_names_value(n, a, row);
        fprintf(out, "%s%s %s", comma, n->axes[a].title, value ? value : "?");
        comma = ", ";
        free(value);
    }
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* {pointer: value} of both codecs of a row: as the experiment has them, where they are varied. */
static json_t *codec_leaves(const json_t *row)
{
    static const char *const both[][2] = {{"codec", "/codec"},
                                          {"download_codec", "/download_codec"}};
    json_t *leaves = json_object(), *value;
    const char *pointer;
    for (size_t i = 0; i < 2; i++)
        strait_json_leaves(leaves, both[i][1], json_object_get(row, both[i][0]));
    json_object_foreach (json_object_get(row, "labels"), pointer, value)
        if (strait_label_is_codec(pointer))
            strait_json_leaves(leaves, pointer, value);
    return leaves;
}

/* "sz 1e-3 cutoff=512, down lossless=lz4" */
static char *codec_text(const char *label, const json_t *leaves, const json_t *pointers)
{
    static const char down[] = "/download_codec";
    char *text = NULL;
    size_t len_bytes, i;
    json_t *pointer;
    FILE *out = open_memstream(&text, &len_bytes);
    if (!out)
        return NULL;
    fputs(label, out);
    json_array_foreach (pointers, i, pointer) {
        const char *at = json_string_value(pointer);
        const bool is_down = strncmp(at, down, sizeof(down) - 1) == 0;
        const char *rest = at + (is_down ? sizeof(down) - 1 : strlen("/codec"));
        const json_t *leaf = json_object_get(leaves, at);
        char *value = leaf ? strait_label_value(leaf) : NULL;
        if (value)
            fprintf(out, "%s%s=%s", is_down ? ", down " : " ", *rest ? rest + 1 : "codec", value);
        free(value);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* The last resort: of equal labels the second gets "(2)" and so on. */
static int number_equals(json_t *labels)
{
    json_t *times = json_object(), *taken = json_object(), *label;
    const char *key;
    int failed = 0;
    json_object_foreach (labels, key, label)
        json_object_set_new(taken, json_string_value(label), json_true());
    json_object_foreach (labels, key, label) {
        const char *text = json_string_value(label);
        json_int_t i = json_integer_value(json_object_get(times, text)) + 1;
        if (i > 1) {
            char *numbered = NULL;
            do {
                free(numbered);
                numbered = NULL;
                failed = failed || asprintf(&numbered, "%s (%lld)", text, (long long)i++) < 0;
            } while (!failed && json_object_get(taken, numbered));
            if (failed)
                break;
            json_object_set_new(taken, numbered, json_true());
            json_object_set_new(times, text, json_integer(i - 1));
            json_object_set_new(labels, key, json_string(numbered));
            free(numbered);
        } else {
            json_object_set_new(times, text, json_integer(i));
        }
    }
    json_decref(times);
    json_decref(taken);
    return failed ? -1 : 0;
}

/* Codecs with one label get what they differ in. */
static int tell_codecs_apart(json_t *codecs, json_t *leaves_of)
{
    json_t *by_label = json_object(), *label, *keys, *key_json;
    const char *key, *text;
    size_t i;
    int failed = 0;
    json_object_foreach (codecs, key, label) {
        text = json_string_value(label);
        if (!json_object_get(by_label, text))
            json_object_set_new(by_label, text, json_array());
        json_array_append_new(json_object_get(by_label, text), json_string(key));
    }
    json_object_foreach (by_label, text, keys) {
        if (json_array_size(keys) < 2)
            continue;
        json_t *all = json_array();
        json_array_foreach (keys, i, key_json)
            json_array_append(all, json_object_get(leaves_of, json_string_value(key_json)));
        json_t *pointers = strait_json_differing(all);
        json_array_foreach (keys, i, key_json) {
            char *longer = codec_text(text, json_array_get(all, i), pointers);
            failed = failed || !longer;
            json_object_set_new(codecs, json_string_value(key_json),
                                json_string(longer ? longer : ""));
            free(longer);
        }
        json_decref(pointers);
        json_decref(all);
    }
    json_decref(by_label);
    return failed ? -1 : 0;
}

/* What rows do not show of a codec, as far as those that compress differ in it. */
static json_t *unshown_of(const json_t *leaves_of, const json_t *rows_of)
{
    static const char *const unshown[] = {"/codec/lossless",        "/codec/cutoff",
                                          "/codec/vectors",         "/download_codec/lossless",
                                          "/download_codec/cutoff", "/download_codec/vectors"};
    json_t *all = json_array(), *pointers = json_array(), *leaves;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)leaves_of, key, leaves) {
        json_t *some = json_object();
        for (size_t i = 0; i < sizeof(unshown) / sizeof(*unshown); i++)
            json_object_set(some, unshown[i], json_object_get(leaves, unshown[i]));
        if (!strait_label_row_is_plain(json_object_get(rows_of, key)))
            json_array_append(all, some);
        json_decref(some);
    }
    json_t *found = strait_json_differing(all);
    for (size_t i = 0; i < sizeof(unshown) / sizeof(*unshown); i++) /* in this order */
        for (size_t k = 0; k < json_array_size(found); k++)
            if (strcmp(json_string_value(json_array_get(found, k)), unshown[i]) == 0)
                json_array_append(pointers, json_array_get(found, k));
    json_decref(found);
    json_decref(all);
    return pointers;
}

/* rows_of: {codec key: a row that has it}. */
static int name_codecs(struct strait_names *n, json_t *rows_of)
{
    json_t *leaves_of = json_object(), *row;
    const char *key;
    int failed = 0;
    json_object_foreach (rows_of, key, row)
        json_object_set_new(leaves_of, key, codec_leaves(row));
    json_t *unshown = unshown_of(leaves_of, rows_of);
    json_object_foreach (rows_of, key, row) {
        char *bare = strait_label_row_codec(row);
        char *text = bare ? codec_text(bare, json_object_get(leaves_of, key), unshown) : NULL;
        failed |= !text || json_object_set_new(n->codecs, key, json_string(text)) != 0;
        free(bare);
        free(text);
    }
    if (!failed)
        failed = tell_codecs_apart(n->codecs, leaves_of) != 0 || number_equals(n->codecs) != 0;
    json_decref(unshown);
    json_decref(leaves_of);
    return failed ? -1 : 0;
}

static int name_rows(struct strait_names *n, const json_t *rows, struct strait_error *err)
{
    json_t *rows_of = json_object(), *row;
    size_t i;
    int failed = 0;
    json_array_foreach (rows, i, row) {
        struct strait_place place;
        if (strait_place_of_row(&place, row, err) != 0) {
            failed = -1;
            break;
        }
        if (!json_object_get(rows_of, place.codec))
            failed |= json_object_set(rows_of, place.codec, row);
        if (!json_object_get(n->settings, place.setting)) {
            char *text = setting_text(n, row);
            failed |= !text || json_object_set_new(n->settings, place.setting, json_string(text));
            free(text);
        }
    }
    if (!failed)
        failed = name_codecs(n, rows_of) != 0 || number_equals(n->settings) != 0;
    json_decref(rows_of);
    return failed ? -1 : 0;
}

int strait_names_new(struct strait_names **out, const json_t *rows, struct strait_error *err)
{
    struct strait_names *n = calloc(1, sizeof(*n));
    *out = NULL;
    if (n) {
        n->settings = json_object();
        n->codecs = json_object();
    }
    if (!n || !n->settings || !n->codecs || find_axes(n, rows) != 0 ||
        name_rows(n, rows, err) != 0) {
        strait_names_free(n);
        return strait_error_memory(err, "results");
    }
    *out = n;
    return 0;
}

void strait_names_free(struct strait_names *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->n_axes; i++) {
        free(n->axes[i].pointer);
        free(n->axes[i].inside);
        free(n->axes[i].title);
    }
    free(n->axes);
    json_decref(n->settings);
    json_decref(n->codecs);
    free(n);
}

static const char *label_of(const json_t *labels, const char *key)
{
    const char *text = json_string_value(json_object_get(labels, key));
    return text ? text : "";
}

const char *strait_names_setting(const struct strait_names *n, const json_t *row)
{
    struct strait_place place;
    return strait_place_of_row(&place, row, NULL) == 0 ? label_of(n->settings, place.setting) : "";
}

const char *strait_names_codec(const struct strait_names *n, const json_t *row)
{
    struct strait_place place;
    return strait_place_of_row(&place, row, NULL) == 0 ? label_of(n->codecs, place.codec) : "";
}

size_t strait_names_n_axes(const struct strait_names *n)
{
    return n->n_axes;
}

const char *strait_names_axis(const struct strait_names *n, size_t axis)
{
    return n->axes[axis].title;
}
