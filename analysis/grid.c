/* Rows in a grid. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fields.h"
#include "grid.h"

static bool is_valid(const json_t *row)
{
    return json_is_true(json_object_get(row, "valid"));
}

static size_t find_setting(struct strait_grid *g, const json_t *row)
{
    char text[STRAIT_LABEL_CHARS];
    size_t i = 0;
    strait_label_setting(text, row);
    while (i < g->n_settings && strcmp(g->settings[i], text) != 0)
        i++;
    if (i == g->n_settings)
        memcpy(g->settings[g->n_settings++], text, sizeof(text));
    return i;
}

static void name_family(struct strait_grid_codec *c, const json_t *row)
{
    json_t *bare = json_pack("{s:O?, s:O?}", "codec", json_object_get(row, "codec"),
                             "download_codec", json_object_get(row, "download_codec"));
    static const char *const both[] = {"codec", "download_codec"};
    for (size_t i = 0; i < 2; i++) {
        json_t *codec = json_copy(json_object_get(bare, both[i]));
        json_object_del(codec, "bound");
        json_object_set_new(bare, both[i], codec ? codec : json_null());
    }
    strait_label_row_codec(c->family, bare);
    json_decref(bare);
}

static size_t find_codec(struct strait_grid *g, const json_t *row)
{
    struct strait_grid_codec c = {.is_plain = strait_label_row_is_plain(row)};
    strait_label_row_codec(c.label, row);
    for (size_t i = 0; i < g->n_codecs; i++)
        if (strcmp(g->codecs[i].label, c.label) == 0)
            return i;
    name_family(&c, row);
    size_t n_families = 0;
    bool known = false;
    for (size_t i = 0; i < g->n_codecs; i++) {
        const struct strait_grid_codec *other = &g->codecs[i];
        n_families = other->i_family >= n_families ? other->i_family + 1 : n_families;
        if (strcmp(other->family, c.family) == 0) {
            known = true;
            c.i_family = other->i_family;
            c.i_in_family++;
        }
    }
    if (!known)
        c.i_family = n_families;
    g->codecs[g->n_codecs] = c;
    return g->n_codecs++;
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

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
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

/* Median and range of the repeats of each cell; where[] says to which cell a row belongs. */
static void fill_cells(struct strait_grid *g, const json_t *rows, const size_t *where, double *room)
{
    const size_t n_rows = json_array_size(rows), n = g->n_settings * g->n_codecs * g->n_counts;
    for (size_t i = 0; i < n; i++)
        g->cells[i] = (struct strait_cell){NULL, 0, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < n_rows; i++) {
        const json_t *row = json_array_get(rows, i);
        if (where[i] == SIZE_MAX || g->cells[where[i]].row)
            continue;
        struct strait_cell *cell = &g->cells[where[i]];
        cell->row = row;
        for (int pass = 0; pass < 2; pass++) {
            size_t m = 0;
            for (size_t j = i; j < n_rows; j++)
                if (where[j] == where[i])
                    room[m++] =
                        strait_number_of(json_array_get(rows, j), pass ? "total_s" : "round_s");
            qsort(room, m, sizeof(*room), ascending);
            const double median_s = (room[(m - 1) / 2] + room[m / 2]) / 2;
            cell->n_repeats = m;
            if (pass) {
                cell->total_s = median_s;
            } else {
                cell->round_s = median_s;
                cell->round_min_s = room[0];
                cell->round_max_s = room[m - 1];
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

int strait_grid_new(struct strait_grid **out, const json_t *rows, struct strait_error *err)
{
    const size_t n_rows = json_array_size(rows);
    struct strait_grid *g = calloc(1, sizeof(*g));
    size_t *where = calloc(n_rows + 1, sizeof(*where)), n_valid = 0;
    double *room = calloc(n_rows + 1, sizeof(*room));
    int status = -1;
    *out = NULL;
    if (g) {
        g->settings = calloc(n_rows + 1, sizeof(*g->settings));
        g->codecs = calloc(n_rows + 1, sizeof(*g->codecs));
        g->counts = calloc(n_rows + 1, sizeof(*g->counts));
    }
    if (!g || !where || !room || !g->settings || !g->codecs || !g->counts)
        goto nomem;
    for (size_t i = 0; i < n_rows; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!is_valid(row))
            continue;
        n_valid++;
        find_setting(g, row);
        find_codec(g, row);
        find_count(g, (long)json_integer_value(json_object_get(row, "clients")));
    }
    if (n_valid == 0) {
        strait_error_set(err, STRAIT_ERR_INPUT, "results", "expected a valid row, found none");
        goto out;
    }
    plain_first(g);
    qsort(g->counts, g->n_counts, sizeof(*g->counts), ascending_counts);
    g->cells = calloc(g->n_settings * g->n_codecs * g->n_counts, sizeof(*g->cells));
    if (!g->cells)
        goto nomem;
    for (size_t i = 0; i < n_rows; i++) {
        const json_t *row = json_array_get(rows, i);
        where[i] = SIZE_MAX;
        if (is_valid(row))
            where[i] = (find_setting(g, row) * g->n_codecs + find_codec(g, row)) * g->n_counts +
                       find_count(g, (long)json_integer_value(json_object_get(row, "clients")));
    }
    fill_cells(g, rows, where, room);
    fill_speedups(g);
    status = 0;
    goto out;
nomem:
    strait_error_set(err, STRAIT_ERR_NOMEM, "results", "memory ran out");
out:
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
    free(g->settings);
    free(g->codecs);
    free(g->counts);
    free(g->cells);
    free(g);
}

static bool has_control(const json_t *row, const char *control)
{
    const char *own = json_string_value(json_object_get(row, "control"));
    return control ? own && strcmp(own, control) == 0 : !own;
}

json_t *strait_rows_select(const json_t *records, const char *backend, const char *control)
{
    static const char *const for_curves[] = {"sim", "fluid", "emu"};
    json_t *rows = json_array();
    const char *profile = "";
    size_t i;
    json_t *row;
    for (size_t b = 0; b < 3 && !*backend; b++)
        json_array_foreach(records, i,
                           row) if (is_valid(row) &&
                                    strcmp(strait_text_of(row, "backend"), for_curves[b]) == 0 &&
                                    has_control(row, control)) backend = for_curves[b];
    for (int pass = 0; pass < 2; pass++)
        json_array_foreach(records, i, row)
        {
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
