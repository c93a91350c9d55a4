/* Points of lines: medians of repeats, intervals, residuals. */
#include "points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/row.h"
#include "axis.h"
#include "core/heap.h"
#include "core/json.h"
#include "core/names.h"

enum { KEY_CHARS = 64, POINTER_CHARS = 256, PERCENT = 100 };

static double number_at(const json_t *row, const char *pointer, const json_t *axis)
{
    json_t *value = strait_column(row, pointer);
    const double number = json_is_number(value) ? strait_plot_axis_at(axis, value) : NAN;
    json_decref(value);
    return number;
}

/* --- what is known of a number's spread --------------------------------------------------- */

const char *strait_points_interval(const char *y)
{
    return strcmp(y, "/round_s") == 0   ? "/interval_s"
           : strcmp(y, "/total_s") == 0 ? "/total_interval_s"
                                        : NULL;
}

static void spread_of(double *low, double *high, struct strait_points_count *count,
                      const json_t *row, const struct strait_points_of *of)
{
    char pointer[POINTER_CHARS];
    const char *interval = strait_points_interval(of->y);
    *low = *high = NAN;
    if (interval) {
        snprintf(pointer, sizeof(pointer), "%s/0", interval);
        *low = number_at(row, pointer, of->y_axis);
        snprintf(pointer, sizeof(pointer), "%s/1", interval);
        *high = number_at(row, pointer, of->y_axis);
        count->has_interval |= isfinite(*low) && isfinite(*high);
    }
    const size_t n = strlen(of->y);
    if (n > 5 && strcmp(of->y + n - 5, "/mean") == 0) {
        snprintf(pointer, sizeof(pointer), "%.*s/sd", (int)(n - 5), of->y);
        const double sd = number_at(row, pointer, of->y_axis),
                     mean = number_at(row, of->y, of->y_axis);
        *low = mean - sd;
        *high = mean + sd;
        count->has_seeds |= isfinite(sd);
    }
}

/* Predicted over the median of what was measured, less 1, in percent, and at its ends. */
static double residual(double *low, double *high, double predicted, const json_t *row,
                       const struct strait_points_of *of)
{
    const char *point = strait_text_of(json_object_get(row, "row"), "point");
    double *found = calloc(json_array_size(of->measured) + 1, sizeof(*found));
    size_t n = 0, i;
    json_t *other;
    json_array_foreach (of->measured, i, other) {
        const json_t *its = json_object_get(other, "row");
        if (found && strcmp(strait_text_of(its, "backend"), "emu") == 0 &&
            strcmp(strait_text_of(its, "point"), point) == 0 &&
            json_is_true(json_object_get(its, "valid")))
            found[n++] = number_at(other, of->y, of->y_axis);
    }
    double median = NAN;
    *low = *high = NAN;
    if (n > 0) {
        median = strait_median(found, n);
    }
    if (n > 1) {
        *low = PERCENT * (predicted / found[n - 1] - 1);
        *high = PERCENT * (predicted / found[0] - 1);
    }
    free(found);
    return median > 0 ? PERCENT * (predicted / median - 1) : NAN;
}

/* --- adding ------------------------------------------------------------------------------- */

/* Two rows at one place that are no repeats: what differs has no line of its own. */
static int refuse(const json_t *a, const json_t *b, struct strait_error *err)
{
    char differ[320] = "";
    json_t *both =
        json_pack("[O, O]", json_object_get(a, "settings"), json_object_get(b, "settings"));
    json_t *pointers = strait_json_differing(both), *pointer;
    size_t i;
    json_array_foreach (pointers, i, pointer)
        strait_text_add(differ, sizeof(differ), "%s%s", i > 0 ? ", " : "",
                        json_string_value(pointer));
    json_decref(pointers);
    json_decref(both);
    return strait_refuse(err, "plot",
                         "expected one row for each place of a line, found several that differ in "
                         "%s: give it to --facet or --series, or choose a value with --where",
                         *differ ? differ : "what is no setting");
}

static int add_point(json_t *line, struct strait_points_count *count, const json_t *row, double x,
                     double by, const double y[3], struct strait_error *err)
{
    char key[KEY_CHARS];
    if (!isfinite(x) || !isfinite(y[0])) {
        count->n_without++;
        return 0;
    }
    count->n_shown++;
    snprintf(key, sizeof(key), "%.17g %.17g", x, by);
    json_t *at = json_object_get(line, "at"), *cell = json_object_get(at, key);
    if (!cell) {
        cell = json_pack("{s:f, s:o, s:o, s:o, s:o, s:O}", "x", x, "by", strait_json_number(by),
                         "y", json_array(), "low", strait_json_number(y[1]), "high",
                         strait_json_number(y[2]), "of", row);
        json_object_set_new(at, key, cell);
    }
    const json_t *first = json_object_get(cell, "of");
    const json_t *a = json_object_get(first, "row"), *b = json_object_get(row, "row");
    if (first != row && (strcmp(strait_text_of(a, "point"), strait_text_of(b, "point")) != 0 ||
                         strcmp(strait_text_of(a, "backend"), strait_text_of(b, "backend")) != 0))
        return refuse(first, row, err);
    return json_array_append_new(json_object_get(cell, "y"), json_real(y[0]));
}

/* A row with lists at both has a line of its own. */
static int add_list(json_t *line, struct strait_points_count *count, const json_t *row,
                    const struct strait_points_of *of, const json_t *xs, const json_t *ys,
                    struct strait_error *err)
{
    int status = 0;
    size_t i;
    json_t *x;
    json_array_foreach (xs, i, x) {
        const json_t *value = json_array_get(ys, i);
        const double y[3] = {json_is_number(value) ? strait_plot_axis_at(of->y_axis, value) : NAN,
                             NAN, NAN};
        if (status == 0 && isfinite(y[0])) /* a round that was not scored */
            status = add_point(line, count, row, strait_plot_axis_at(of->x_axis, x), NAN, y, err);
    }
    return status;
}

int strait_points_add(json_t *line, struct strait_points_count *count, const json_t *row,
                      const struct strait_points_of *of, struct strait_error *err)
{
    json_t *x = strait_column(row, of->x), *y = strait_column(row, of->y),
           *by = of->by ? strait_column(row, of->by) : NULL;
    double points[3] = {NAN, NAN, NAN};
    int status;
    if (json_is_array(x) && json_is_array(y)) {
        status = add_list(line, count, row, of, x, y, err);
    } else {
        if (json_is_number(y))
            points[0] = strait_plot_axis_at(of->y_axis, y);
        if (of->measured)
            points[0] = residual(&points[1], &points[2], points[0], row, of);
        else
            spread_of(&points[1], &points[2], count, row, of);
        status = add_point(line, count, row, x ? strait_plot_axis_at(of->x_axis, x) : NAN,
                           by ? strait_plot_axis_at(of->by_axis, by) : NAN, points, err);
    }
    json_decref(x);
    json_decref(y);
    json_decref(by);
    return status;
}

/* --- finishing ---------------------------------------------------------------------------- */

static json_t *point_of(const json_t *cell, struct strait_points_count *count)
{
    const json_t *all = json_object_get(cell, "y"), *by = json_object_get(cell, "by");
    const size_t n = json_array_size(all);
    double *y = calloc(n + 1, sizeof(*y));
    for (size_t i = 0; y && i < n; i++)
        y[i] = json_number_value(json_array_get(all, i));
    if (y && n > 0)
        strait_sort(y, n);
    json_t *median = json_real(y && n > 0 ? (y[(n - 1) / 2] + y[n / 2]) / 2 : 0);
    json_t *low = json_incref(json_object_get(cell, "low")),
           *high = json_incref(json_object_get(cell, "high"));
    if (y && n > 1) {
        count->n_repeats = n > count->n_repeats ? n : count->n_repeats;
        json_decref(low);
        json_decref(high);
        low = json_real(y[0]);
        high = json_real(y[n - 1]);
    }
    free(y);
    if (json_is_number(by)) {
        json_decref(low);
        json_decref(high);
        return json_pack("[O, O, o, n]", json_object_get(cell, "x"), by, median);
    }
    return json_pack("[O, o, o, o]", json_object_get(cell, "x"), median, low, high);
}

static int by_x(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    const double one = json_number_value(json_array_get(*x, 0)),
                 other = json_number_value(json_array_get(*y, 0));
    return (one > other) - (one < other);
}

void strait_points_finish(json_t *line, struct strait_points_count *count)
{
    json_t *at = json_object_get(line, "at"), *cell, *points = json_array();
    const char *key;
    json_t **sorted = calloc(json_object_size(at) + 1, sizeof(json_t *));
    size_t n = 0;
    json_object_foreach (at, key, cell)
        if (sorted)
            sorted[n++] = point_of(cell, count);
    if (sorted)
        qsort(sorted, n, sizeof(json_t *), by_x);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(points, sorted[i]);
    free(sorted);
    json_object_set_new(line, "points", points);
    json_object_del(line, "at");
}

/* Whether no band of the panel is as wide as its points are drawn: 8 of 860 pixels from 0 on. Not
 * said of logarithmic axes. */
static bool is_narrow(const json_t *panel)
{
    double most = 0, widest = 0;
    size_t i, k;
    json_t *line, *point;
    json_array_foreach (json_object_get(panel, "lines"), i, line)
        json_array_foreach (json_object_get(line, "points"), k, point) {
            const json_t *low = json_array_get(point, 2), *high = json_array_get(point, 3);
            most = fmax(most, fabs(json_number_value(json_array_get(point, 1))));
            if (json_is_number(low) && json_is_number(high))
                widest = fmax(widest, json_number_value(high) - json_number_value(low));
        }
    return widest < most / 100 &&
           !json_is_true(json_object_get(json_object_get(panel, "y"), "log"));
}

bool strait_points_are_narrow(const json_t *panels)
{
    size_t i;
    json_t *panel;
    json_array_foreach (panels, i, panel)
        if (!is_narrow(panel))
            return false;
    return true;
}
