/* Ranges, tics and names of axes. All lengths in points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/heap.h"
#include "analysis/fields.h"
#include "analysis/table.h"
#include "sheet.h"

enum { MAX_TICS = STRAIT_SHEET_MAX_TICS, MAX_OWN_TICS = 16 };

/* --- ranges ------------------------------------------------------------------------------- */

double strait_sheet_place(const struct strait_sheet_range *r, double value)
{
    return r->log ? log(value / r->low) / log(r->high / r->low)
                  : (value - r->low) / (r->high - r->low);
}

struct strait_sheet_range strait_sheet_range_of(const json_t *figure, size_t panel, bool all,
                                                size_t from, size_t to, bool is_log)
{
    const json_t *panels = json_object_get(figure, "panels");
    const char *label =
        strait_text_of(json_object_get(json_array_get(panels, panel), "y"), "label");
    double low = INFINITY, high = -INFINITY;
    size_t k, l;
    json_t *other, *line, *point;
    for (size_t p = 0; p < json_array_size(panels); p++) {
        other = json_array_get(panels, p);
        if (p != panel &&
            !(all && strcmp(label, strait_text_of(json_object_get(other, "y"), "label")) == 0))
            continue;
        json_array_foreach (json_object_get(other, "lines"), k, line)
            json_array_foreach (json_object_get(line, "points"), l, point)
                for (size_t column = from; column <= to; column++) {
                    const json_t *value = json_array_get(point, column);
                    const double at = json_number_value(value);
                    if (!json_is_number(value) || (is_log && !(at > 0)))
                        continue;
                    low = fmin(low, at);
                    high = fmax(high, at);
                }
    }
    if (!(low <= high))
        low = high = 1;
    if (is_log) {
        const double room = high > low ? pow(high / low, 0.06) : 1.3;
        return (struct strait_sheet_range){low / room, high * room, true};
    }
    if (from > 0 && low > 0 && low < 0.7 * high)
        low = 0; /* what is not far above 0 begins there */
    const double room = high > low ? 0.06 * (high - low) : fmax(0.1 * fabs(high), 1e-9);
    return (struct strait_sheet_range){from > 0 && low >= 0 && low < room ? 0 : low - room,
                                       high + room, false};
}

/* --- tics --------------------------------------------------------------------------------- */

/* Tics that do not touch, of those that are wanted, in ascending order. */
static void put_tics(FILE *out, char axis, const double *at, size_t n,
                     const struct strait_sheet_range *range, double length_pt, double font_pt)
{
    double end_pt = -INFINITY;
    const char *comma = "";
    fprintf(out, "set %ctics (", axis);
    for (size_t i = 0; i < n; i++) {
        char text[STRAIT_NUMBER_CHARS];
        snprintf(text, sizeof(text), "%.6g", at[i]);
        const double place = strait_sheet_place(range, at[i]) * length_pt;
        const double half = axis == 'x'
                                ? 0.55 * STRAIT_SHEET_LETTER * font_pt * (double)strlen(text)
                                : 0.7 * font_pt;
        if (!(place >= -0.01) || place > length_pt + 0.01 || place - half < end_pt)
            continue;
        fprintf(out, "%s'%s' %.9g", comma, text, at[i]);
        comma = ", ";
        end_pt = place + half + (axis == 'x' ? STRAIT_SHEET_LETTER * font_pt : 0);
    }
    fputs(")\n", out);
}

size_t strait_sheet_log_tics(double *at, const struct strait_sheet_range *r)
{
    static const struct {
        double digits[8];
        size_t n;
    } few = {{1}, 1}, some = {{1, 2, 5}, 3}, many = {{1, 1.5, 2, 3, 4, 5, 6, 8}, 8};
    const double decades = log10(r->high / r->low);
    const size_t n_digits = decades > 4 ? few.n : decades > 1.2 ? some.n : many.n;
    const double *digits = decades > 4 ? few.digits : decades > 1.2 ? some.digits : many.digits;
    size_t n = 0;
    for (int decade = (int)floor(log10(r->low)); decade <= (int)ceil(log10(r->high)); decade++)
        for (size_t d = 0; d < n_digits && n < MAX_TICS; d++) {
            const double tic = digits[d] * pow(10, decade);
            if (tic >= r->low && tic <= r->high)
                at[n++] = tic;
        }
    return n;
}

/* The values that occur in a panel, where they are few. */
static size_t own_tics(double *at, const json_t *figure, size_t panel)
{
    size_t n = 0, i, k;
    json_t *line, *point;
    json_array_foreach (strait_sheet_lines_of(figure, panel), i, line)
        json_array_foreach (json_object_get(line, "points"), k, point) {
            const double x = json_number_value(json_array_get(point, 0));
            size_t j = 0;
            while (j < n && at[j] != x)
                j++;
            if (j < n)
                continue;
            if (n == MAX_OWN_TICS)
                return 0;
            at[n++] = x;
        }
    strait_sort(at, n);
    return n;
}

/* Panels in one row have the same names upward: the first one shows them. */
static void put_names(const struct strait_sheet *s, FILE *out, char axis, const json_t *names,
                      bool shown)
{
    size_t i;
    json_t *name;
    if (axis == 'x' && strait_sheet_slant(s) > 0)
        fprintf(out, "set xtics rotate by %d right (", strait_sheet_slant(s));
    else
        fprintf(out, "set %ctics norotate (", axis);
    json_array_foreach (names, i, name) {
        if (i > 0)
            fputs(", ", out);
        strait_plot_put_tic(out, shown ? json_string_value(name) : "",
                            axis == 'x' ? STRAIT_SHEET_NAME_LETTERS : 0);
        fprintf(out, " %zu", i);
    }
    fputs(")\n", out);
}

static void put_axis(struct strait_sheet *s, char axis, const json_t *names,
                     const struct strait_sheet_range *r, size_t panel)
{
    FILE *out = s->script.out;
    double at[MAX_TICS] = {0};
    const double length_pt = axis == 'x' ? s->panel_width_pt : s->panel_height_pt;
    fprintf(out, "%s logscale %c\nset %crange [%.9g:%.9g]\n", r->log ? "set" : "unset", axis, axis,
            r->low, r->high);
    size_t n = axis == 'x' ? own_tics(at, s->figure, panel) : 0;
    if (n == 0 && r->log)
        n = strait_sheet_log_tics(at, r);
    if (json_is_array(names))
        put_names(s, out, axis, names, axis == 'x' || panel % (size_t)s->layout.n_columns == 0);
    else if (n > 0)
        put_tics(out, axis, at, n, r, length_pt, s->small_pt);
    else
        fprintf(out, "set %ctics autofreq\nset format %c '%%g'\n", axis, axis);
    fprintf(out, "set %ctics font ',%.4g'\n", axis,
            axis == 'x' ? strait_sheet_name_font_pt(s) : s->small_pt);
}

/* The name of y beside its panel has two lines at most, in smaller letters rather than broken: a
 * third would lie on the tics. */
static double y_label_pt(const struct strait_sheet *s, const char *label)
{
    double font = s->page.font_pt;
    while (font > 0.5 * s->page.font_pt &&
           strait_plot_n_lines(label, strait_sheet_letters(1.25 * s->panel_height_pt, font)) > 2)
        font *= 0.95;
    return font;
}

/* Names of the axes, at places that depend on nothing but the page; once for equal neighbours. */
static void put_labels(struct strait_sheet *s, size_t i, const char *y_label)
{
    FILE *out = s->script.out;
    const struct strait_plot_layout *l = &s->layout;
    const size_t columns = (size_t)l->n_columns, column = i % columns, row = i / columns;
    const double w = strait_sheet_width_pt(s), h = strait_sheet_height_pt(s),
                 font = s->page.font_pt;
    const double left =
        w * (l->left + (double)column * l->gap_x) + (double)column * s->panel_width_pt;
    const double bottom =
        h * l->top - (double)(row + 1) * s->panel_height_pt - (double)row * h * l->gap_y;
    const json_t *panels = json_object_get(s->figure, "panels");
    const char *before =
        strait_text_of(json_object_get(json_array_get(panels, i - (column > 0)), "y"), "label");
    const char *own = strait_text_of(json_object_get(json_array_get(panels, i), "y"), "label");
    fputs("unset label 3\nunset label 4\n", out);
    if (i + columns >= strait_sheet_n_panels(s->figure)) {
        fputs("set label 3 ", out);
        strait_plot_put_text(out, strait_text_of(json_object_get(s->figure, "x"), "label"), 0);
        fprintf(out, " at screen %.4f,%.4f center font ',%.4g'\n",
                (left + s->panel_width_pt / 2) / w,
                (bottom - strait_sheet_names_pt(s) - 3 * font) / h, font);
    }
    if (column == 0 || strcmp(before, own) != 0) {
        const double y_pt = y_label_pt(s, y_label);
        fputs("set label 4 ", out);
        strait_plot_put_text(out, y_label, strait_sheet_letters(1.25 * s->panel_height_pt, y_pt));
        fprintf(out, " at screen %.4f,%.4f center rotate by 90 font ',%.4g'\n",
                (left - w * l->left + font) / w, (bottom + s->panel_height_pt / 2) / h, y_pt);
    }
}

void strait_sheet_panel(struct strait_sheet *s, size_t i, const struct strait_sheet_range *x,
                        const struct strait_sheet_range *y, const char *y_label)
{
    FILE *out = s->script.out;
    const json_t *panel = json_array_get(json_object_get(s->figure, "panels"), i);
    const json_t *x_axis = json_object_get(s->figure, "x"), *by = json_object_get(s->figure, "by");
    const char *title = strait_text_of(panel, "title");
    strait_plot_place(out, &s->layout, (int)i);
    fputs(*title ? "set title " : "unset title\n", out);
    if (*title) {
        strait_plot_put_text(out, title, strait_sheet_letters(s->panel_width_pt, s->small_pt));
        fprintf(out, " font ',%.4g' offset 0,-0.5\n", s->small_pt);
    }
    put_axis(s, 'x', json_object_get(x_axis, "names"), x, i);
    put_axis(s, 'y', json_object_get(by, "names"), y, i);
    put_labels(s, i, y_label);
}
