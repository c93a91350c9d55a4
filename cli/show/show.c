/* Tables of results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/breakdown.h"
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/place.h"
#include "analysis/table.h"
#include "core/names.h"
#include "show.h"
#include "show_extras.h"
#include "show_training.h"

static void number_cell(struct strait_table *t, double value, int digits)
{
    char buf[STRAIT_NUMBER_CHARS];
    strait_table_cell(t, strait_format_number(buf, value, digits));
}

const char *strait_limit_short(const json_t *limits)
{
    const char *by = strait_text_of(limits, "by"), *at = strait_text_of(limits, "at");
    return *at && (strcmp(by, "link") == 0 || strcmp(by, "straggler") == 0) ? at : by;
}

/* --- a line a point ----------------------------------------------------------------------- */

/* Of repeats the range; of a prediction its interval, with as many digits as tell its ends
 * apart. */
static void put_range(struct strait_table *t, const struct strait_cell *cell)
{
    char lo[STRAIT_NUMBER_CHARS], hi[STRAIT_NUMBER_CHARS];
    const json_t *interval = json_object_get(cell->row, "interval_s");
    double lo_s = cell->round_min_s, hi_s = cell->round_max_s;
    if (json_array_size(interval) == 2) {
        lo_s = json_number_value(json_array_get(interval, 0));
        hi_s = json_number_value(json_array_get(interval, 1));
    }
    int digits = 3;
    while (digits < 9 && strcmp(strait_format_number(lo, lo_s, digits),
                                strait_format_number(hi, hi_s, digits)) == 0)
        digits++;
    if (hi_s > lo_s)
        strait_table_cellf(t, "%s to %s", strait_format_number(lo, lo_s, digits),
                           strait_format_number(hi, hi_s, digits));
    else
        strait_table_cell(t, "");
}

/* Those that not every table has. */
struct columns {
    const struct strait_names *names; /* an axis each */
    const char *range;
    bool marks, limits;
    struct strait_extras extras;
};

static void put_line(struct strait_table *t, const struct strait_cell *cell, const char *codec,
                     const struct columns *c)
{
    char marks[STRAIT_MARKS_CHARS];
    const json_t *row = cell->row, *path = json_object_get(row, "path_s");
    for (size_t i = 0; i < strait_names_n_axes(c->names); i++) {
        char *value = strait_names_value(c->names, i, row);
        strait_table_cell(t, value);
        free(value);
    }
    strait_table_cellf(t, "%lld", (long long)json_integer_value(json_object_get(row, "clients")));
    strait_table_cell(t, codec);
    number_cell(t, cell->round_s, 4);
    if (c->range)
        put_range(t, cell);
    number_cell(t, cell->total_s, 4);
    for (int phase = 0; phase < STRAIT_N_PHASES; phase++) {
        const double share = strait_row_number(path, strait_phase_name((enum strait_phase)phase)) /
                             strait_row_number(row, "round_s");
        if (share > 1e-6 && share < 0.005)
            strait_table_cell(t, "<1");
        else
            strait_table_cellf(t, "%.0f", isfinite(share) ? 100 * share : 0);
    }
    number_cell(t, strait_row_number(row, "wait_s"), 3);
    number_cell(t, strait_label_row_is_plain(row) ? 1 : strait_row_number(row, "ratio"), 3);
    if (strait_label_row_is_plain(row))
        strait_table_cell(t, "1");
    else
        number_cell(t, cell->speedup, 3);
    strait_extras_put(t, row, &c->extras);
    if (c->limits)
        strait_table_cell(t, strait_limit_short(json_object_get(row, "limits")));
    if (c->marks)
        strait_table_cell(t, strait_show_marks(marks, row));
}

static bool any_limits(const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (json_is_object(json_object_get(row, "limits")))
            return true;
    return false;
}

/* What the column of ranges holds; NULL: nothing. */
static const char *range_title(const struct strait_grid *g)
{
    const char *title = NULL;
    for (size_t i = 0; i < g->n_settings * g->n_codecs * g->n_counts; i++) {
        const struct strait_cell *cell = &g->cells[i];
        if (cell->row && json_is_array(json_object_get(cell->row, "interval_s")))
            return "90 % within s";
        if (cell->row && cell->n_repeats > 1)
            title = "range s";
    }
    return title;
}

/* Rounds of every row; 0: they differ, as where runs end at a target. */
static size_t n_rounds_of(const json_t *rows)
{
    size_t i, n_rounds = 0;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const size_t n = json_array_size(json_object_get(row, "rounds_s"));
        if (i > 0 && n != n_rounds)
            return 0;
        n_rounds = n;
    }
    return n_rounds;
}

static int show_lines(FILE *out, const struct strait_grid *g, const json_t *rows,
                      struct strait_error *err)
{
    struct columns columns = {.names = g->names,
                              .range = range_title(g),
                              .marks = strait_show_any_marks(rows),
                              .limits = any_limits(rows),
                              .extras = strait_extras_find(rows)};
    char title[64];
    struct strait_table *t = strait_table_new();
    for (size_t i = 0; i < strait_names_n_axes(g->names); i++)
        strait_table_column(t, strait_names_axis(g->names, i), false);
    strait_table_column(t, "clients", true);
    strait_table_column(t, "codec", false);
    strait_table_key(t);
    strait_table_column(t, "round s", true);
    if (columns.range)
        strait_table_column(t, columns.range, true);
    const size_t n_rounds = n_rounds_of(rows);
    if (n_rounds > 0)
        snprintf(title, sizeof(title), "%zu round%s s", n_rounds, n_rounds == 1 ? "" : "s");
    else
        snprintf(title, sizeof(title), "run s");
    strait_table_column(t, title, true);
    for (int phase = 0; phase < STRAIT_N_PHASES; phase++) {
        snprintf(title, sizeof(title), "%s %%", strait_phase_name((enum strait_phase)phase));
        strait_table_column(t, title, true);
        strait_table_omit(t, "0");
    }
    strait_table_column(t, "wait s", true);
    strait_table_omit(t, "0");
    strait_table_column(t, "ratio", true);
    strait_table_omit(t, "1.00"); /* nothing was compressed */
    strait_table_column(t, "speed-up", true);
    strait_table_omit(t, "1");
    strait_extras_columns(t, &columns.extras);
    if (columns.limits) {
        strait_table_column(t, "limited by", false);
        strait_table_spare(t);
    }
    if (columns.marks)
        strait_table_column(t, "note", false);
    const bool groups = json_array_size(rows) > g->n_settings; /* else a line each */
    for (size_t s = 0; s < g->n_settings; s++) {
        if (groups)
            strait_table_rule(t);
        for (size_t n = 0; n < g->n_counts; n++)
            for (size_t c = 0; c < g->n_codecs; c++)
                if (strait_grid_cell(g, s, c, n)->row)
                    put_line(t, strait_grid_cell(g, s, c, n), g->codecs[c].label, &columns);
    }
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    strait_extras_notes(out, rows);
    strait_show_notes(out, rows, true);
    return 0;
}

/* --- a grid of speed-ups ------------------------------------------------------------------ */

/* The first count of the interval that meets from..to, of "perhaps" or "surely"; 0: none does. */
static json_int_t first_of(const json_t *record, const char *key, json_int_t from, json_int_t to)
{
    size_t i;
    json_t *interval;
    json_array_foreach (json_object_get(record, key), i, interval) {
        const json_int_t first = json_integer_value(json_array_get(interval, 0));
        if (first <= to && json_integer_value(json_array_get(interval, 1)) >= from)
            return first;
    }
    return 0;
}

/* Append " (9 to 14)" behind a first count that may lie elsewhere. */
static void put_edge(char *buf, size_t cap, const json_t *record, json_int_t from, json_int_t to)
{
    const json_int_t perhaps = first_of(record, "perhaps", from, to),
                     surely = first_of(record, "surely", from, to);
    if (perhaps == 0 || (perhaps == from && surely == from))
        return;
    if (surely > 0)
        strait_text_add(buf, cap, " (%lld to %lld)", (long long)perhaps, (long long)surely);
    else
        strait_text_add(buf, cap, " (%lld at the earliest)", (long long)perhaps);
}

/* "always", "never", "1-8, 38 (35 to 40)-64" */
static void pays_cell(struct strait_table *t, const json_t *record)
{
    char text[256] = "";
    const json_int_t first = json_integer_value(json_object_get(record, "first")),
                     last = json_integer_value(json_object_get(record, "last"));
    size_t i;
    json_t *interval;
    json_array_foreach (json_object_get(record, "pays"), i, interval) {
        const json_int_t from = json_integer_value(json_array_get(interval, 0)),
                         to = json_integer_value(json_array_get(interval, 1));
        if (from == first && to == last) {
            strait_text_add(text, sizeof(text), "always");
            continue;
        }
        strait_text_add(text, sizeof(text), "%s%lld", i > 0 ? ", " : "", (long long)from);
        put_edge(text, sizeof(text), record, from, to);
        if (to > from)
            strait_text_add(text, sizeof(text), "-%lld", (long long)to);
    }
    strait_table_cell(t, record ? *text ? text : "never" : "");
}

static void put_grid_line(struct strait_table *t, const struct strait_grid *g, size_t s, size_t c)
{
    char number[STRAIT_NUMBER_CHARS];
    for (size_t n = 0; n < g->n_counts; n++) {
        const struct strait_cell *cell = strait_grid_cell(g, s, c, n);
        if (!cell->row)
            strait_table_cell(t, "");
        else if (g->codecs[c].is_plain || !isfinite(cell->speedup))
            strait_table_cellf(t, "%s s", strait_format_number(number, cell->round_s, 3));
        else
            strait_table_cellf(t, "%sx", strait_format_number(number, cell->speedup, 3));
    }
}

static bool has_line(const struct strait_grid *g, size_t s, size_t c)
{
    for (size_t n = 0; n < g->n_counts; n++)
        if (strait_grid_cell(g, s, c, n)->row)
            return true;
    return false;
}

static int show_grid(FILE *out, const struct strait_grid *g, const json_t *breakevens,
                     struct strait_error *err)
{
    char number[STRAIT_NUMBER_CHARS];
    struct strait_table *t = strait_table_new();
    if (g->n_settings > 1)
        strait_table_column(t, "setting", false);
    strait_table_column(t, "clients", false);
    strait_table_key(t);
    for (size_t n = 0; n < g->n_counts; n++) {
        snprintf(number, sizeof(number), "%ld", g->counts[n]);
        strait_table_column(t, number, true);
    }
    if (json_array_size(breakevens) > 0)
        strait_table_column(t, "pays", false);
    for (size_t s = 0; s < g->n_settings; s++) {
        strait_table_rule(t);
        bool named = false;
        for (size_t c = 0; c < g->n_codecs; c++) {
            if (!has_line(g, s, c))
                continue;
            if (g->n_settings > 1)
                strait_table_cell(t, named ? "" : g->settings[s].label);
            named = true;
            strait_table_cell(t, g->codecs[c].label);
            put_grid_line(t, g, s, c);
            if (json_array_size(breakevens) > 0)
                pays_cell(t, strait_grid_breakeven(g, s, c, breakevens));
        }
    }
    return strait_table_finish(t, out, err);
}

/* What the grid's cells mean. */
static void put_legend(FILE *out, const json_t *breakevens)
{
    const json_t *first = json_array_get(breakevens, 0);
    strait_prose(out, "Without compression: time of a round. Codecs: speed-up over it.");
    if (first)
        strait_prose(
            out, "Pays: clients for which a round is shorter than without, of %s %lld to %lld.",
            json_is_true(json_object_get(first, "every_count")) ? "every count from"
                                                                : "counts by bisection from",
            (long long)json_integer_value(json_object_get(first, "first")),
            (long long)json_integer_value(json_object_get(first, "last")));
    fputs("\n", out);
}

/* --- break-even --------------------------------------------------------------------------- */

static int show_breakevens(FILE *out, const json_t *records, struct strait_error *err)
{
    struct strait_table *t = strait_table_new();
    const char *before = NULL;
    bool settings = false;
    size_t i;
    json_t *record;
    json_array_foreach (records, i, record)
        settings = settings || *strait_text_of(record, "setting");
    if (settings)
        strait_table_column(t, "setting", false);
    strait_table_column(t, "codec", false);
    strait_table_column(t, "compression pays", false);
    json_array_foreach (records, i, record) {
        const char *setting = strait_text_of(record, "setting");
        const char *key = strait_text_of(record, "setting_key");
        const bool same = before && strcmp(before, key) == 0;
        if (settings && before && !same)
            strait_table_rule(t);
        if (settings)
            strait_table_cell(t, same ? "" : setting);
        strait_table_cell(t, strait_text_of(record, "codec"));
        strait_table_cell(t, strait_text_of(record, "text"));
        before = key;
    }
    return strait_table_finish(t, out, err);
}

/* How it was emulated: congestion control, dilation, realisation and launcher. */
static void show_emulation(FILE *out, const json_t *rows)
{
    double least = INFINITY, most = 0, wall_s = 0;
    size_t n_stored = 0;
    const json_t *report = json_object_get(json_array_get(rows, 0), "report"), *row;
    char to[STRAIT_NUMBER_CHARS] = "", stored[80] = "";
    size_t i;
    if (!json_is_string(json_object_get(report, "congestion")))
        return;
    json_array_foreach (rows, i, row) {
        const double k =
            json_number_value(json_object_get(json_object_get(row, "report"), "dilation"));
        least = fmin(least, k);
        most = fmax(most, k);
        wall_s += json_number_value(json_object_get(row, "wall_s"));
        n_stored += json_is_true(json_object_get(row, "stored"));
    }
    if (most > least)
        snprintf(to, sizeof(to), " to %g", most);
    if (n_stored > 0)
        snprintf(stored, sizeof(stored), "; %zu of %zu rows are from an earlier run", n_stored,
                 json_array_size(rows));
    strait_prose(out, "TCP %s; %s, launched as %s; dilation %g%s; took %.0f s%s",
                 strait_text_of(report, "congestion"), strait_text_of(report, "realisation"),
                 strait_text_of(report, "launcher"), least, to, wall_s, stored);
}

/* The text that all rows have under a key, or that they differ. */
static const char *common_text(const json_t *rows, const char *key, const char *differ)
{
    const char *first = strait_text_of(json_array_get(rows, 0), key);
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (strcmp(strait_text_of(row, key), first) != 0)
            return differ;
    return first;
}

void strait_show_set(FILE *out, const char *before, const json_t *set)
{
    char *text = strait_label_set(set);
    if (text && *text)
        strait_prose(out, "%s: %s", before, text);
    free(text);
}

void strait_show_head(FILE *out, const json_t *rows)
{
    const json_t *row = json_array_get(rows, 0);
    strait_prose(out, "%s", strait_text_of(row, "title"));
    strait_show_set(out, "set", json_object_get(row, "set"));
    strait_prose(out, "%s, %s; %s payload, %s cost; backend %s%s%s",
                 common_text(rows, "model", "several models"),
                 common_text(rows, "strategy", "several strategies"),
                 strait_text_of(row, "payload"), strait_text_of(row, "cost"),
                 strait_text_of(row, "backend"),
                 *strait_text_of(row, "control") ? ", negative control " : "",
                 strait_text_of(row, "control"));
    show_emulation(out, rows);
}

int strait_show_rows(FILE *out, const json_t *rows, const json_t *breakevens,
                     struct strait_error *err)
{
    struct strait_grid *g;
    if (strait_grid_new(&g, rows, err) != 0)
        return -1;
    const bool grid =
        json_array_size(rows) > STRAIT_SHOW_MAX_LINES && g->n_counts <= STRAIT_SHOW_MAX_COUNTS;
    const bool trained = strait_show_any_training(rows);
    strait_show_head(out, rows);
    if (grid)
        put_legend(out, breakevens);
    else
        strait_prose(out,
                     "Mean time of a round and its shares on the critical path; wait: a client "
                     "blocked in a receive.");
    if (!grid)
        fputs("\n", out);
    int status = grid ? show_grid(out, g, breakevens, err) : show_lines(out, g, rows, err);
    if (grid)
        strait_show_notes(out, rows, false);
    if (status == 0 && !grid && json_array_size(breakevens) > 0) {
        fputs("\n", out);
        status = show_breakevens(out, breakevens, err);
    }
    if (status == 0 && trained) {
        fputs("\n", out);
        status = strait_show_training(out, g, err);
    }
    strait_grid_free(g);
    return status;
}
