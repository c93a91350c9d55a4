#include "merge.h"

#include <stdio.h>
#include <string.h>
#include "analysis/fields.h"

/* What has to be the same of two headers. */
static const struct {
    const char *group, *key, *what;
} alike[] = {
    {"versions", "program", "rows of the same program"}, /* first: it says why keys differ */
    {NULL, "sweep", "the same points"},
    {"experiment", "base", "the same experiment"},
    {"profile", "hash", "the same profile"}};
enum { N_ALIKE = sizeof(alike) / sizeof(*alike), PROGRAM_CHARS = 100 };

static json_t *field(const json_t *header, size_t i)
{
    return json_object_get(alike[i].group ? json_object_get(header, alike[i].group) : header,
                           alike[i].key);
}

/* The same backends, controls and numbers of points; keys may differ by machine. */
static bool runs_alike(const json_t *a, const json_t *b)
{
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; i < json_array_size(a) && same; i++) {
        const json_t *x = json_array_get(a, i), *y = json_array_get(b, i);
        same = json_equal(json_object_get(x, "backend"), json_object_get(y, "backend")) &&
               json_equal(json_object_get(x, "control"), json_object_get(y, "control")) &&
               json_array_size(json_object_get(x, "keys")) ==
                   json_array_size(json_object_get(y, "keys"));
    }
    return same;
}

/* Which program wrote it, in words. */
static void name_program(char text[PROGRAM_CHARS], const json_t *header)
{
    const json_t *versions = json_object_get(header, "versions");
    snprintf(text, PROGRAM_CHARS, "strait %.20s, commit %.20s, program %.8s",
             strait_text_of(versions, "strait"), strait_text_of(versions, "commit"),
             strait_text_of(versions, "program"));
}

static int refuse(const struct strait_store *first, const struct strait_store *other, size_t i,
                  struct strait_error *err)
{
    char have[PROGRAM_CHARS], found[PROGRAM_CHARS];
    if (strcmp(alike[i].key, "program") != 0)
        return strait_refuse(err, strait_store_path(other), "expected %s as %s has, found others",
                             alike[i].what, strait_store_path(first));
    name_program(have, strait_store_header(first));
    name_program(found, strait_store_header(other));
    return strait_refuse(err, strait_store_path(other),
                         "expected %s as %s has (%s), found those of %s", alike[i].what,
                         strait_store_path(first), have, found);
}

static int check(struct strait_store *const *inputs, size_t n, struct strait_error *err)
{
    const json_t *first = strait_store_header(inputs[0]);
    for (size_t k = 0; k < n; k++) {
        const json_t *header = strait_store_header(inputs[k]);
        const char *path = strait_store_path(inputs[k]);
        if (!header)
            return strait_refuse(err, path, "expected a run, found none");
        for (size_t i = 0; i < N_ALIKE; i++)
            if (!json_equal(field(first, i), field(header, i)))
                return refuse(inputs[0], inputs[k], i, err);
        if (!runs_alike(json_object_get(first, "runs"), json_object_get(header, "runs")))
            return strait_refuse(err, path, "expected the same backends as %s has, found others",
                                 strait_store_path(inputs[0]));
    }
    return 0;
}

/* Point i of run r: the key under which some input has a row, preferably a valid one, else that of
 * the first input. */
static const char *key_of(struct strait_store *const *inputs, size_t n, size_t r, size_t i,
                          const json_t **row)
{
    const char *first = NULL;
    *row = NULL;
    for (size_t k = 0; k < n; k++) {
        const json_t *run =
            json_array_get(json_object_get(strait_store_header(inputs[k]), "runs"), r);
        const char *key = json_string_value(json_array_get(json_object_get(run, "keys"), i));
        first = first ? first : key;
        *row = key ? strait_store_find(inputs[k], "row", key) : NULL;
        if (*row)
            return key;
    }
    return first ? first : "";
}

/* The first input's header with keys under which there are rows. */
static json_t *header_of(struct strait_merged *m, struct strait_store *const *inputs, size_t n)
{
    json_t *header = json_deep_copy(strait_store_header(inputs[0])), *run;
    size_t r, i;
    json_t *old;
    json_object_del(header, "check");
    json_array_foreach (json_object_get(header, "runs"), r, run) {
        json_t *keys = json_array();
        json_array_foreach (json_object_get(run, "keys"), i, old) {
            const json_t *row;
            json_array_append_new(keys, json_string(key_of(inputs, n, r, i, &row)));
            m->n_missing += !row;
        }
        json_object_set_new(run, "keys", keys);
        json_object_set_new(run, "labels", json_object());
    }
    return header;
}

/* Two rows of one key say the same, but for how long they took to compute. */
static bool same_row(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "rounds_s"), json_object_get(b, "rounds_s")) &&
           json_equal(json_object_get(a, "bytes"), json_object_get(b, "bytes"));
}

/* Everything with a key: rows, constants, what was measured. Break-even counts are found anew. */
static int copy(struct strait_merged *m, struct strait_store *out, const struct strait_store *in,
                struct strait_error *err)
{
    size_t i;
    json_t *record;
    json_array_foreach (strait_store_records(in), i, record) {
        const char *kind = strait_text_of(record, "record"), *key = strait_text_of(record, "key");
        if (!*key || strcmp(kind, "break-even") == 0)
            continue;
        const json_t *before = strait_store_find(out, kind, key);
        const bool is_row = strcmp(kind, "row") == 0;
        if (before && is_row && json_is_true(json_object_get(record, "valid")) &&
            !same_row(before, record))
            return strait_refuse(
                err, strait_store_path(in),
                "expected the same row %.8s as in another folder, found other times", key);
        if (before)
            continue;
        json_t *clean = json_copy(record);
        json_object_del(clean, "check");
        const int failed = strait_store_add(out, clean, err);
        json_decref(clean);
        if (failed)
            return -1;
        m->n_rows += is_row;
    }
    return 0;
}

int strait_merge(struct strait_merged *merged, struct strait_store *out,
                 struct strait_store *const *inputs, size_t n, struct strait_error *err)
{
    *merged = (struct strait_merged){0};
    if (json_array_size(strait_store_records(out)) > 0)
        return strait_refuse(err, strait_store_path(out),
                             "expected a new or empty folder, found results");
    if (check(inputs, n, err) != 0)
        return -1;
    json_t *header = header_of(merged, inputs, n);
    int failed = header ? strait_store_begin(out, header, err) : strait_error_memory(err, "merge");
    json_decref(header);
    for (size_t k = 0; k < n && !failed; k++)
        failed = copy(merged, out, inputs[k], err);
    if (failed)
        return -1;
    json_t *end =
        json_pack("{s:s, s:I, s:I, s:f, s:b}", "record", "end", "rows", (json_int_t)merged->n_rows,
                  "computed", (json_int_t)0, "wall_s", 0.0, "failed", 0);
    failed = strait_store_add(out, end, err);
    json_decref(end);
    return failed;
}
