#include "measurements.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "traces/models/csv.h"
#include "worker_pool.h"
#include "workloads/rank/backend.h"

enum { TEXT_CHARS = 512 };

struct line {
    size_t number;             /* in the file */
    struct strait_texts texts; /* "/clients=4"; owned, each too */
    size_t n_common;           /* of these, borrowed: the plan's */
    json_t *fields;            /* what was measured */
};

struct book {
    const struct strait_measured_plan *plan;
    struct line *lines;
    size_t n_lines;
    json_t *predicted, *measured;
};

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_field(const char *pointer)
{
    static const char *const fields[] = {"/round_s", "/wait_s", "/path_s", "/busy_s"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const size_t n = strlen(fields[i]);
        if (strncmp(pointer, fields[i], n) == 0 && (pointer[n] == '\0' || pointer[n] == '/'))
            return true;
    }
    return false;
}

/* The fields that are compared: those of spans, a mean client's and the server's. */
static int check_field(const struct strait_csv *csv, const char *pointer, struct strait_error *err)
{
    static const char *const kinds[] = {"compute", "encode",    "transfer",
                                        "decode",  "aggregate", "other"};
    static const char *const groups[] = {"/path_s/", "/busy_s/client/", "/busy_s/server/"};
    bool known = strcmp(pointer, "/round_s") == 0 || strcmp(pointer, "/wait_s") == 0;
    for (size_t g = 0; g < 3 && !known; g++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds) && !known; k++) {
            const size_t n = strlen(groups[g]);
            known = strncmp(pointer, groups[g], n) == 0 && strcmp(pointer + n, kinds[k]) == 0;
        }
    return known ? 0
                 : strait_csv_fail(csv, err,
                                   "expected a column /round_s, /wait_s, /path_s/KIND, "
                                   "/busy_s/client/KIND or /busy_s/server/KIND, found \"%.60s\"",
                                   pointer);
}

/* The header's cells, cut in place. */
static int read_header(struct strait_csv *csv, char *header, const char **pointers, size_t *n,
                       struct strait_error *err)
{
    bool has_field = false;
    char *rest;
    *n = 0;
    for (char *cell = strtok_r(header, ",", &rest); cell; cell = strtok_r(NULL, ",", &rest)) {
        if (*n == STRAIT_CSV_MAX_FIELDS)
            return strait_csv_fail(csv, err, "expected at most %d columns, found more",
                                   STRAIT_CSV_MAX_FIELDS);
        if (*cell != '/')
            return strait_csv_fail(csv, err,
                                   "expected JSON Pointers such as /clients and /round_s as names "
                                   "of columns, found \"%.60s\"",
                                   cell);
        if (is_field(cell) && check_field(csv, cell, err) != 0)
            return -1;
        has_field = has_field || is_field(cell);
        pointers[(*n)++] = cell;
    }
    return has_field ? 0
                     : strait_csv_fail(csv, err,
                                       "expected a measured column such as /round_s, found none");
}

/* {"path_s": {"encode": v}} for /path_s/encode. */
static void put_field(json_t *fields, const char *pointer, double value)
{
    char key[64];
    const char *at = pointer + 1, *slash;
    for (json_t *in = fields;; at = slash + 1) {
        slash = strchr(at, '/');
        snprintf(key, sizeof(key), "%.*s", slash ? (int)(slash - at) : 63, at);
        if (!slash) {
            json_object_set_new(in, key, json_real(value));
            return;
        }
        if (!json_object_get(in, key))
            json_object_set_new(in, key, json_object());
        in = json_object_get(in, key);
    }
}

static int read_line(struct line *l, const struct strait_measured_plan *plan,
                     const struct strait_csv *csv, const char *const *pointers, size_t n,
                     struct strait_error *err)
{
    const size_t n_common = plan->settings.n;
    *l = (struct line){.number = csv->line, .n_common = n_common, .fields = json_object()};
    l->texts.items = calloc(n_common + n + 1, sizeof(*l->texts.items));
    if (!l->texts.items || !l->fields)
        return strait_error_memory(err, plan->csv);
    for (; l->texts.n < n_common; l->texts.n++)
        l->texts.items[l->texts.n] = plan->settings.items[l->texts.n];
    for (size_t i = 0; i < n; i++) {
        const char *cell = csv->fields[i];
        double value;
        if (!*cell)
            continue;
        if (is_field(pointers[i])) {
            if (strait_csv_number(csv, &value, i, 0, 1e9, err) != 0)
                return -1;
            put_field(l->fields, pointers[i], value);
            continue;
        }
        char *text = malloc(strlen(pointers[i]) + strlen(cell) + 2);
        if (!text)
            return strait_error_memory(err, plan->csv);
        sprintf(text, "%s=%s", pointers[i], cell);
        l->texts.items[l->texts.n++] = text;
    }
    return json_object_size(l->fields) > 0
               ? 0
               : strait_csv_fail(csv, err, "expected something measured, found empty cells");
}

static int read_lines(struct book *b, struct strait_csv *csv, struct strait_error *err)
{
    const char *pointers[STRAIT_CSV_MAX_FIELDS];
    char *key, *value;
    size_t n = 0;
    bool more;
    while (strait_csv_comment(csv, &key, &value))
        ;
    const char *at = csv->cursor ? csv->cursor : "";
    char *header = strndup(at, strcspn(at, "\r\n")), *cells = header ? strdup(header) : NULL;
    int failed = !cells    ? strait_error_memory(err, b->plan->csv)
                 : !*cells ? strait_refuse(err, b->plan->csv,
                                           "expected a line with the names of columns first")
                           : strait_csv_header(csv, header, err) != 0 ||
                                 read_header(csv, cells, pointers, &n, err) != 0;
    while (!failed && !(failed = strait_csv_next(csv, &more, err)) && more) {
        struct line *all = realloc(b->lines, (b->n_lines + 1) * sizeof(*all));
        if (!all) {
            failed = strait_error_memory(err, b->plan->csv);
            break;
        }
        b->lines = all;
        failed = read_line(&all[b->n_lines++], b->plan, csv, pointers, n, err);
    }
    if (!failed && b->n_lines == 0)
        failed = strait_csv_fail(csv, err, "expected a line of measurements, found none");
    free(header);
    free(cells);
    return failed ? -1 : 0;
}

/* --- predicting ------------------------------------------------------------------------------- */

static int fail_line(const struct book *b, size_t i, const struct strait_error *why,
                     struct strait_error *err)
{
    char where[TEXT_CHARS];
    snprintf(where, sizeof(where), "%s:%zu", b->plan->csv, b->lines[i].number);
    return strait_error_set(err, why->code == STRAIT_ERR_USAGE ? STRAIT_ERR_INPUT : why->code,
                            where, "%s%s%s", why->where, *why->where ? ": " : "", why->text);
}

static bool is_in_all(const struct book *b, const char *text)
{
    for (size_t i = 0; i < b->n_lines; i++) {
        const struct strait_texts *own = &b->lines[i].texts;
        size_t k = 0;
        while (k < own->n && strcmp(own->items[k], text) != 0)
            k++;
        if (k == own->n)
            return false;
    }
    return true;
}

/* The settings that differ between lines tell their rows apart. Codecs and clients stand in columns
 * of their own. */
static void put_labels(json_t *row, const struct book *b, const struct line *l)
{
    for (size_t i = l->n_common; i < l->texts.n; i++) {
        const char *text = l->texts.items[i], *value = strchr(text, '=');
        char *pointer = value ? strndup(text, (size_t)(value - text)) : NULL;
        if (pointer && strncmp(pointer, "/codec", 6) != 0 && strcmp(pointer, "/clients") != 0 &&
            strncmp(pointer, "/download_codec", 15) != 0 && !is_in_all(b, text))
            json_object_set_new(json_object_get(row, "labels"), pointer, json_string(value + 1));
        free(pointer);
    }
}

static json_t *predict(size_t i, void *context, struct strait_error *err)
{
    const struct book *b = context;
    struct strait_sweep *sweep = NULL;
    struct strait_plan plan = {0};
    struct strait_error why = {0};
    json_t *row = NULL;
    if (strait_sweep_load(&sweep, b->plan->experiment, b->lines[i].texts.items, b->lines[i].texts.n,
                          &why) == 0) {
        plan.setup = (struct strait_plan_setup){.file = sweep->file, .profile = b->plan->profile};
        if (sweep->n_points != 1)
            strait_refuse(&why, b->plan->experiment,
                          "expected a column for each pointer of \"vary\", which leaves %zu points",
                          sweep->n_points);
        else if (strait_plan_setup_hashes(&plan.setup, &why) == 0 &&
                 strait_plan_add(&plan, sweep, &strait_fluid, 1, false, &why) == 0)
            row = strait_plan_run_task(&plan, 0, &why);
        if (row)
            put_labels(row, b, &b->lines[i]);
    }
    strait_plan_release(&plan);
    strait_sweep_free(sweep);
    if (!row)
        fail_line(b, i, &why, err);
    return row;
}

/* The same point, with what was measured and nothing else. */
static int take(size_t i, const json_t *row, void *context, struct strait_error *err)
{
    static const char *const gone[] = {"round_s", "wait_s", "path_s", "busy_s"};
    struct book *b = context;
    json_t *other = json_copy((json_t *)row);
    (void)err;
    for (size_t k = 0; k < sizeof(gone) / sizeof(*gone); k++)
        json_object_del(other, gone[k]);
    json_object_update(other, b->lines[i].fields);
    json_object_set_new(other, "backend", json_string("the file"));
    json_array_set(b->predicted, i, (json_t *)row);
    return json_array_set_new(b->measured, i, other);
}

int strait_measured(json_t **predicted, json_t **measured, const struct strait_measured_plan *plan,
                    struct strait_error *err)
{
    struct book b = {.plan = plan, .predicted = json_array(), .measured = json_array()};
    struct strait_csv csv = {0};
    int failed = strait_csv_open(&csv, plan->csv, err) != 0 || read_lines(&b, &csv, err) != 0;
    for (size_t i = 0; i < b.n_lines; i++) { /* they come as they end, and stand as in the file */
        json_array_append_new(b.predicted, json_null());
        json_array_append_new(b.measured, json_null());
    }
    failed = failed || strait_pool_run(b.n_lines, plan->n_jobs, predict, take, &b,
                                       "lines predicted", err) != 0;
    strait_csv_release(&csv);
    for (size_t i = 0; i < b.n_lines; i++) {
        for (size_t k = b.lines[i].n_common; k < b.lines[i].texts.n; k++)
            free((char *)(uintptr_t)b.lines[i].texts.items[k]);
        free(b.lines[i].texts.items);
        json_decref(b.lines[i].fields);
    }
    free(b.lines);
    if (failed) {
        json_decref(b.predicted);
        json_decref(b.measured);
        return -1;
    }
    *predicted = b.predicted;
    *measured = b.measured;
    return 0;
}
