/* Panels of cells: stacked phases, and heat maps of two settings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/breakdown.h"
#include "analysis/fields.h"
#include "analysis/table.h"
#include "sheet.h"

/* Phases in their own colours, those of other plots; what is none of them is grey. */
static const char *phase_color(const char *name)
{
    for (int phase = 0; phase < STRAIT_PHASE_OTHER; phase++)
        if (strcmp(strait_phase_name((enum strait_phase)phase), name) == 0)
            return strait_plot_color((size_t)phase);
    return "#a0a0a0";
}

static const json_t *lines_at(const struct strait_sheet *s, size_t i)
{
    return json_object_get(json_array_get(json_object_get(s->figure, "panels"), i), "lines");
}

static size_t n_names(const struct strait_sheet *s, const char *axis)
{
    return json_array_size(json_object_get(json_object_get(s->figure, axis), "names"));
}

/* --- phases ------------------------------------------------------------------------------- */

/* The seconds of line k's stack below the category x. */
static double below(const json_t *lines, size_t k, double x)
{
    double sum = 0;
    for (size_t j = 0; j < k; j++) {
        size_t i;
        json_t *point;
        json_array_foreach (json_object_get(json_array_get(lines, j), "points"), i, point)
            if (json_number_value(json_array_get(point, 0)) == x)
                sum += json_number_value(json_array_get(point, 1));
    }
    return sum;
}

static double highest_stack(const struct strait_sheet *s)
{
    double highest = 0;
    for (size_t p = 0; p < strait_sheet_n_panels(s->figure); p++)
        for (size_t x = 0; x < n_names(s, "x"); x++)
            highest =
                fmax(highest, below(lines_at(s, p), json_array_size(lines_at(s, p)), (double)x));
    return highest;
}

void strait_sheet_phases(struct strait_sheet *s, size_t i)
{
    FILE *out = s->script.out;
    const json_t *lines = lines_at(s, i);
    size_t k, j;
    json_t *line, *point;
    const double highest = highest_stack(s);
    const struct strait_sheet_range x = {-0.5, (double)n_names(s, "x") - 0.5, false},
                                    y = {0, highest > 0 ? 1.06 * highest : 1, false};
    const json_t *panel = json_array_get(json_object_get(s->figure, "panels"), i);
    strait_sheet_panel(s, i, &x, &y, strait_text_of(json_object_get(panel, "y"), "label"));
    json_array_foreach (lines, k, line) {
        fprintf(out, "$d_%zu_%zu << EOD\n", i, k);
        json_array_foreach (json_object_get(line, "points"), j, point) {
            const double at = json_number_value(json_array_get(point, 0)),
                         low = below(lines, k, at);
            fprintf(out, "%.9g %.9g %.9g\n", at, low,
                    low + json_number_value(json_array_get(point, 1)));
        }
        fputs("EOD\n", out);
    }
    fputs("plot ", out);
    json_array_foreach (lines, k, line)
        fprintf(out,
                "%s$d_%zu_%zu using 1:2:($1-0.36):($1+0.36):2:3 with boxxyerror fs solid 1 "
                "noborder lc rgb '%s' notitle",
                k > 0 ? ", \\\n  " : "", i, k, phase_color(strait_text_of(line, "label")));
    fputs("\n", out);
}

void strait_sheet_phase_legend(struct strait_sheet *s)
{
    FILE *out = s->script.out;
    fputs("unset label 3\nunset label 4\n", out);
    strait_plot_legend(out, s->legend_pt / (strait_sheet_height_pt(s)), STRAIT_N_PHASES);
    fprintf(out, " samplen 1 font ',%.4g'\nplot ", s->small_pt);
    for (int phase = 0; phase < STRAIT_N_PHASES; phase++)
        fprintf(out, "%sNaN with boxes fs solid 1 noborder lc rgb '%s' title '%s'",
                phase > 0 ? ", \\\n  " : "",
                phase_color(strait_phase_name((enum strait_phase)phase)),
                strait_phase_name((enum strait_phase)phase));
    fputs("\n", out);
}

/* --- heat maps ---------------------------------------------------------------------------- */

struct scale {
    double low, high;
    bool log, diverges; /* diverges: from 1, both ways alike */
};

static struct scale scale_of(const struct strait_sheet *s, size_t i)
{
    const json_t *axis =
        json_object_get(json_array_get(json_object_get(s->figure, "panels"), i), "y");
    const bool diverges = strcmp(strait_text_of(axis, "pointer"), "/speedup") == 0;
    const bool log = diverges || json_is_true(json_object_get(axis, "log"));
    struct scale c = {INFINITY, -INFINITY, log, diverges};
    size_t k;
    json_t *point;
    for (size_t p = 0; p < strait_sheet_n_panels(s->figure); p++)
        json_array_foreach (json_object_get(json_array_get(lines_at(s, p), 0), "points"), k,
                            point) {
            const double value = json_number_value(json_array_get(point, 2));
            c.low = fmin(c.low, value);
            c.high = fmax(c.high, value);
        }
    if (diverges) {
        c.high = fmax(1.01, fmax(c.high, 1 / c.low));
        c.low = 1 / c.high;
    }
    if (!(c.high > c.low)) {
        c.high += fabs(c.high) > 0 ? 0.01 * fabs(c.high) : 1;
        c.low -= fabs(c.low) > 0 ? 0.01 * fabs(c.low) : 1;
    }
    return c;
}

static double value_at(const json_t *points, double x, double by)
{
    size_t i;
    json_t *point;
    json_array_foreach (points, i, point)
        if (json_number_value(json_array_get(point, 0)) == x &&
            json_number_value(json_array_get(point, 1)) == by)
            return json_number_value(json_array_get(point, 2));
    return NAN;
}

/* The edges between cells that pay and cells that do not. */
static void write_break_even(FILE *out, const struct strait_sheet *s, size_t panel,
                             const json_t *points)
{
    fprintf(out, "$edge_%zu << EOD\n", panel);
    for (size_t x = 0; x < n_names(s, "x"); x++)
        for (size_t by = 0; by < n_names(s, "by"); by++) {
            const double cx = (double)x, cy = (double)by, here = value_at(points, cx, cy);
            const double right = value_at(points, cx + 1, cy), up = value_at(points, cx, cy + 1);
            if ((here - 1) * (right - 1) < 0)
                fprintf(out, "%g %g\n%g %g\n\n", cx + 0.5, cy - 0.5, cx + 0.5, cy + 0.5);
            if ((here - 1) * (up - 1) < 0)
                fprintf(out, "%g %g\n%g %g\n\n", cx - 0.5, cy + 0.5, cx + 0.5, cy + 0.5);
        }
    fputs("NaN NaN\nEOD\n", out);
}

static void put_color_bar(struct strait_sheet *s, const struct scale *c, const char *label)
{
    FILE *out = s->script.out;
    const double h = strait_sheet_height_pt(s), font = s->page.font_pt;
    double at[STRAIT_SHEET_MAX_TICS];
    const struct strait_sheet_range range = {c->low, c->high, c->log};
    const size_t n = c->log ? strait_sheet_log_tics(at, &range) : 0;
    fprintf(out,
            "set colorbox horizontal user origin screen 0.25,%.4f size screen 0.5,%.4f\n"
            "%s logscale cb\nset cbrange [%.9g:%.9g]\nset label 5 ",
            2.3 * font / h, 0.6 * font / h, c->log ? "set" : "unset", c->low, c->high);
    strait_plot_put_text(out, label, 0);
    fprintf(out, " at screen 0.5,%.4f center font ',%.4g'\nset cbtics font ',%.4g' ",
            3.7 * font / h, s->small_pt, s->small_pt);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s'%.6g' %.9g%s", i > 0 ? ", " : "(", at[i], at[i], i + 1 == n ? ")" : "");
    fputs(n > 0 ? "\n" : "autofreq\n", out);
    if (c->diverges) /* orange: slower, blue: faster, told apart by colour-blind readers */
        fputs("set palette defined (0 '#d55e00', 1 '#ffffff', 2 '#0072b2')\n", out);
    else
        fputs("set palette defined (0 '#f7fbff', 1 '#6baed6', 2 '#08306b')\n", out);
}

void strait_sheet_heat(struct strait_sheet *s, size_t i)
{
    FILE *out = s->script.out;
    const json_t *panel = json_array_get(json_object_get(s->figure, "panels"), i);
    const json_t *points = json_object_get(json_array_get(lines_at(s, i), 0), "points");
    const double nx = (double)n_names(s, "x"), ny = (double)n_names(s, "by");
    const struct strait_sheet_range x = {-0.5, nx - 0.5, false}, y = {-0.5, ny - 0.5, false};
    const struct scale c = scale_of(s, i);
    const bool texts = s->panel_width_pt / nx > 4.5 * STRAIT_SHEET_LETTER * s->small_pt &&
                       s->panel_height_pt / ny > 1.3 * s->small_pt;
    size_t k;
    json_t *point;
    strait_sheet_panel(s, i, &x, &y, strait_text_of(json_object_get(s->figure, "by"), "label"));
    fputs(i == 0 ? "unset grid\n" : "unset colorbox\nunset label 5\n", out);
    if (i == 0)
        put_color_bar(s, &c, strait_text_of(json_object_get(panel, "y"), "label"));
    fprintf(out, "$d_%zu << EOD\n", i);
    json_array_foreach (points, k, point) {
        const double value = json_number_value(json_array_get(point, 2));
        const double place =
            c.log ? log(value / c.low) / log(c.high / c.low) : (value - c.low) / (c.high - c.low);
        const bool dark = c.diverges ? fabs(place - 0.5) > 0.38 : place > 0.6;
        char text[STRAIT_NUMBER_CHARS];
        fprintf(out, "%.9g %.9g %.9g %s %d\n", json_number_value(json_array_get(point, 0)),
                json_number_value(json_array_get(point, 1)), value,
                strait_format_number(text, value, 3), dark ? 0xffffff : 0x000000);
    }
    fputs("EOD\n", out);
    write_break_even(out, s, i, points);
    fprintf(out,
            "plot $d_%zu using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror fs solid "
            "1 noborder lc palette notitle",
            i);
    if (texts)
        fprintf(out,
                ", \\\n  $d_%zu using 1:2:4:5 with labels font ',%.4g' tc rgb variable notitle", i,
                s->small_pt);
    if (c.diverges)
        fprintf(out, ", \\\n  $edge_%zu using 1:2 with lines lw 3.5 lc rgb '#000000' notitle", i);
    fputs("\n", out);
}
