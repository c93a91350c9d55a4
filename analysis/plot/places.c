/* Settings that make panels and lines. */
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "axis.h"
#include "core/json.h"
#include "core/names.h"

/* A value that is varied as a whole and whose label is longer is told by what differs inside. */
enum { MAX_LABEL_CHARS = 60 };
enum { KEY_FLAGS = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY };

static bool has(const json_t *pointers, const char *pointer)
{
    size_t i;
    json_t *own;
    json_array_foreach (pointers, i, own)
        if (strcmp(json_string_value(own), pointer) == 0)
            return true;
    return false;
}

static bool is_inside(const char *pointer, const char *of)
{
    const size_t n = strlen(of);
    return strncmp(pointer, of, n) == 0 && pointer[n] == '/';
}

static bool any_inside(const json_t *pointers, const char *of)
{
    size_t i;
    json_t *own;
    json_array_foreach (pointers, i, own)
        if (is_inside(json_string_value(own), of))
            return true;
    return false;
}

/* Values of a row at pointers, as a key. */
static char *key_of(const json_t *columns, const json_t *pointers)
{
    json_t *values = json_array(), *pointer;
    size_t i;
    json_array_foreach (pointers, i, pointer) {
        json_t *value = strait_column(columns, json_string_value(pointer));
        json_array_append_new(values, value ? value : json_null());
    }
    char *key = json_dumps(values, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(values);
    return key;
}

/* Whether rows that are alike at these pointers have one value at another. */
static bool follows(const json_t *columns, const char *pointer, const json_t *from)
{
    json_t *seen = json_object(), *row;
    bool one = true;
    size_t i;
    json_array_foreach (columns, i, row) {
        char *key = key_of(row, from);
        json_t *value = strait_column(row, pointer),
               *known = key ? json_object_get(seen, key) : NULL;
        if (!value)
            value = json_null();
        one = one && key && (!known || json_equal(known, value));
        if (key && !known)
            json_object_set(seen, key, value);
        free(key);
        json_decref(value);
    }
    json_decref(seen);
    return one;
}

/* All that rows are varied by: the pointers of their labels, and what else tells rows apart. */
static json_t *axes_of(const json_t *columns)
{
    static const char *const others[] = {"/codec", "/backend", "/control"};
    json_t *axes = json_array(), *row, *value;
    const char *pointer;
    size_t i;
    json_array_foreach (columns, i, row)
        json_object_foreach (json_object_get(json_object_get(row, "row"), "labels"), pointer, value)
            if (!has(axes, pointer))
                json_array_append_new(axes, json_string(pointer));
    for (i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (!has(axes, others[i]))
            json_array_append_new(axes, json_string(others[i]));
    return axes;
}

/* The settings inside of an axis at which rows differ. */
static json_t *inside_of(const json_t *columns, const char *axis)
{
    json_t *all = json_array(), *row, *value;
    const char *pointer;
    size_t i;
    json_array_foreach (columns, i, row) {
        json_t *own = json_object();
        json_object_foreach (json_object_get(row, "settings"), pointer, value)
            if (is_inside(pointer, axis))
                json_object_set(own, pointer, value);
        json_array_append_new(all, own);
    }
    json_t *inside = strait_json_differing(all);
    json_decref(all);
    return inside;
}

static bool has_long_labels(const json_t *columns, const char *axis)
{
    size_t i;
    json_t *row;
    json_array_foreach (columns, i, row) {
        json_t *value = strait_column(row, axis);
        const char *text = json_string_value(value);
        const bool is_long = text && strlen(text) > MAX_LABEL_CHARS;
        json_decref(value);
        if (is_long)
            return true;
    }
    return false;
}

/* Add what of an axis does not follow from what is told already. */
static void add_axis(json_t *series, json_t *told, const json_t *columns, const char *axis)
{
    if (follows(columns, axis, told) || has(told, axis))
        return;
    if (any_inside(told, axis) || (strcmp(axis, "/codec") != 0 && has_long_labels(columns, axis))) {
        json_t *inside = inside_of(columns, axis), *pointer;
        size_t i;
        json_array_foreach (inside, i, pointer)
            if (!has(told, json_string_value(pointer)) &&
                !follows(columns, json_string_value(pointer), told)) {
                json_array_append(series, pointer);
                json_array_append(told, pointer);
            }
        json_decref(inside);
        return;
    }
    json_array_append_new(series, json_string(axis));
    json_array_append_new(told, json_string(axis));
}

static int check(const json_t *columns, const char *option, const char *pointer,
                 struct strait_error *err)
{
    size_t i;
    json_t *row;
    json_array_foreach (columns, i, row) {
        json_t *value = strait_column(row, pointer);
        json_decref(value);
        if (value)
            return 0;
    }
    return strait_column_refuse(columns, option, pointer, err);
}

/* Are all values there numbers, or texts of one unit? */
static bool is_number(const json_t *columns, const char *pointer)
{
    json_t *values = json_array(), *row;
    size_t i;
    json_array_foreach (columns, i, row) {
        json_t *value = strait_column(row, pointer);
        if (value)
            json_array_append_new(values, value);
    }
    json_t *axis = strait_plot_axis(pointer, values, 0);
    const bool number = !json_is_array(json_object_get(axis, "names"));
    json_decref(axis);
    json_decref(values);
    return number;
}

static bool is_setting(const json_t *columns, const char *pointer)
{
    size_t i;
    json_t *row;
    json_array_foreach (columns, i, row)
        if (json_object_get(json_object_get(row, "settings"), pointer) ||
            json_object_get(json_object_get(row, "labels"), pointer))
            return true;
    return false;
}

/* How many different values rows have at these pointers. */
static size_t n_values(const json_t *columns, const json_t *pointers)
{
    json_t *seen = json_object(), *row;
    size_t i;
    json_array_foreach (columns, i, row) {
        char *key = key_of(row, pointers);
        if (key)
            json_object_set_new(seen, key, json_true());
        free(key);
    }
    const size_t n = json_object_size(seen);
    json_decref(seen);
    return n;
}

/* A value in few letters: of a port what it has ("1 Gbps 50 ms"), of a path the file's name. */
static char *short_value(const json_t *value)
{
    const char *path = json_string_value(value), *slash = path ? strrchr(path, '/') : NULL, *key;
    const size_t len_bytes = slash ? strcspn(slash + 1, ".") : 0;
    if (len_bytes > 0 && slash[1 + len_bytes])
        return strndup(slash + 1, len_bytes);
    char *text = NULL;
    json_t *object = path && *path == '{' ? json_loads(path, 0, NULL) : NULL, *part;
    json_object_foreach (object, key, part) {
        char *before = text, *own = strait_label_value(part);
        if (asprintf(&text, "%s%s%s", before ? before : "", before ? " " : "", own ? own : "") < 0)
            text = NULL;
        free(before);
        free(own);
    }
    json_decref(object);
    return text ? text : strait_label_value(value);
}

/* {key: text} of the values at a pointer: in few letters where that tells them apart. */
static json_t *texts_of(const json_t *columns, const char *pointer)
{
    json_t *keys = json_object(), *texts = json_object(), *owners = json_object(), *row, *value;
    const char *key;
    size_t i;
    json_array_foreach (columns, i, row) {
        char *own = (value = strait_column(row, pointer)) ? json_dumps(value, KEY_FLAGS) : NULL;
        if (own)
            json_object_set(keys, own, value);
        free(own);
        json_decref(value);
    }
    for (int whole = 0; whole < 2; whole++) {
        json_object_foreach (keys, key, value) {
            char *text = whole ? strait_label_value(value) : short_value(value);
            if (whole ? !json_object_get(texts, key) : text != NULL)
                json_object_set_new(texts, key, json_string(text ? text : key));
            free(text);
        }
        json_object_clear(owners);
        json_object_foreach (texts, key, value)
            json_object_set_new(owners, json_string_value(value),
                                json_integer(1 + json_integer_value(json_object_get(
                                                     owners, json_string_value(value)))));
        json_object_foreach (keys, key, value)
            if (json_integer_value(json_object_get(owners, strait_text_of(texts, key))) > 1)
                json_object_del(texts, key);
    }
    json_object_foreach (keys, key, value)
        if (!json_object_get(texts, key))
            json_object_set_new(texts, key, json_string(key));
    json_decref(keys);
    json_decref(owners);
    return texts;
}

static void put_texts(json_t *texts, const json_t *columns, const json_t *pointers)
{
    json_t *pointer;
    size_t i;
    json_array_foreach (pointers, i, pointer)
        json_object_set_new(texts, json_string_value(pointer),
                            texts_of(columns, json_string_value(pointer)));
}

int strait_plot_places_find(struct strait_plot_places *places, const json_t *columns, const char *x,
                            const struct strait_figure_question *q, struct strait_error *err)
{
    *places = (struct strait_plot_places){json_array(), json_array(), json_object()};
    if (check(columns, "x", x, err) != 0 ||
        (q->series && check(columns, "series", q->series, err) != 0))
        return -1;
    size_t i;
    for (i = 0; i < q->n_facets; i++) {
        if (check(columns, "facet", q->facets[i], err) != 0)
            return -1;
        json_array_append_new(places->facets, json_string(q->facets[i]));
    }
    /* all follows from a result, which is another in each row */
    json_t *told = is_setting(columns, x) ? json_pack("[s]", x) : json_array();
    json_t *axes = axes_of(columns), *axis;
    if (q->series)
        json_array_append_new(places->series, json_string(q->series));
    json_array_extend(told, places->facets);
    json_array_extend(told, places->series);
    /* a heat map and stacks have no further lines: what else is varied makes panels */
    const bool panels = q->kind == STRAIT_FIGURE_HEAT || q->kind == STRAIT_FIGURE_PHASES;
    json_array_foreach (axes, i, axis)
        if (panels ? q->n_facets == 0 : !q->series)
            add_axis(panels ? places->facets : places->series, told, columns,
                     json_string_value(axis));
    while (q->panels && json_array_size(places->series) > 1 &&
           n_values(columns, places->series) > STRAIT_PLOT_MAX_LINES) {
        json_array_append(places->facets, json_array_get(places->series, 0));
        json_array_remove(places->series, 0);
    }
    json_decref(axes);
    json_decref(told);
    put_texts(places->texts, columns, places->series);
    put_texts(places->texts, columns, places->facets);
    return 0;
}

void strait_plot_places_release(struct strait_plot_places *places)
{
    json_decref(places->facets);
    json_decref(places->series);
    json_decref(places->texts);
}

static bool is_among(const json_t *pointers, const char *wanted)
{
    size_t i;
    json_t *pointer;
    json_array_foreach (pointers, i, pointer)
        if (strcmp(json_string_value(pointer), wanted) == 0)
            return true;
    return false;
}

char *strait_plot_places_text(const struct strait_plot_places *places, const json_t *columns,
                              const json_t *pointers, bool titles)
{
    char *text = NULL;
    size_t len_bytes, i;
    json_t *pointer;
    FILE *out = open_memstream(&text, &len_bytes);
    const char *comma = "";
    if (!out)
        return NULL;
    const bool has_codec = is_among(pointers, "/codec");
    json_array_foreach (pointers, i, pointer) {
        const char *at = json_string_value(pointer);
        if (has_codec && strcmp(at, "/download_codec") == 0)
            continue; /* the codec's text has the way down too */
        json_t *value = strait_column(columns, at);
        char *key = value ? json_dumps(value, KEY_FLAGS) : NULL, *axis = strait_label_axis(at);
        const char *label = key ? strait_text_of(json_object_get(places->texts, at), key) : NULL;
        const bool plain = strcmp(at, "/codec") == 0 && label && strcmp(label, "none") == 0;
        const bool bare = strcmp(at, "/codec") == 0 || strcmp(at, "/strategy") == 0 ||
                          strcmp(at, "/codec/name") == 0 || strcmp(at, "/strategy/name") == 0 ||
                          strcmp(at, "/backend") == 0 || strcmp(at, "/model") == 0;
        const bool named = (titles && !bare) || json_is_number(value); /* a number says nothing */
        if (!value || json_is_null(value)) {
            fprintf(out, "%sno %s", comma, axis ? axis : "value");
            comma = ", ";
        } else {
            fprintf(out, "%s%s%s%s", comma, named && axis ? axis : "", named ? " " : "",
                    plain   ? "no compression"
                    : label ? label
                            : "");
            comma = ", ";
        }
        free(axis);
        free(key);
        json_decref(value);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static size_t n_values_at(const json_t *columns, const char *pointer)
{
    json_t *one = json_pack("[s]", pointer);
    const size_t n = n_values(columns, one);
    json_decref(one);
    return n;
}

const char *strait_figure_x(const json_t *columns)
{
    json_t *axes = axes_of(columns), *axis;
    const char *x = n_values_at(columns, "/clients") > 1 ? "/clients" : NULL, *category = NULL;
    size_t i;
    json_array_foreach (axes, i, axis) {
        const char *at = json_string_value(axis);
        if (x || n_values_at(columns, at) < 2)
            continue;
        if (is_number(columns, at))
            x = at;
        else if (!category)
            category = at;
    }
    /* the text belongs to a row's labels, or is one of axes_of's own */
    const char *chosen = x ? x : category ? category : "/clients", *found = "/clients";
    static const char *const own[] = {"/clients", "/codec", "/backend", "/control"};
    for (i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (strcmp(own[i], chosen) == 0)
            found = own[i];
    json_array_foreach (columns, i, axis) {
        void *at =
            json_object_iter_at(json_object_get(json_object_get(axis, "row"), "labels"), chosen);
        if (at)
            found = json_object_iter_key(at);
    }
    json_decref(axes);
    return found;
}

int strait_plot_places_refuse(const json_t *columns, const struct strait_plot_places *places,
                              const char *what, size_t n, size_t limit, struct strait_error *err)
{
    enum { MORE_CHARS = 16 };
    char advice[400] = "", *one = NULL;
    json_t *all = json_copy(places->series), *pointer;
    const bool facets = json_array_size(places->facets) > 0;
    size_t i, n_more = 0;
    json_array_extend(all, places->facets);
    json_array_foreach (all, i, pointer) {
        const char *at = json_string_value(pointer);
        json_t *value = NULL;
        for (size_t k = 0; !value && k < json_array_size(columns); k++)
            value = strait_column(json_array_get(columns, k), at);
        char *label = value ? strait_label_value(value) : NULL;
        if (asprintf(&one, "%s%s (%zu values): --where '%s=%s'%s%s", *advice ? "; " : "", at,
                     n_values_at(columns, at), at, label ? label : "VALUE",
                     facets ? "" : " or --facet ", facets ? "" : at) < 0)
            one = NULL;
        const bool fits =
            one && strlen(advice) + strlen(one) + MORE_CHARS < sizeof(advice); /* whole, or not */
        strait_text_add(advice, sizeof(advice), "%s", fits ? one : "");
        n_more += !fits;
        free(one);
        free(label);
        json_decref(value);
    }
    json_decref(all);
    if (n_more > 0)
        strait_text_add(advice, sizeof(advice), "%s%zu more", *advice ? "; " : "", n_more);
    return strait_refuse(err, "plot", "expected at most %zu %s, found %zu; %s", limit, what, n,
                         advice);
}
