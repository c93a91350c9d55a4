/* The strict JSON reader: errors name the file and JSON Pointer, unknown keys are refused with the
 * nearest known one, and quantities need their unit. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "error.h"
#include "units.h"

enum { STRAIT_JSON_MAX_KEYS = 48, STRAIT_JSON_POINTER_MAX = 256 };

/** Load one JSON file.
 *  Returns: new reference, or NULL with *err naming file, line and column */
json_t *strait_json_load(const char *path, struct strait_error *err);

/** Word a syntax error of the parser: `expected ',' or '}', found "network"`. What was found is left
 *  out where it has more than 20 bytes, since the parser does not tell it then.
 *  Out:     buf  cap bytes; a longer text is cut off
 *  Returns: buf */
const char *strait_json_syntax(char *buf, size_t cap, const json_error_t *why);

/** Record that a value is none that was expected: "expected an object, found 3".
 *  In:      value  NULL: "found nothing"
 *  Returns: -1 */
int strait_refuse_value(struct strait_error *err, const char *where, const char *expected,
                        const json_t *value);

/* An object while it is read. It borrows json and file; the keys that were asked for are known. */
struct strait_object {
    const char *file;
    char pointer[STRAIT_JSON_POINTER_MAX];
    const json_t *json; /* NULL reads as an empty object */
    const char *known[STRAIT_JSON_MAX_KEYS];
    unsigned n_known;
};

/** Begin to read `value`, which must be an object, or NULL for an optional object that is
 *  absent. */
int strait_object_open(struct strait_object *o, const char *file, const char *pointer,
                       const json_t *value, struct strait_error *err);
/** Begin to read the object under `key`. An absent one reads as empty if `optional`, else it is an
 *  error. */
int strait_object_enter(struct strait_object *child, struct strait_object *o, const char *key,
                        bool optional, struct strait_error *err);
/** End reading: an error if the file has a key that was not asked for. */
int strait_object_close(const struct strait_object *o, struct strait_error *err);
bool strait_object_has(struct strait_object *o, const char *key);
/** The raw value under `key`, or NULL; marks the key as known. `key` must be a string literal. To
 *  accept arbitrary keys, iterate over o->json and skip strait_object_close(). */
const json_t *strait_object_value(struct strait_object *o, const char *key);
/** Write "file#pointer/key" for an error into buf; key NULL: the object itself. Returns: buf */
const char *strait_object_where(const struct strait_object *o, const char *key, char *buf,
                                size_t cap);

/* Readers. The plain forms require the key; the _or forms give `fallback` where it is absent.
 * Numbers must lie in [min, max]; min DBL_MIN means above 0. Strings are borrowed from the JSON.
 * Return 0, or -1 with *err. */
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

/** Add {pointer: value} of everything in a value that has no inside of its own, under this pointer;
 *  keys are not escaped. */
void strait_json_leaves(json_t *leaves, const char *pointer, const json_t *value);
/** The value at a JSON Pointer below a value, as a new reference. NULL: there is none, or it is an
 *  object. */
json_t *strait_json_leaf(const json_t *value, const char *inside);
/** The pointers at which some of these {pointer: value} differ: a new array in their order. */
json_t *strait_json_differing(const json_t *all_leaves);
/** A number, or null on purpose where it is not finite. */
json_t *strait_json_number(double value);
