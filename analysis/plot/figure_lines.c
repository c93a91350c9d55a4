/* Panels of lines and of residuals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"
#include "plot_styles.h"
#include "sheet.h"

enum { MAX_LABELS = 16 };

static const json_t *panel_at(const struct strait_sheet *s, size_t i)
{
    return json_array_get(json_object_get(s->figure, "panels"), i);
}

static bool is_residuals(const struct strait_sheet *s)
{
    return strcmp(strait_text_of(s->figure, "kind"), "residuals") == 0;
}

static bool has_names(const struct strait_sheet *s) /* categories, between which nothing lies */
{
    return json_is_array(json_object_get(json_object_get(s->figure, "x"), "names"));
}

/* A label looks the same in all panels: colour and point by its place among all labels, no pair
 * twice for 35 of them; without compression black. */
static struct strait_plot_style style_of(const struct strait_sheet *s, const char *label)
{
    const double size = 1.2 * s->page.stroke;
    json_t *seen = json_object(), *line;
    size_t k;
    if (strcmp(label, "no compression") == 0) {
        json_decref(seen);
        return (struct strait_plot_style){"#000000", 0, 0, size, 0};
    }
    for (size_t p = 0; p < strait_sheet_n_panels(s->figure); p++)
        json_array_foreach (json_object_get(panel_at(s, p), "lines"), k, line)
            if (strcmp(strait_text_of(line, "label"), "no compression") != 0 &&
                !json_object_get(seen, strait_text_of(line, "label")))
                json_object_set_new(seen, strait_text_of(line, "label"),
                                    json_integer((json_int_t)json_object_size(seen)));
    const size_t i = (size_t)json_integer_value(json_object_get(seen, label));
    json_decref(seen);
    return (struct strait_plot_style){strait_plot_color(i), i / 7 % 5, i % 5, size, 0};
}

static void put_number(FILE *out, const json_t *value)
{
    if (json_is_number(value))
        fprintf(out, " %.9g", json_number_value(value));
    else
        fputs(" NaN", out);
}

static bool write_data(FILE *out, size_t panel, size_t i, const json_t *line)
{
    size_t k, column;
    json_t *point, *value;
    bool spread = false;
    fprintf(out, "$d_%zu_%zu << EOD\n", panel, i);
    json_array_foreach (json_object_get(line, "points"), k, point) {
        json_array_foreach (point, column, value)
            put_number(out, value);
        fputs("\n", out);
        spread |= json_is_number(json_array_get(point, 2));
    }
    fputs("EOD\n", out);
    return spread;
}

/* The column of x. Lines of categories stand beside each other, not on each other. */
static void put_x(FILE *plots, const struct strait_sheet *s, size_t panel, size_t i)
{
    const double n = (double)json_array_size(json_object_get(panel_at(s, panel), "lines"));
    if (has_names(s) && n > 1)
        fprintf(plots, "$d_%zu_%zu using ($1%+.3g)", panel, i,
                ((double)i - (n - 1) / 2) * fmin(0.1, 0.6 / n));
    else
        fprintf(plots, "$d_%zu_%zu using 1", panel, i);
}

/* A shade between the ends of what is known; categories have bars. */
static void put_spread(FILE *plots, const struct strait_sheet *s, size_t panel, size_t i,
                       const struct strait_plot_style *style, const json_t *line)
{
    const bool bars =
        is_residuals(s) || json_array_size(json_object_get(line, "points")) < 2 || has_names(s);
    put_x(plots, s, panel, i);
    if (bars)
        fprintf(plots, ":2:3:4 with yerrorbars pt -1 lw 1.4 lc rgb '%s' notitle, \\\n  ",
                style->color);
    else
        fprintf(plots,
                ":3:4 with filledcurves fs transparent solid 0.16 noborder lc rgb '%s' notitle, "
                "\\\n  ",
                style->color);
}

/* Labels at the ends of lines, moved apart where they would touch. */
static void put_direct(struct strait_sheet *s, size_t panel, const struct strait_sheet_range *y)
{
    const json_t *lines = json_object_get(panel_at(s, panel), "lines");
    const size_t n = json_array_size(lines) < MAX_LABELS ? json_array_size(lines) : MAX_LABELS;
    const double gap = 1.25 * s->small_pt / s->panel_height_pt;
    size_t order[MAX_LABELS] = {0};
    double at[MAX_LABELS];
    for (size_t i = 0; i < n; i++) {
        const json_t *points = json_object_get(json_array_get(lines, i), "points");
        const json_t *last = json_array_get(points, json_array_size(points) - 1);
        at[i] = strait_sheet_place(y, json_number_value(json_array_get(last, 1)));
        size_t k = i;
        for (; k > 0 && at[order[k - 1]] > at[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (size_t i = 1; i < n; i++)
        at[order[i]] = fmax(at[order[i]], at[order[i - 1]] + gap);
    double limit = 1;
    for (size_t i = n; i-- > 0; limit = at[order[i]] - gap)
        at[order[i]] = fmin(at[order[i]], limit);
    for (size_t i = 0; i < n; i++) {
        const char *label = strait_text_of(json_array_get(lines, i), "label");
        const struct strait_plot_style style = style_of(s, label);
        fprintf(s->script.out, "set label %zu ", 10 + i);
        strait_plot_put_text(s->script.out, label, 0);
        fprintf(s->script.out,
                " at graph 1,%.4f left offset character 1,0 tc rgb '%s' font ',%.4g'\n", at[i],
                style.color, s->small_pt);
    }
}

/* Lines at what the eye holds the others against. */
static const char *references(const struct strait_sheet *s, const json_t *panel)
{
    const char *pointer = strait_text_of(json_object_get(panel, "y"), "pointer");
    if (is_residuals(s)) /* and the tolerance that strait compare has where none is given */
        return "0 with lines lw 1.4 lc rgb '#000000' notitle, \\\n  "
               "10 with lines lw 1 dt '-' lc rgb '#808080' notitle, \\\n  "
               "-10 with lines lw 1 dt '-' lc rgb '#808080' notitle, \\\n  ";
    return strcmp(pointer, "/speedup") == 0 ? "1 with lines lw 1.4 lc rgb '#000000' notitle, \\\n  "
                                            : "";
}

static struct strait_sheet_range x_range(const struct strait_sheet *s, size_t panel)
{
    const json_t *axis = json_object_get(s->figure, "x");
    const size_t n = json_array_size(json_object_get(axis, "names"));
    if (n > 0)
        return (struct strait_sheet_range){-0.5, (double)n - 0.5, false};
    return strait_sheet_range_of(s->figure, panel, true, 0, 0,
                                 json_is_true(json_object_get(axis, "log")));
}

static void hold(struct strait_sheet_range *r, double value)
{
    if (r->log ? value > 0 : isfinite(value)) {
        r->low = fmin(r->low, r->log ? value / 1.1 : value);
        r->high = fmax(r->high, r->log ? value * 1.1 : value);
    }
}

void strait_sheet_lines(struct strait_sheet *s, size_t i)
{
    const json_t *panel = panel_at(s, i), *y_axis = json_object_get(panel, "y"), *line;
    FILE *out = s->script.out;
    char *text = NULL;
    size_t len_bytes, k;
    FILE *plots = open_memstream(&text, &len_bytes);
    const struct strait_sheet_range x = x_range(s, i);
    struct strait_sheet_range y = strait_sheet_range_of(
        s->figure, i, true, 1, 3, json_is_true(json_object_get(y_axis, "log")));
    if (is_residuals(s)) {
        hold(&y, 12);
        hold(&y, -12);
    }
    if (*references(s, panel) && !is_residuals(s))
        hold(&y, 1);
    strait_sheet_panel(s, i, &x, &y, strait_text_of(y_axis, "label"));
    if (!plots)
        return;
    fputs(references(s, panel), plots);
    json_array_foreach (json_object_get(panel, "lines"), k, line) {
        const struct strait_plot_style style = style_of(s, strait_text_of(line, "label"));
        if (write_data(out, i, k, line))
            put_spread(plots, s, i, k, &style, line);
    }
    json_array_foreach (json_object_get(panel, "lines"), k, line) {
        const struct strait_plot_style style = style_of(s, strait_text_of(line, "label"));
        const bool dense = json_array_size(json_object_get(line, "points")) > 40;
        fputs(k > 0 ? ", \\\n  " : "", plots);
        put_x(plots, s, i, k);
        fputs(":2 ", plots);
        strait_plot_put_style(plots, &style,
                              is_residuals(s) || has_names(s) ? STRAIT_PLOT_DOTS
                              : dense                         ? STRAIT_PLOT_LINE
                                                              : STRAIT_PLOT_BOTH);
        fputs(" notitle", plots);
    }
    if (s->direct)
        put_direct(s, i, &y);
    fclose(plots);
    fprintf(out, "plot %s\n", text && *text ? text : "NaN notitle");
    for (k = 0; k < MAX_LABELS && s->direct; k++)
        fprintf(out, "unset label %zu\n", 10 + k);
    free(text);
}

void strait_sheet_line_legend(struct strait_sheet *s)
{
    FILE *out = s->script.out;
    json_t *seen = json_object(), *line;
    size_t k;
    const char *comma = "";
    double longest = 0;
    char *text = NULL;
    size_t len_bytes;
    FILE *plots = open_memstream(&text, &len_bytes);
    for (size_t p = 0; plots && p < strait_sheet_n_panels(s->figure); p++)
        json_array_foreach (json_object_get(panel_at(s, p), "lines"), k, line) {
            const char *label = strait_text_of(line, "label");
            const struct strait_plot_style style = style_of(s, label);
            if (json_object_get(seen, label))
                continue;
            json_object_set_new(seen, label, json_true());
            longest = fmax(longest, strait_sheet_text_pt(s, label));
            fprintf(plots, "%sNaN ", comma);
            strait_plot_put_style(plots, &style,
                                  is_residuals(s) || has_names(s) ? STRAIT_PLOT_DOTS
                                                                  : STRAIT_PLOT_BOTH);
            fputs(" title ", plots);
            strait_plot_put_text(plots, label, 0);
            comma = ", \\\n  ";
        }
    const double fit = 0.94 * strait_sheet_width_pt(s) / (longest + 5 * s->small_pt);
    if (plots && fclose(plots) == 0 && json_object_size(seen) > 1) {
        fputs("unset label 3\nunset label 4\n", out);
        strait_plot_legend(out, s->legend_pt / (strait_sheet_height_pt(s)),
                           fit < 1 ? 1 : (size_t)fit);
        fprintf(out, " samplen 2 font ',%.4g'\nplot %s\n", s->small_pt, text);
    }
    free(text);
    json_decref(seen);
}
