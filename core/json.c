/* The strict JSON reader. */
#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "json.h"
#include "host.h"
#include "names.h"

enum { FOUND_CHARS = 448, LEAF_CHARS = 1024 };

/* A name that is wrong is wrong input; a system that failed is a failed run. */
static json_t *unreadable(const char *path, int saved_errno, struct strait_error *err)
{
    const bool first = err && err->code == STRAIT_OK;
    const bool failed = saved_errno == EMFILE || saved_errno == ENFILE || saved_errno == EIO ||
                        saved_errno == ENOMEM;
    char buf[128];
    strait_error_set(err, failed ? STRAIT_ERR_SYSTEM : STRAIT_ERR_INPUT, path,
                     "expected a JSON file: %s", strerror_r(saved_errno, buf, sizeof(buf)));
    if (first)
        err->saved_errno = saved_errno;
    return NULL;
}

json_t *strait_json_load(const char *path, struct strait_error *err)
{
    FILE *file = strait_host_open(path);
    if (!file)
        return unreadable(path, errno, err);
    struct stat info;
    json_error_t found;
    json_t *json = NULL;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        unreadable(path, EISDIR, err);
        goto out;
    }
    json = json_loadf(file, JSON_REJECT_DUPLICATES, &found);
    if (ferror(file)) { /* to the parser it is the end of the text */
        unreadable(path, errno, err);
        json_decref(json);
        json = NULL;
    } else if (!json && json_error_code(&found) == json_error_out_of_memory) {
        strait_error_memory(err, path);
    } else if (!json) {
        char where[sizeof(err->where)], text[sizeof(err->text)];
        snprintf(where, sizeof(where), "%s:%d:%d", path, found.line, found.column);
        strait_refuse(err, where, "%s", strait_json_syntax(text, sizeof(text), &found));
    }
out:
    fclose(file);
    return json;
}

/* Append a slash and the key with ~ and / escaped (RFC 6901), as far as there is room. */
static void append_key(char *buf, size_t cap, const char *key)
{
    size_t used = strlen(buf);
    if (used + 1 < cap)
        buf[used++] = '/';
    for (; *key && used + 2 < cap; key++) { /* room for an escape and the end */
        if (*key == '~' || *key == '/') {
            buf[used++] = '~';
            buf[used++] = *key == '~' ? '0' : '1';
        } else {
            buf[used++] = *key;
        }
    }
    buf[used] = '\0';
}

const char *strait_object_where(const struct strait_object *o, const char *key, char *buf,
                                size_t cap)
{
    assert(cap > 0);
    const bool is_root = !key && !*o->pointer;
    if (snprintf(buf, cap, "%s%s%s", o->file ? o->file : "", is_root ? "" : "#", o->pointer) < 0)
        *buf = '\0';
    if (key)
        append_key(buf, cap, key);
    return buf;
}

/* Print with the fewest of 15 to 17 digits that read back as the same number. */
static void print_real(char *buf, size_t cap, double value)
{
    json_t *json = json_real(value);
    for (size_t digits = 15; json && digits <= 17; digits++) {
        const size_t len =
            json_dumpb(json, buf, cap - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        buf[len < cap ? len : 0] = '\0';
        json_t *again = json_loadb(buf, strlen(buf), JSON_DECODE_ANY, NULL);
        const bool same = again && json_equal(again, json);
        json_decref(again);
        if (same)
            break;
    }
    if (!json)
        snprintf(buf, cap, "%g", value);
    json_decref(json);
    const size_t len = strlen(buf);
    if (len > 2 && strcmp(buf + len - 2, ".0") == 0)
        buf[len - 2] = '\0';
}

/* Describe a value for "found ...". */
static const char *describe(char buf[FOUND_CHARS], const json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        snprintf(buf, FOUND_CHARS, "\"%s\"", json_string_value(value));
        return buf;
    case JSON_INTEGER:
        snprintf(buf, FOUND_CHARS, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return buf;
    case JSON_REAL:
        print_real(buf, FOUND_CHARS, json_real_value(value));
        return buf;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

int strait_refuse_value(struct strait_error *err, const char *where, const char *expected,
                        const json_t *value)
{
    char found[FOUND_CHARS];
    return strait_refuse(err, where, "expected %s, found %s", expected, describe(found, value));
}

/* Whether two names differ by one letter, or by two that changed places. */
static bool is_slip(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    size_t n_a = strlen(a), n_b = strlen(b);
    while (n_a > 0 && n_b > 0 && a[n_a - 1] == b[n_b - 1]) {
        n_a--;
        n_b--;
    }
    return (n_a <= 1 && n_b <= 1) || (n_a == 2 && n_b == 2 && a[0] == b[1] && a[1] == b[0]);
}

/* Where a key is missing, one beside it may be its misspelling. */
static const char *misspelled(const struct strait_object *o, const char *key)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)o->json, name, value)
        if (is_slip(name, key))
            return name;
    return NULL;
}

static int refuse(const struct strait_object *o, const char *key, const char *expected,
                  const json_t *value, struct strait_error *err)
{
    char where[sizeof(err->where)];
    const char *instead = key && !value && o->json ? misspelled(o, key) : NULL;
    if (instead)
        return strait_refuse(err, strait_object_where(o, NULL, where, sizeof(where)),
                             "unknown key \"%s\", did you mean \"%s\"?", instead, key);
    return strait_refuse_value(err, strait_object_where(o, key, where, sizeof(where)), expected,
                               value);
}

int strait_object_open(struct strait_object *o, const char *file, const char *pointer,
                       const json_t *value, struct strait_error *err)
{
    o->file = file;
    o->n_known = 0;
    o->json = NULL;
    const int len = snprintf(o->pointer, sizeof(o->pointer), "%s", pointer);
    if (len < 0 || (size_t)len >= sizeof(o->pointer))
        return refuse(o, NULL, "names of fewer than 256 letters in all", value, err);
    if (value && !json_is_object(value))
        return refuse(o, NULL, "an object", value, err);
    o->json = value;
    return 0;
}

int strait_object_enter(struct strait_object *child, struct strait_object *o, const char *key,
                        bool optional, struct strait_error *err)
{
    const json_t *value = strait_object_value(o, key);
    char pointer[2 * STRAIT_JSON_POINTER_MAX];
    snprintf(pointer, sizeof(pointer), "%s", o->pointer);
    append_key(pointer, sizeof(pointer), key);
    const int status = strait_object_open(child, o->file, pointer, value, err);
    if (status == 0 && !value && !optional)
        return refuse(o, key, "an object", NULL, err);
    return status;
}

const json_t *strait_object_value(struct strait_object *o, const char *key)
{
    bool known = false;
    for (unsigned i = 0; i < o->n_known && !known; i++)
        known = strcmp(o->known[i], key) == 0;
    if (!known) {
        assert(o->n_known < STRAIT_JSON_MAX_KEYS);
        o->known[o->n_known++] = key;
    }
    return o->json ? json_object_get(o->json, key) : NULL;
}

bool strait_object_has(struct strait_object *o, const char *key)
{
    return strait_object_value(o, key) != NULL;
}

static int refuse_key(const struct strait_object *o, const char *key, struct strait_error *err)
{
    const char *names[STRAIT_JSON_MAX_KEYS + 1] = {NULL};
    memcpy(names, o->known, o->n_known * sizeof(*names));
    char where[sizeof(err->where)], list[FOUND_CHARS] = "";
    strait_object_where(o, NULL, where, sizeof(where));
    const char *nearest = strait_nearest(key, names);
    if (nearest)
        return strait_refuse(err, where, "unknown key \"%s\", did you mean \"%s\"?", key, nearest);
    for (unsigned i = 0; i < o->n_known; i++)
        strait_text_add(list, sizeof(list), "%s%s", i > 0 ? ", " : "; known: ", names[i]);
    return strait_refuse(err, where, "unknown key \"%s\"%s", key, list);
}

int strait_object_close(const struct strait_object *o, struct strait_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)o->json, key, value) {
        bool known = false;
        for (unsigned i = 0; i < o->n_known && !known; i++)
            known = strcmp(o->known[i], key) == 0;
        if (!known)
            return refuse_key(o, key, err);
    }
    return 0;
}

/* The value is out of range; a minimum of DBL_MIN means above 0. */
static int refuse_range(const struct strait_object *o, const char *key, const char *noun,
                        bool below, double min, const char *end, const json_t *value,
                        struct strait_error *err)
{
    char expected[160];
    if (below && min == DBL_MIN)
        snprintf(expected, sizeof(expected), "%s above 0", noun);
    else
        snprintf(expected, sizeof(expected), "%s of at %s %s", noun, below ? "least" : "most", end);
    return refuse(o, key, expected, value, err);
}

int strait_object_string(struct strait_object *o, const char **out, const char *key,
                         struct strait_error *err)
{
    const json_t *value = strait_object_value(o, key);
    if (!json_is_string(value))
        return refuse(o, key, "a string", value, err);
    *out = json_string_value(value);
    return 0;
}

int strait_object_string_or(struct strait_object *o, const char **out, const char *key,
                            const char *fallback, struct strait_error *err)
{
    if (strait_object_has(o, key))
        return strait_object_string(o, out, key, err);
    *out = fallback;
    return 0;
}

int strait_object_number(struct strait_object *o, double *out, const char *key, double min,
                         double max, struct strait_error *err)
{
    const json_t *value = strait_object_value(o, key);
    if (!json_is_number(value))
        return refuse(o, key, "a number", value, err);
    const double number = json_number_value(value);
    if (number < min || number > max) {
        char end[64];
        print_real(end, sizeof(end), number < min ? min : max);
        return refuse_range(o, key, "a number", number < min, min, end, value, err);
    }
    *out = number;
    return 0;
}

int strait_object_number_or(struct strait_object *o, double *out, const char *key, double min,
                            double max, double fallback, struct strait_error *err)
{
    if (strait_object_has(o, key))
        return strait_object_number(o, out, key, min, max, err);
    *out = fallback;
    return 0;
}

int strait_object_integer(struct strait_object *o, long *out, const char *key, long min, long max,
                          struct strait_error *err)
{
    const json_t *value = strait_object_value(o, key);
    if (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value))
        return refuse(o, key, "an integer without a point or an exponent", value, err);
    if (!json_is_integer(value))
        return refuse(o, key, "an integer", value, err);
    const json_int_t number = json_integer_value(value);
    if (number < min || number > max) {
        char end[32];
        snprintf(end, sizeof(end), "%ld", number < min ? min : max);
        return refuse_range(o, key, "an integer", number < min, 0, end, value, err);
    }
    *out = (long)number;
    return 0;
}

int strait_object_integer_or(struct strait_object *o, long *out, const char *key, long min,
                             long max, long fallback, struct strait_error *err)
{
    if (strait_object_has(o, key))
        return strait_object_integer(o, out, key, min, max, err);
    *out = fallback;
    return 0;
}

int strait_object_bool_or(struct strait_object *o, bool *out, const char *key, bool fallback,
                          struct strait_error *err)
{
    const json_t *value = strait_object_value(o, key);
    if (value && !json_is_boolean(value))
        return refuse(o, key, "true or false", value, err);
    *out = value ? json_is_true(value) : fallback;
    return 0;
}

int strait_object_quantity(struct strait_object *o, double *out, const char *key,
                           enum strait_unit unit, double min, double max, struct strait_error *err)
{
    const json_t *value = strait_object_value(o, key);
    if (!json_is_string(value)) {
        char expected[96];
        snprintf(expected, sizeof(expected), "%s such as \"%s\"", strait_unit_noun(unit),
                 strait_unit_example(unit));
        return refuse(o, key, expected, value, err);
    }
    char where[sizeof(err->where)], end[64];
    double quantity;
    strait_object_where(o, key, where, sizeof(where));
    if (strait_quantity_parse(&quantity, unit, json_string_value(value), where, err) != 0)
        return -1;
    if (quantity < min || quantity > max) {
        strait_quantity_format(end, sizeof(end), unit, quantity < min ? min : max);
        return refuse_range(o, key, strait_unit_noun(unit), quantity < min, min, end, value, err);
    }
    *out = quantity;
    return 0;
}

int strait_object_quantity_or(struct strait_object *o, double *out, const char *key,
                              enum strait_unit unit, double min, double max, double fallback,
                              struct strait_error *err)
{
    if (strait_object_has(o, key))
        return strait_object_quantity(o, out, key, unit, min, max, err);
    *out = fallback;
    return 0;
}

/* --- places inside of a value ------------------------------------------------------------- */

void strait_json_leaves(json_t *leaves, const char *pointer, const json_t *value)
{
    char below[LEAF_CHARS];
    const char *key;
    json_t *child;
    size_t i;
    if (json_object_size(value) == 0 && json_array_size(value) == 0) {
        if (value)
            json_object_set(leaves, pointer, (json_t *)(uintptr_t)value);
        return;
    }
    json_object_foreach ((json_t *)(uintptr_t)value, key, child) {
        snprintf(below, sizeof(below), "%s/%s", pointer, key);
        strait_json_leaves(leaves, below, child);
    }
    json_array_foreach (value, i, child) {
        snprintf(below, sizeof(below), "%s/%zu", pointer, i);
        strait_json_leaves(leaves, below, child);
    }
}

json_t *strait_json_leaf(const json_t *value, const char *inside)
{
    json_t *leaves = json_object();
    strait_json_leaves(leaves, "", value);
    json_t *leaf = json_incref(json_object_get(leaves, inside));
    json_decref(leaves);
    return leaf;
}

json_t *strait_json_differing(const json_t *all_leaves)
{
    json_t *pointers = json_array(), *seen = json_object(), *leaves, *value, *other;
    const char *pointer;
    size_t i, k;
    json_array_foreach (all_leaves, i, leaves)
        json_object_foreach (leaves, pointer, value) {
            if (json_object_get(seen, pointer))
                continue;
            json_object_set_new(seen, pointer, json_true());
            json_array_foreach (all_leaves, k, other)
                if (!json_equal(json_object_get(other, pointer), value)) {
                    json_array_append_new(pointers, json_string(pointer));
                    break;
                }
        }
    json_decref(seen);
    return pointers;
}

json_t *strait_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}
