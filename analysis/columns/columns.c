/* Settings and numbers of rows. */
#include "columns.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/row.h"
#include "core/json.h"
#include "core/names.h"
#include "workloads/ask/experiment.h"

enum { POINTER_CHARS = 1024, KEY_CHARS = 160 };

/* --- settings ----------------------------------------------------------------------------- */

const json_t *strait_columns_header(const struct strait_store *store, const json_t *row)
{
    const json_t *records = strait_store_records(store);
    for (size_t i = json_array_size(records); i > 0; i--) {
        const json_t *record = json_array_get(records, i - 1);
        if (strcmp(strait_text_of(record, "record"), "header") == 0 &&
            strcmp(strait_text_of(record, "sweep"), strait_text_of(row, "sweep")) == 0)
            return record;
    }
    return NULL;
}

static json_t *point_of(const json_t *header, const json_t *row, struct strait_error *err)
{
    const json_t *of = json_object_get(header, "experiment");
    if (!of) {
        strait_refuse(err, "results", "expected a header that says what row %s answers, found none",
                      strait_text_of(row, "key"));
        return NULL;
    }
    json_t *point = strait_sweep_resolve(strait_text_of(of, "file"), json_object_get(of, "base"),
                                         json_object_get(row, "labels"), err);
    if (json_is_true(json_object_get(row, "reference"))) { /* the same without its codecs */
        json_object_set_new(point, "codec", json_string("none"));
        json_object_del(point, "download_codec");
    }
    return point;
}

json_t *strait_columns_point(const struct strait_store *store, const json_t *row,
                             struct strait_error *err)
{
    return point_of(strait_columns_header(store, row), row, err);
}

static void make_object(json_t *point, const char *key)
{
    json_t *codec = json_object_get(point, key);
    if (json_is_string(codec))
        json_object_set_new(point, key, json_pack("{s:O}", "name", codec));
}

/* The point without what is said for people. */
static json_t *settings_of(const json_t *header, const json_t *row, struct strait_error *err)
{
    static const char *const for_people[] = {"schema", "title", "table"};
    json_t *point = point_of(header, row, err);
    for (size_t i = 0; i < sizeof(for_people) / sizeof(*for_people); i++)
        json_object_del(point, for_people[i]);
    make_object(point, "codec");
    make_object(point, "download_codec");
    return point;
}

/* Lists stay whole: their lengths differ from row to row. */
static void put_leaves(json_t *leaves, const char *pointer, const json_t *value)
{
    char below[POINTER_CHARS];
    const char *key;
    json_t *child;
    if (json_object_size(value) == 0)
        json_object_set(leaves, pointer, (json_t *)(uintptr_t)value);
    else
        json_object_foreach ((json_t *)(uintptr_t)value, key, child) {
            snprintf(below, sizeof(below), "%s/%s", pointer, key);
            put_leaves(leaves, below, child);
        }
}

/* --- numbers ------------------------------------------------------------------------------ */

/* What identifies a row as text, and what the columns of settings say better. */
static bool is_told_elsewhere(const char *key)
{
    static const char *const keys[] = {"record", "labels",         "set",     "sweep",
                                       "codec",  "check",          "model",   "title",
                                       "stored", "download_codec", "clients", "strategy"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool is_pair(const char *key, const json_t *value)
{
    const size_t n = strlen(key);
    return json_array_size(value) == 2 && n >= 10 && strcmp(key + n - 10, "interval_s") == 0;
}

static json_t *numbers_of(const json_t *row)
{
    json_t *numbers = json_object(), *value;
    const char *key;
    char pointer[POINTER_CHARS];
    json_object_foreach ((json_t *)(uintptr_t)row, key, value) {
        snprintf(pointer, sizeof(pointer), "/%s", key);
        if (is_told_elsewhere(key))
            continue;
        if (is_pair(key, value)) /* low and high are columns of their own */
            strait_json_leaves(numbers, pointer, value);
        else
            put_leaves(numbers, pointer, value);
    }
    return numbers;
}

/* Where rows differ in their codecs alone. */
static const char *place_of(char key[KEY_CHARS], const json_t *row)
{
    snprintf(key, KEY_CHARS, "%s %lld %s %s %lld", strait_text_of(row, "setting_key"),
             (long long)json_integer_value(json_object_get(row, "clients")),
             strait_text_of(row, "backend"), strait_text_of(row, "control"),
             (long long)json_integer_value(json_object_get(row, "repeat")));
    return key;
}

static void put_speedups(json_t *all, const json_t *rows)
{
    json_t *plain = json_object(), *row, *columns;
    char key[KEY_CHARS];
    size_t i;
    json_array_foreach (rows, i, row)
        if (strait_label_row_is_plain(row) && json_is_true(json_object_get(row, "valid")))
            json_object_set(plain, place_of(key, row), json_object_get(row, "round_s"));
    json_array_foreach (all, i, columns) {
        row = json_object_get(columns, "row");
        const double of_s = json_number_value(json_object_get(plain, place_of(key, row)));
        const double with_s = strait_row_number(row, "round_s");
        json_object_set_new(json_object_get(columns, "numbers"), "/speedup",
                            strait_json_number(of_s > 0 && with_s > 0 ? of_s / with_s : NAN));
    }
    json_decref(plain);
}

/* --- labels ------------------------------------------------------------------------------- */

static json_t *labels_of(const json_t *row, const struct strait_names *names)
{
    json_t *labels = json_object(), *value;
    const char *pointer;
    json_object_foreach (json_object_get(row, "labels"), pointer, value) {
        char *text = json_is_object(value) ? strait_label_value(value) : NULL;
        if (text)
            json_object_set_new(labels, pointer, json_string(text));
        free(text);
    }
    json_object_set_new(labels, "/codec", json_string(strait_names_codec(names, row)));
    return labels;
}

json_t *strait_columns(const struct strait_store *store, const json_t *rows,
                       struct strait_error *err)
{
    struct strait_names *names;
    if (strait_names_new(&names, rows, err) != 0)
        return NULL;
    json_t *all = json_array(), *row;
    size_t i;
    const json_t *header = NULL; /* most rows have that of the row before */
    json_array_foreach (rows, i, row) {
        if (!header || strcmp(strait_text_of(header, "sweep"), strait_text_of(row, "sweep")) != 0)
            header = strait_columns_header(store, row);
        json_t *point = settings_of(header, row, err), *settings = json_object();
        if (!point) {
            json_decref(settings);
            json_decref(all);
            all = NULL;
            break;
        }
        put_leaves(settings, "", point);
        json_decref(point);
        json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:O}", "settings", settings,
                                             "numbers", numbers_of(row), "labels",
                                             labels_of(row, names), "row", row));
    }
    if (all)
        put_speedups(all, rows);
    strait_names_free(names);
    return all;
}

/* --- looking up --------------------------------------------------------------------------- */

json_t *strait_column(const json_t *columns, const char *pointer)
{
    static const char *const parts[] = {"settings", "numbers", "labels"};
    char list[POINTER_CHARS], *slash, *end;
    for (size_t i = 0; i < 3; i++) {
        json_t *found = json_object_get(json_object_get(columns, parts[i]), pointer);
        if (found)
            return json_incref(found);
    }
    snprintf(list, sizeof(list), "%s", pointer);
    slash = strrchr(list, '/');
    if (!slash || slash == list || slash[1] < '0' || slash[1] > '9')
        return NULL;
    *slash = '\0';
    const unsigned long index = strtoul(slash + 1, &end, 10);
    json_t *whole = strait_column(columns, list);
    json_t *found = *end ? NULL : json_incref(json_array_get(whole, index));
    json_decref(whole);
    return found;
}

json_t *strait_column_names(const json_t *all_columns)
{
    static const char *const parts[] = {"settings", "numbers"};
    json_t *names = json_array(), *seen = json_object(), *columns, *value;
    const char *pointer;
    size_t i;
    for (size_t p = 0; p < 2; p++)
        json_array_foreach (all_columns, i, columns)
            json_object_foreach (json_object_get(columns, parts[p]), pointer, value) {
                if (json_object_get(seen, pointer))
                    continue;
                json_object_set_new(seen, pointer, json_true());
                json_array_append_new(names, json_string(pointer));
            }
    json_decref(seen);
    return names;
}

bool strait_column_ending(char buf[STRAIT_JSON_POINTER_MAX], const json_t *all_columns,
                          const char *end)
{
    json_t *names = strait_column_names(all_columns), *name,
           *own = strait_column(json_array_get(all_columns, 0),
                                (snprintf(buf, STRAIT_JSON_POINTER_MAX, "/%.200s", end), buf));
    bool found = own != NULL && *end;
    size_t i;
    json_decref(own);
    json_array_foreach (names, i, name) {
        const char *pointer = json_string_value(name), *last = strrchr(pointer, '/');
        if (found || !last || !*end || strcmp(last + 1, end) != 0)
            continue;
        snprintf(buf, STRAIT_JSON_POINTER_MAX, "%s", pointer);
        found = true;
    }
    json_decref(names);
    return found;
}

int strait_column_refuse(const json_t *all_columns, const char *option, const char *pointer,
                         struct strait_error *err)
{
    char expected[128];
    json_t *names = strait_column_names(all_columns), *name;
    const char **known = calloc(json_array_size(names) + 1, sizeof(*known));
    size_t i;
    json_array_foreach (names, i, name)
        if (known)
            known[i] = json_string_value(name);
    snprintf(expected, sizeof(expected),
             "a setting or a number of the rows after --%s (strait export DIR --csv)", option);
    const char *last = strrchr(pointer, '/');
    char meant[STRAIT_JSON_POINTER_MAX];
    if (strait_column_ending(meant, all_columns, last ? last + 1 : pointer))
        strait_error_set(err, STRAIT_ERR_INPUT, "plot",
                         "expected %s, found \"%.60s\", did you mean \"%s\"?", expected, pointer,
                         meant);
    else if (known)
        strait_refuse_name(err, STRAIT_ERR_INPUT, "plot", expected, pointer, known);
    free(known);
    json_decref(names);
    return -1;
}

/* --- filters ------------------------------------------------------------------------------ */

static bool is_as_given(const json_t *value, const char *given, const json_t *parsed)
{
    char *label = strait_label_value(value);
    const bool same = (label && strcmp(label, given) == 0) ||
                      (json_is_number(value) && json_is_number(parsed) &&
                       json_number_value(value) == json_number_value(parsed)) ||
                      (parsed && json_equal(value, parsed));
    free(label);
    return same;
}

json_t *strait_columns_where(const json_t *all_columns, const char *filter,
                             struct strait_error *err)
{
    const char *equals = strchr(filter, '=');
    if (filter[0] != '/' || !equals) {
        strait_error_set(err, STRAIT_ERR_USAGE, "--where",
                         "expected /pointer=value such as /clients=64, found \"%s\"", filter);
        return NULL;
    }
    char *pointer = strndup(filter, (size_t)(equals - filter));
    json_t *parsed = json_loads(equals + 1, JSON_DECODE_ANY, NULL), *left = json_array(), *columns;
    json_t *values = json_object();
    size_t i;
    json_array_foreach (all_columns, i, columns) {
        json_t *value = pointer ? strait_column(columns, pointer) : NULL;
        char *text = value ? strait_label_value(value) : NULL;
        if (value && is_as_given(value, equals + 1, parsed))
            json_array_append(left, columns);
        if (text)
            json_object_set_new(values, text, json_true());
        free(text);
        json_decref(value);
    }
    if (json_object_size(values) == 0) {
        strait_column_refuse(all_columns, "where", pointer ? pointer : "", err);
    } else if (json_array_size(left) == 0) {
        char known[200] = "", where[300];
        const char *text;
        json_t *value;
        json_object_foreach (values, text, value)
            strait_text_add(known, sizeof(known), "%s%s", *known ? ", " : "", text);
        snprintf(where, sizeof(where), "--where %.200s", pointer);
        strait_refuse(err, where, "expected one of %s, found \"%s\"", known, equals + 1);
    }
    json_decref(values);
    json_decref(parsed);
    free(pointer);
    if (json_array_size(left) > 0)
        return left;
    json_decref(left);
    return NULL;
}
