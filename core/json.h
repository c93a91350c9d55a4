/* The strict JSON reader: knows the file and the JSON Pointer of what it reads, refuses unknown
 * keys with the nearest known one, and takes quantities only with their unit. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "error.h"
#include "units.h"

enum { STRAIT_JSON_MAX_KEYS = 48, STRAIT_JSON_POINTER_MAX = 256 };

/** Load one JSON file. Returns a new reference, or NULL with *err naming file, line and column. */
json_t *strait_json_load(const char *path, struct strait_error *err);

/* One object while it is read. It borrows json and file; keys asked for are the known ones. */
struct strait_object {
    const char *file;
    char pointer[STRAIT_JSON_POINTER_MAX];
    const json_t *json; /* NULL reads as an empty object */
    const char *known[STRAIT_JSON_MAX_KEYS];
    unsigned n_known;
};

/** Begin to read `value`, which must be an object (or NULL, an absent optional one). */
int strait_object_open(struct strait_object *o, const char *file, const char *pointer,
                       const json_t *value, struct strait_error *err);
/** Begin to read the object under `key`; absent: as an empty one where `optional`, else an error.
 */
int strait_object_enter(struct strait_object *child, struct strait_object *o, const char *key,
                        bool optional, struct strait_error *err);
/** Every key of the file that nobody asked for is an error that names the nearest known key. */
int strait_object_close(const struct strait_object *o, struct strait_error *err);
bool strait_object_has(struct strait_object *o, const char *key);
/** The raw value under `key`, or NULL; marks the key as known. The object keeps the pointer `key`:
 *  it is a literal. Whoever takes any key there is walks `json` and does not close. */
const json_t *strait_object_value(struct strait_object *o, const char *key);
/** "file#pointer/key" for an error about that key, in buf; key NULL: about the object itself.
 *  Returns: buf */
const char *strait_object_where(const struct strait_object *o, const char *key, char *buf,
                                size_t cap);

/* Readers. The plain forms require the key; the _or forms give `fallback` where it is absent.
 * Numbers must lie in [min, max]; min DBL_MIN: above 0. Strings are borrowed from the JSON. 0, or
 * -1 with *err. */
int strait_object_string(struct strait_object *o, const char **out, const char *key,
                         struct strait_error *err);
int strait_object_string_or(struct strait_object *o, const char **out, const char *key,
                            const char *fallback, struct strait_error *err);
int strait_object_number(struct strait_object *o, double *out, const char *key, double min,
                         double max, struct strait_error *err);
int strait_object_number_or(struct strait_object *o, double *out, const char *key, double min,
                            double max, double fallback, struct strait_error *err);
int strait_object_integer(struct strait_object *o, long *out, const char *key, long min, long max,
                          struct strait_error *err);
int strait_object_integer_or(struct strait_object *o, long *out, const char *key, long min,
                             long max, long fallback, struct strait_error *err);
int strait_object_bool_or(struct strait_object *o, bool *out, const char *key, bool fallback,
                          struct strait_error *err);
int strait_object_quantity(struct strait_object *o, double *out, const char *key,
                           enum strait_unit unit, double min, double max, struct strait_error *err);
int strait_object_quantity_or(struct strait_object *o, double *out, const char *key,
                              enum strait_unit unit, double min, double max, double fallback,
                              struct strait_error *err);
