/* From rows to a figure: panels, lines, points. */
#include "figure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/breakdown.h"
#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "axis.h"
#include "places.h"
#include "points.h"
#include "shorten.h"

enum { MAX_LINES = STRAIT_PLOT_MAX_LINES, MAX_PANELS = 16, POINTER_CHARS = 256 };

struct making {
    const struct strait_figure_question *q;
    const char *x;
    json_t *columns; /* valid rows; of residuals the predicted ones that were measured */
    const json_t *all;
    struct strait_plot_places places;
    json_t *x_axis, *by_axis, *panels;
    struct strait_points_count count;
};

/* --- rows --------------------------------------------------------------------------------- */

static bool is_measured(const json_t *columns)
{
    return strcmp(strait_text_of(json_object_get(columns, "row"), "backend"), "emu") == 0;
}

static bool is_same_point(const json_t *a, const json_t *b)
{
    const char *point = strait_text_of(json_object_get(a, "row"), "point");
    return *point && strcmp(point, strait_text_of(json_object_get(b, "row"), "point")) == 0;
}

static bool was_measured(const json_t *all, const json_t *predicted)
{
    size_t i;
    json_t *other;
    json_array_foreach (all, i, other)
        if (is_measured(other) && is_same_point(other, predicted))
            return true;
    return false;
}

static int choose_rows(struct making *m, struct strait_error *err)
{
    const bool residuals = m->q->kind == STRAIT_FIGURE_RESIDUALS;
    json_t *row;
    size_t i;
    json_array_foreach (m->all, i, row) {
        const bool valid = json_is_true(json_object_get(json_object_get(row, "row"), "valid"));
        if (valid && (!residuals || (!is_measured(row) && was_measured(m->all, row))))
            json_array_append(m->columns, row);
    }
    m->count.n_invalid = residuals ? 0 : json_array_size(m->all) - json_array_size(m->columns);
    if (json_array_size(m->columns) > 0)
        return 0;
    return strait_refuse(
        err, "plot",
        residuals
            ? "expected points that were predicted and measured (strait run --on both), found none"
            : "expected valid rows, found none");
}

/* --- axes --------------------------------------------------------------------------------- */

static int log_of(const struct strait_figure_question *q, char axis)
{
    return q->log ? strchr(q->log, axis) != NULL : -1;
}

static void add_value(json_t *values, json_t *value)
{
    if (value && !json_is_null(value))
        json_array_append(values, value);
}

/* A list may have a null for each round that was not evaluated. */
static json_t *values_at(const struct making *m, const char *pointer)
{
    json_t *values = json_array(), *row, *one;
    size_t i, k;
    json_array_foreach (m->columns, i, row) {
        json_t *value = strait_column(row, pointer);
        json_array_foreach (value, k, one)
            add_value(values, one);
        if (!json_is_array(value))
            add_value(values, value);
        json_decref(value);
    }
    return values;
}

/* categories: each value has the same room. */
static json_t *axis_of(const struct making *m, const char *pointer, int logs, bool categories)
{
    json_t *values = values_at(m, pointer);
    json_t *axis = categories ? strait_plot_categories(pointer, values)
                              : strait_plot_axis(pointer, values, logs);
    json_decref(values);
    return axis;
}

static int make_axes(struct making *m, struct strait_error *err)
{
    const bool heat = m->q->kind == STRAIT_FIGURE_HEAT;
    if (heat && !m->q->series)
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected --series POINTER with --kind heat: what goes upward");
    /* rounds and their times count from the first on */
    json_t *first = strait_column(json_array_get(m->columns, 0), m->x);
    const int log = json_is_array(first) && !m->q->log ? 0 : log_of(m->q, 'x');
    json_decref(first);
    m->x_axis = axis_of(m, m->x, log, heat || m->q->kind == STRAIT_FIGURE_PHASES);
    if (heat)
        m->by_axis = axis_of(m, m->q->series, 0, true);
    return 0;
}

/* --- panels ------------------------------------------------------------------------------- */

static json_t *find_in(json_t *array, const char *key, const char *text)
{
    size_t i;
    json_t *item;
    json_array_foreach (array, i, item)
        if (strcmp(strait_text_of(item, key), text) == 0)
            return item;
    return NULL;
}

static json_t *line_of(json_t *panel, const char *label)
{
    json_t *lines = json_object_get(panel, "lines"), *line = find_in(lines, "label", label);
    if (!line) {
        line = json_pack("{s:s, s:o}", "label", label, "at", json_object());
        json_array_append_new(lines, line);
    }
    return line;
}

/* Panels of several numbers are told apart by them. */
static json_t *panel_of(struct making *m, const json_t *row, const char *y, json_t *y_axis)
{
    char *title = strait_plot_places_text(&m->places, row, m->places.facets, true), *key = NULL;
    json_t *panel = NULL;
    if (title && asprintf(&key, "%s\n%s", y, title) >= 0) {
        panel = find_in(m->panels, "key", key);
        if (!panel) {
            panel = json_pack("{s:s, s:s, s:O, s:o}", "key", key, "title", title, "y", y_axis,
                              "lines", json_array());
            json_array_append_new(m->panels, panel);
        }
    }
    free(key);
    free(title);
    return panel;
}

static int add_row(struct making *m, const json_t *row, const char *y, json_t *y_axis,
                   struct strait_error *err)
{
    const struct strait_points_of of = {
        .x = m->x,
        .by = m->q->kind == STRAIT_FIGURE_HEAT ? m->q->series : NULL,
        .y = y,
        .x_axis = m->x_axis,
        .by_axis = m->by_axis,
        .y_axis = y_axis,
        .measured = m->q->kind == STRAIT_FIGURE_RESIDUALS ? m->all : NULL};
    json_t *panel = panel_of(m, row, y, y_axis);
    char *label = m->q->kind == STRAIT_FIGURE_PHASES ? strdup(strrchr(y, '/') + 1)
                  : of.by                            ? strdup("")
                          : strait_plot_places_text(&m->places, row, m->places.series,
                                                    json_array_size(m->places.series) > 1);
    int status = -1;
    if (!panel || !label)
        strait_error_memory(err, "plot");
    else
        status = strait_points_add(line_of(panel, label), &m->count, row, &of, err);
    free(label);
    return status;
}

/* The ends of intervals are drawn too: where they span much, values would lie flat on 0. */
static json_t *number_axis(const struct making *m, const char *y, json_t *values)
{
    json_t *axis = strait_plot_axis(y, values, log_of(m->q, 'y'));
    const char *interval = strait_points_interval(y);
    if (!interval)
        return axis;
    for (int end = 0; end < 2; end++) {
        char pointer[POINTER_CHARS];
        snprintf(pointer, sizeof(pointer), "%s/%d", interval, end);
        json_t *ends = values_at(m, pointer);
        json_array_extend(values, ends);
        json_decref(ends);
    }
    json_t *whole = strait_plot_axis(y, values, log_of(m->q, 'y'));
    json_object_set(axis, "log", json_object_get(whole, "log"));
    json_decref(whole);
    return axis;
}

static int add_number(struct making *m, const char *y, struct strait_error *err)
{
    const bool residuals = m->q->kind == STRAIT_FIGURE_RESIDUALS;
    json_t *values = values_at(m, y), *row;
    size_t i, n_numbers = 0;
    json_t *value;
    json_array_foreach (values, i, value)
        n_numbers += json_is_number(value);
    if (n_numbers == 0) {
        const bool known = json_array_size(values) > 0;
        json_decref(values);
        return known
                   ? strait_refuse(err, "plot",
                                   "expected a number of the rows after --y, found the text at %s",
                                   y)
                   : strait_column_refuse(m->columns, "y", y, err);
    }
    json_t *y_axis = number_axis(m, y, values);
    if (residuals) {
        char label[POINTER_CHARS];
        snprintf(label, sizeof(label), "%s: predicted over measured, less 1 (%%)", y + 1);
        json_object_set_new(y_axis, "label", json_string(label));
        json_object_set_new(y_axis, "log", json_false());
    }
    if (m->q->kind == STRAIT_FIGURE_PHASES) { /* of all in one panel */
        json_object_set_new(y_axis, "label", json_string("critical path (s a round)"));
        json_object_set_new(y_axis, "pointer", json_string("/path_s"));
    }
    json_decref(values);
    int status = 0;
    json_array_foreach (m->columns, i, row)
        if (status == 0)
            status = add_row(m, row, y, y_axis, err);
    json_decref(y_axis);
    return status;
}

static int add_all(struct making *m, struct strait_error *err)
{
    char pointer[POINTER_CHARS];
    static const char *const round[] = {"/round_s"};
    int status = 0;
    if (m->q->kind == STRAIT_FIGURE_PHASES) {
        for (int phase = 0; phase < STRAIT_N_PHASES && status == 0; phase++) {
            snprintf(pointer, sizeof(pointer), "/path_s/%s",
                     strait_phase_name((enum strait_phase)phase));
            status = add_number(m, pointer, err);
        }
        return status;
    }
    const char *const *y = m->q->n_y > 0 ? m->q->y : round;
    for (size_t i = 0; i < (m->q->n_y > 0 ? m->q->n_y : 1) && status == 0; i++) {
        snprintf(pointer, sizeof(pointer), "%s%s", y[i][0] == '/' ? "" : "/", y[i]);
        status = add_number(m, pointer, err);
    }
    return status;
}

/* Phases of one panel came as panels of their own number: merge those of one title. */
static void merge_phases(json_t *panels)
{
    for (size_t i = 0; i < json_array_size(panels); i++)
        for (size_t k = json_array_size(panels); k-- > i + 1;) {
            json_t *a = json_array_get(panels, i), *b = json_array_get(panels, k);
            if (strcmp(strait_text_of(a, "title"), strait_text_of(b, "title")) != 0)
                continue;
            json_t *lines = json_object_get(b, "lines");
            json_array_insert(json_object_get(a, "lines"), 1, json_array_get(lines, 0));
            json_array_remove(panels, k);
        }
}

static bool is_empty(const json_t *line)
{
    return json_array_size(json_object_get(line, "points")) == 0;
}

/* Points in their order; what has none goes. */
static int finish_panels(struct making *m, struct strait_error *err)
{
    size_t n_most = 0, i, k;
    json_t *panel, *line;
    if (m->q->kind == STRAIT_FIGURE_PHASES)
        merge_phases(m->panels);
    for (i = json_array_size(m->panels); i-- > 0;) {
        panel = json_array_get(m->panels, i);
        json_t *lines = json_object_get(panel, "lines");
        json_array_foreach (lines, k, line)
            strait_points_finish(line, &m->count);
        for (k = json_array_size(lines); k-- > 0;)
            if (is_empty(json_array_get(lines, k)))
                json_array_remove(lines, k);
        n_most = json_array_size(lines) > n_most ? json_array_size(lines) : n_most;
        json_object_del(panel, "key");
        if (json_array_size(lines) == 0)
            json_array_remove(m->panels, i);
    }
    if (json_array_size(m->panels) == 0)
        return strait_refuse(
            err, "plot", "expected rows with a number at %s and at what is asked for, found none",
            m->x);
    if (n_most > MAX_LINES)
        return strait_plot_places_refuse(m->columns, &m->places, "lines in a panel", n_most,
                                         MAX_LINES, err);
    if (json_array_size(m->panels) > MAX_PANELS)
        return strait_plot_places_refuse(m->columns, &m->places, "panels",
                                         json_array_size(m->panels), MAX_PANELS, err);
    return 0;
}

/* --- what is said under the title --------------------------------------------------------- */

static void note(json_t *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(json_t *notes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    if (vasprintf(&text, format, args) >= 0)
        json_array_append_new(notes, json_string(text));
    va_end(args);
    free(text);
}

/* Take from the categories of an axis what all have, and say it. */
static void shorten_axis(json_t *notes, const json_t *axis)
{
    json_t *names = json_object_get(axis, "names");
    char *taken = json_is_array(names) ? strait_plot_shorten(names) : NULL;
    if (taken && *taken)
        note(notes, "all with %s", taken);
    free(taken);
}

/* The same for the lines of all panels. */
static void shorten_lines(json_t *notes, const json_t *panels)
{
    json_t *seen = json_object(), *names = json_array(), *panel, *line;
    size_t i, k;
    json_array_foreach (panels, i, panel)
        json_array_foreach (json_object_get(panel, "lines"), k, line) {
            const char *label = strait_text_of(line, "label");
            if (json_object_get(seen, label))
                continue;
            json_object_set_new(seen, label, json_integer((json_int_t)json_object_size(seen)));
            json_array_append_new(names, json_string(label));
        }
    char *taken = strait_plot_shorten(names);
    if (taken && *taken) {
        note(notes, "all with %s", taken);
        json_array_foreach (panels, i, panel)
            json_array_foreach (json_object_get(panel, "lines"), k, line)
                json_object_set(line, "label",
                                json_array_get(names, (size_t)json_integer_value(json_object_get(
                                                          seen, strait_text_of(line, "label")))));
    }
    free(taken);
    json_decref(seen);
    json_decref(names);
}

static json_t *notes_of(const struct making *m)
{
    json_t *notes = json_array();
    shorten_axis(notes, m->x_axis);
    shorten_axis(notes, m->by_axis);
    shorten_lines(notes, m->panels);
    const json_t *first = json_object_get(json_array_get(m->columns, 0), "row");
    char *set = strait_label_set(json_object_get(first, "set"));
    if (set && *set)
        note(notes, "set: %s", set);
    free(set);
    for (size_t i = 0; i < m->q->n_where; i++)
        note(notes, "%s", m->q->where[i]);
    const char *spread = json_is_array(json_object_get(m->x_axis, "names")) ? "bars" : "bands";
    const bool has_spread = m->q->kind != STRAIT_FIGURE_HEAT; /* colours show values alone */
    if (m->count.has_interval && has_spread)
        note(notes, "%s: 90 %% intervals%s", spread,
             strait_points_are_narrow(m->panels) ? ", narrower than the points" : "");
    if (m->count.has_seeds && has_spread)
        note(notes, "means over the seeds, %s: their deviation", spread);
    if (m->count.n_repeats > 1 && has_spread)
        note(notes, "medians of up to %zu repeats, %s: their range", m->count.n_repeats, spread);
    else if (m->count.n_repeats > 1)
        note(notes, "medians of up to %zu repeats", m->count.n_repeats);
    if (m->count.n_without > 0)
        note(notes, "%zu of %zu rows have no such number", m->count.n_without,
             m->count.n_without + m->count.n_shown);
    if (m->count.n_invalid > 0)
        note(notes, "%zu INVALID rows left out", m->count.n_invalid);
    return notes;
}

static json_t *make(struct making *m, const char *title, struct strait_error *err)
{
    static const char *const kinds[] = {"lines", "heat", "phases", "residuals"};
    if (choose_rows(m, err) != 0 ||
        strait_plot_places_find(&m->places, m->columns, m->x, m->q, err) != 0 ||
        make_axes(m, err) != 0 || add_all(m, err) != 0 || finish_panels(m, err) != 0)
        return NULL;
    const json_t *first = json_object_get(json_array_get(m->columns, 0), "row");
    return json_pack("{s:s, s:s, s:o, s:O, s:O?, s:O}", "kind", kinds[m->q->kind], "title",
                     title ? title : strait_text_of(first, "title"), "notes", notes_of(m), "x",
                     m->x_axis, "by", m->by_axis, "panels", m->panels);
}

json_t *strait_figure(const json_t *columns, const struct strait_figure_question *question,
                      const char *title, struct strait_error *err)
{
    struct making m = {.q = question,
                       .x = question->x ? question->x : strait_figure_x(columns),
                       .columns = json_array(),
                       .all = columns,
                       .panels = json_array()};
    json_t *figure = make(&m, title, err);
    strait_plot_places_release(&m.places);
    json_decref(m.columns);
    json_decref(m.x_axis);
    json_decref(m.by_axis);
    json_decref(m.panels);
    return figure;
}
