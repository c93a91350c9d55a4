/* Rows against rows. */
#include "differences.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"
#include "analysis/label.h"
#include "core/json.h"

enum { KEY_CHARS = 160 };

/* Of the run, not of the question. A profile's hash counts what other codecs cost, too: where it
 * matters, times differ. */
static const char *const of_run[] = {"/key", "/wall_s", "/check", "/stored", "/profile", "/sweep"};

static json_t *leaves_of(const json_t *row)
{
    json_t *leaves = json_object();
    strait_json_leaves(leaves, "", row);
    for (size_t i = 0; i < sizeof(of_run) / sizeof(*of_run); i++)
        json_object_del(leaves, of_run[i]);
    return leaves;
}

static const char *place_of(char key[KEY_CHARS], const json_t *row)
{
    snprintf(key, KEY_CHARS, "%.32s %.16s %.32s %lld", strait_text_of(row, "point"),
             strait_text_of(row, "backend"), strait_text_of(row, "control"),
             (long long)json_integer_value(json_object_get(row, "repeat")));
    return key;
}

/* Everything at which two rows differ. Returns how much. */
static size_t compare_rows(json_t *differences, const json_t *before, const json_t *now)
{
    json_t *a = leaves_of(before), *b = leaves_of(now), *both = json_pack("[O, O]", a, b);
    json_t *pointers = strait_json_differing(both), *pointer;
    char *codec = strait_label_row_codec(before);
    size_t i;
    json_array_foreach (pointers, i, pointer) {
        const char *at = json_string_value(pointer);
        json_array_append_new(differences,
                              json_pack("{s:O, s:O?, s:s, s:s, s:O*, s:O*}", "backend",
                                        json_object_get(before, "backend"), "labels",
                                        json_object_get(before, "labels"), "codec",
                                        codec ? codec : "", "pointer", at, "before",
                                        json_object_get(a, at), "now", json_object_get(b, at)));
    }
    const size_t n = json_array_size(pointers);
    free(codec);
    json_decref(pointers);
    json_decref(both);
    json_decref(a);
    json_decref(b);
    return n;
}

json_t *strait_differences(const json_t *before, const json_t *now)
{
    json_t *by_place = json_object(), *missing = json_array(), *differences = json_array(), *row;
    char key[KEY_CHARS];
    size_t i, n_equal = 0, n_found = 0;
    json_array_foreach (now, i, row)
        json_object_set(by_place, place_of(key, row), row);
    json_array_foreach (before, i, row) {
        const json_t *again = json_object_get(by_place, place_of(key, row));
        n_found += again != NULL;
        if (!again)
            json_array_append(missing, json_object_get(row, "labels"));
        else
            n_equal += compare_rows(differences, row, again) == 0;
    }
    const size_t n_added = json_array_size(now) - n_found;
    json_decref(by_place);
    return json_pack("{s:I, s:I, s:o, s:I, s:o}", "rows", (json_int_t)json_array_size(before),
                     "equal", (json_int_t)n_equal, "missing", missing, "added", (json_int_t)n_added,
                     "differences", differences);
}
