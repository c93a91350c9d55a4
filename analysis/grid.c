/* Rows in a grid. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"
#include "fields.h"
#include "grid.h"
#include "label.h"
#include "place.h"

static bool is_valid(const json_t *row)
{
    return json_is_true(json_object_get(row, "valid"));
}

static size_t find_setting(struct strait_grid *g, const struct strait_place *at, const json_t *row)
{
    size_t i = 0;
    while (i < g->n_settings && strcmp(g->settings[i].key, at->setting) != 0)
        i++;
    if (i == g->n_settings) {
        struct strait_grid_setting *s = &g->settings[g->n_settings++];
        memcpy(s->key, at->setting, sizeof(s->key));
        s->label = strait_names_setting(g->names, row);
    }
    return i;
}

/* What is said of a codec beside its bound. */
static json_t *without_bound(const json_t *codec)
{
    json_t *bare = json_is_object(codec) ? json_copy((json_t *)(uintptr_t)codec) : json_null();
    json_object_del(bare, "bound");
    return bare;
}

static int find_family(struct strait_grid_codec *c, const json_t *row, struct strait_error *err)
{
    json_t *labels = json_object(), *value;
    const char *pointer;
    json_object_foreach (json_object_get(row, "labels"), pointer, value) {
        if (strait_label_is_codec(pointer) && !strstr(pointer, "/bound"))
            json_object_set_new(labels, pointer,
                                json_is_object(value) ? without_bound(value)
                                                      : json_deep_copy(value));
    }
    json_t *bare = json_pack(
        "{s:o, s:o, s:o}", "codec", without_bound(json_object_get(row, "codec")), "download_codec",
        without_bound(json_object_get(row, "download_codec")), "labels", labels);
    const bool hashed = bare && strait_hash_json(c->family, bare);
    json_decref(bare);
    return hashed ? 0 : strait_error_memory(err, "results");
}

static int find_codec(size_t *found, struct strait_grid *g, const struct strait_place *at,
                      const json_t *row, struct strait_error *err)
{
    for (*found = 0; *found < g->n_codecs; ++*found)
        if (strcmp(g->codecs[*found].key, at->codec) == 0)
            return 0;
    struct strait_grid_codec c = {.is_plain = strait_label_row_is_plain(row),
                                  .label = strait_names_codec(g->names, row)};
    memcpy(c.key, at->codec, sizeof(c.key));
    if (find_family(&c, row, err) != 0)
        return -1;
    g->codecs[g->n_codecs++] = c;
    return 0;
}

static size_t find_count(struct strait_grid *g, long count)
{
    size_t i = 0;
    while (i < g->n_counts && g->counts[i] != count)
        i++;
    if (i == g->n_counts)
        g->counts[g->n_counts++] = count;
    return i;
}

static int ascending_counts(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static struct strait_cell *cell_at(const struct strait_grid *g, size_t s, size_t c, size_t n)
{
    return &g->cells[(s * g->n_codecs + c) * g->n_counts + n];
}

const struct strait_cell *strait_grid_cell(const struct strait_grid *g, size_t setting,
                                           size_t codec, size_t count)
{
    return cell_at(g, setting, codec, count);
}

/* No compression comes first, whatever the order of the file. */
static void plain_first(struct strait_grid *g)
{
    for (size_t i = 1; i < g->n_codecs; i++)
        if (g->codecs[i].is_plain) {
            const struct strait_grid_codec plain = g->codecs[i];
            memmove(&g->codecs[1], &g->codecs[0], i * sizeof(plain));
            g->codecs[0] = plain;
        }
}

/* The first of a cell's repeats, from row i on, whose rounds took this long. */
static const json_t *row_with(const json_t *rows, const size_t *where, size_t i, double round_s)
{
    for (size_t j = i; j < json_array_size(rows); j++) {
        const json_t *row = json_array_get(rows, j);
        if (where[j] == where[i] && !(strait_row_number(row, "round_s") < round_s) &&
            !(strait_row_number(row, "round_s") > round_s))
            return row;
    }
    return json_array_get(rows, i);
}

/* Median and range of the repeats of each cell; where[] says to which cell a row belongs. */
static void fill_cells(struct strait_grid *g, const json_t *rows, const size_t *where, double *room)
{
    const size_t n_rows = json_array_size(rows), n = g->n_settings * g->n_codecs * g->n_counts;
    for (size_t i = 0; i < n; i++)
        g->cells[i] = (struct strait_cell){NULL, 0, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < n_rows; i++) {
        if (where[i] == SIZE_MAX || g->cells[where[i]].row)
            continue;
        struct strait_cell *cell = &g->cells[where[i]];
        for (int pass = 0; pass < 2; pass++) {
            size_t m = 0;
            for (size_t j = i; j < n_rows; j++)
                if (where[j] == where[i])
                    room[m++] =
                        strait_row_number(json_array_get(rows, j), pass ? "total_s" : "round_s");
            const double median_s = strait_median(room, m);
            cell->n_repeats = m;
            if (pass) {
                cell->total_s = median_s;
            } else {
                cell->round_s = median_s;
                cell->round_min_s = room[0];
                cell->round_max_s = room[m - 1];
                cell->row = row_with(rows, where, i, room[(m - 1) / 2]);
            }
        }
    }
}

static void fill_speedups(struct strait_grid *g)
{
    for (size_t s = 0; s < g->n_settings; s++)
        for (size_t n = 0; n < g->n_counts; n++) {
            const struct strait_cell *plain = NULL;
            for (size_t c = 0; c < g->n_codecs && !plain; c++)
                if (g->codecs[c].is_plain && cell_at(g, s, c, n)->row)
                    plain = cell_at(g, s, c, n);
            for (size_t c = 0; plain && c < g->n_codecs; c++)
                cell_at(g, s, c, n)->speedup = plain->round_s / cell_at(g, s, c, n)->round_s;
        }
}

/* Where a row belongs; what was not there before is added. */
struct spot {
    size_t setting, codec, count;
};

static int find_spot(struct spot *spot, struct strait_grid *g, const json_t *row,
                     struct strait_error *err)
{
    struct strait_place at;
    if (strait_place_of_row(&at, row, err) != 0 || find_codec(&spot->codec, g, &at, row, err) != 0)
        return -1;
    spot->setting = find_setting(g, &at, row);
    spot->count = find_count(g, (long)json_integer_value(json_object_get(row, "clients")));
    return 0;
}

/* Settings, codecs and counts of all valid rows. */
static int find_all(struct strait_grid *g, const json_t *rows, struct strait_error *err)
{
    size_t i, n_valid = 0;
    json_t *row;
    struct spot spot;
    json_array_foreach (rows, i, row) {
        if (is_valid(row) && find_spot(&spot, g, row, err) != 0)
            return -1;
        n_valid += is_valid(row);
    }
    if (n_valid == 0)
        return strait_refuse(err, "results", "expected a valid row, found none");
    plain_first(g);
    qsort(g->counts, g->n_counts, sizeof(*g->counts), ascending_counts);
    g->cells = calloc(g->n_settings * g->n_codecs * g->n_counts, sizeof(*g->cells));
    return g->cells ? 0 : strait_error_memory(err, "results");
}

static int fill(struct strait_grid *g, const json_t *rows, size_t *where, double *room,
                struct strait_error *err)
{
    size_t i;
    json_t *row;
    struct spot spot;
    json_array_foreach (rows, i, row) {
        where[i] = SIZE_MAX;
        if (!is_valid(row))
            continue;
        if (find_spot(&spot, g, row, err) != 0)
            return -1;
        where[i] = (spot.setting * g->n_codecs + spot.codec) * g->n_counts + spot.count;
    }
    fill_cells(g, rows, where, room);
    fill_speedups(g);
    return 0;
}

int strait_grid_new(struct strait_grid **out, const json_t *rows, struct strait_error *err)
{
    const size_t n_rows = json_array_size(rows);
    struct strait_grid *g = calloc(1, sizeof(*g));
    size_t *where = calloc(n_rows + 1, sizeof(*where));
    double *room = calloc(n_rows + 1, sizeof(*room));
    int status = -1;
    *out = NULL;
    if (g) {
        g->settings = calloc(n_rows + 1, sizeof(*g->settings));
        g->codecs = calloc(n_rows + 1, sizeof(*g->codecs));
        g->counts = calloc(n_rows + 1, sizeof(*g->counts));
    }
    if (!g || !where || !room || !g->settings || !g->codecs || !g->counts)
        strait_error_memory(err, "results");
    else if (strait_names_new(&g->names, rows, err) == 0 && find_all(g, rows, err) == 0)
        status = fill(g, rows, where, room, err);
    free(where);
    free(room);
    if (status != 0)
        strait_grid_free(g);
    else
        *out = g;
    return status;
}

void strait_grid_free(struct strait_grid *g)
{
    if (!g)
        return;
    strait_names_free(g->names);
    free(g->settings);
    free(g->codecs);
    free(g->counts);
    free(g->cells);
    free(g);
}

const json_t *strait_grid_breakeven(const struct strait_grid *g, size_t setting, size_t codec,
                                    const json_t *records)
{
    const json_t *found = NULL;
    size_t i;
    json_t *record;
    json_array_foreach (records, i, record) {
        if (strcmp(strait_text_of(record, "setting_key"), g->settings[setting].key) == 0 &&
            strcmp(strait_text_of(record, "codec_key"), g->codecs[codec].key) == 0)
            found = record;
    }
    return found;
}

static bool has_control(const json_t *row, const char *control)
{
    const char *own = json_string_value(json_object_get(row, "control"));
    return control ? own && strcmp(own, control) == 0 : !own;
}

/* Of a folder's rows those of the latest run come first. */
static const char *backend_for_curves(const json_t *records, const char *control)
{
    const char *found = "";
    size_t i;
    json_t *row;
    json_array_foreach (records, i, row) {
        const char *backend = strait_text_of(row, "backend");
        if (!is_valid(row) || !has_control(row, control))
            continue;
        if (strcmp(backend, "emu") != 0 && strcmp(backend, "mpi") != 0)
            return backend;
        found = backend;
    }
    return found;
}

json_t *strait_rows_select(const json_t *records, const char *backend, const char *control)
{
    json_t *rows = json_array();
    const char *profile = "";
    size_t i;
    json_t *row;
    if (!*backend)
        backend = backend_for_curves(records, control);
    for (int pass = 0; pass < 2; pass++)
        json_array_foreach (records, i, row) {
            if (strcmp(strait_text_of(row, "record"), "row") != 0 || !has_control(row, control) ||
                strcmp(strait_text_of(row, "backend"), backend) != 0)
                continue;
            if (pass == 0)
                profile = strait_text_of(row, "profile");
            else if (strcmp(profile, strait_text_of(row, "profile")) == 0)
                json_array_append(rows, row);
        }
    return rows;
}
