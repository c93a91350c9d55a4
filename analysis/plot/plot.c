/* The scaling curve: small multiples over the settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "plot.h"
#include "plot_script.h"

enum { MAX_PANELS = 25, MAX_DASHES = 5, MAX_CROSSINGS = 64 };
enum drawing { LINE, DOTS, BOTH };

struct scaling {
    const struct strait_grid *grid;
    const json_t *breakevens;
    enum strait_plot_y y;
    double lo, hi; /* of y */
};

/* The break-even record of a curve, or NULL. */
static const json_t *record_of(const struct scaling *p, size_t s, size_t c)
{
    size_t i;
    const json_t *found = NULL;
    json_t *record;
    json_array_foreach(
        p->breakevens, i,
        record) if (strcmp(strait_text_of(record, "setting"), p->grid->settings[s]) == 0 &&
                    strcmp(strait_text_of(record, "codec"), p->grid->codecs[c].label) == 0) found =
        record;
    return found;
}

static double y_of(const struct scaling *p, const struct strait_cell *cell)
{
    if (!cell->row)
        return NAN;
    return p->y == STRAIT_PLOT_SPEEDUP ? cell->speedup : cell->round_s;
}

static bool has_curve(const struct scaling *p, size_t s, size_t c)
{
    if (p->y == STRAIT_PLOT_SPEEDUP && p->grid->codecs[c].is_plain)
        return false; /* it is the line at 1 */
    for (size_t n = 0; n < p->grid->n_counts; n++)
        if (isfinite(y_of(p, strait_grid_cell(p->grid, s, c, n))))
            return true;
    return false;
}

static double curve_y(const struct scaling *p, const json_t *record, size_t i)
{
    const double with_s = json_number_value(json_array_get(json_object_get(record, "with_s"), i));
    const double without_s =
        json_number_value(json_array_get(json_object_get(record, "without_s"), i));
    return p->y == STRAIT_PLOT_SPEEDUP ? without_s / with_s : with_s;
}

/* The curve at every count that was looked at, or else at the swept ones. */
static void write_curve(FILE *out, const struct scaling *p, size_t s, size_t c)
{
    const struct strait_grid *g = p->grid;
    const json_t *record = record_of(p, s, c);
    const json_t *counts = json_object_get(record, "counts");
    fprintf(out, "$line_%zu_%zu << EOD\n", s, c);
    for (size_t i = 0; i < json_array_size(counts); i++)
        fprintf(out, "%lld %.9g\n", (long long)json_integer_value(json_array_get(counts, i)),
                curve_y(p, record, i));
    for (size_t n = 0; n < g->n_counts && json_array_size(counts) == 0; n++) {
        const double y = y_of(p, strait_grid_cell(g, s, c, n));
        if (isfinite(y))
            fprintf(out, "%ld %.9g\n", g->counts[n], y);
    }
    fprintf(out, "EOD\n$dots_%zu_%zu << EOD\n", s, c);
    for (size_t n = 0; n < g->n_counts; n++) {
        const double y = y_of(p, strait_grid_cell(g, s, c, n));
        if (isfinite(y))
            fprintf(out, "%ld %.9g\n", g->counts[n], y);
    }
    fputs("EOD\n", out);
}

/* Where a curve begins (rising) or ceases to pay: the first count on the other side. */
static size_t find_crossings(long *at, size_t cap, const struct scaling *p, size_t s, size_t c,
                             bool rising)
{
    const json_t *record = record_of(p, s, c);
    const json_t *counts = json_object_get(record, "counts");
    size_t n = 0;
    for (size_t i = 1; i < json_array_size(counts) && n < cap; i++) {
        const bool before = curve_y(p, record, i - 1) > 1, here = curve_y(p, record, i) > 1;
        if (before != here && here == rising)
            at[n++] = (long)json_integer_value(json_array_get(counts, i));
    }
    return n;
}

static int ascending(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* All crossings of a panel in one direction; those that lie close together share a label: "11-13".
 * The label stands where the curves come from, below 1 or above. */
static size_t write_crossings(FILE *out, char *plots, size_t cap, const struct scaling *p, size_t s,
                              bool rising)
{
    long at[MAX_CROSSINGS];
    size_t n = 0;
    for (size_t c = 0; c < p->grid->n_codecs && p->y == STRAIT_PLOT_SPEEDUP; c++)
        if (has_curve(p, s, c))
            n += find_crossings(at + n, MAX_CROSSINGS - n, p, s, c, rising);
    if (n == 0)
        return 0;
    qsort(at, n, sizeof(*at), ascending);
    fprintf(out, "$cross_%zu_%d << EOD\n", s, rising);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%ld 1\n", at[i]);
    fprintf(out, "EOD\n$crosslabel_%zu_%d << EOD\n", s, rising);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && (double)at[j] < 1.25 * (double)at[j - 1]; j++)
            ;
        fprintf(out, "%.4g 1 ", sqrt((double)at[i] * (double)at[j - 1]));
        if (at[i] == at[j - 1])
            fprintf(out, "%ld\n", at[i]);
        else
            fprintf(out, "%ld–%ld\n", at[i], at[j - 1]);
    }
    fputs("EOD\n", out);
    return (size_t)snprintf(
        plots, cap,
        ", \\\n  $cross_%zu_%d with points pt 6 ps 2 lw 2 lc rgb '#000000' notitle"
        ", \\\n  $crosslabel_%zu_%d using 1:2:3 with labels boxed offset 0,%.1f font ',13' "
        "notitle",
        s, rising, s, rising, rising ? -1.2 : 1.2);
}

static void find_range(struct scaling *p)
{
    p->lo = INFINITY;
    p->hi = -INFINITY;
    for (size_t s = 0; s < p->grid->n_settings && s < MAX_PANELS; s++)
        for (size_t c = 0; c < p->grid->n_codecs; c++)
            for (size_t n = 0; n < p->grid->n_counts; n++) {
                const double y = y_of(p, strait_grid_cell(p->grid, s, c, n));
                if (isfinite(y) && y > 0) {
                    p->lo = fmin(p->lo, y);
                    p->hi = fmax(p->hi, y);
                }
            }
    if (p->y == STRAIT_PLOT_SPEEDUP) {
        p->lo = fmin(p->lo, 1);
        p->hi = fmax(p->hi, 1);
    }
}

static void write_axes(FILE *out, const struct scaling *p)
{
    const bool log_y = p->hi / p->lo > 3;
    const double room = log_y ? pow(p->hi / p->lo, 0.06) : 1 + 0.06 * (p->hi / p->lo - 1);
    fputs("set grid lc rgb '#e4e4e4' lt 1 lw 1\nset border lc rgb '#606060'\nunset key\n"
          "set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.4,0.4\n"
          "set logscale x 2\nset tics nomirror out\nset xtics (",
          out);
    const size_t step = (p->grid->n_counts + 7) / 8;
    for (size_t n = 0; n < p->grid->n_counts; n += step)
        fprintf(out, "%s%ld", n > 0 ? ", " : "", p->grid->counts[n]);
    const double first = (double)p->grid->counts[0],
                 last = (double)p->grid->counts[p->grid->n_counts - 1];
    fprintf(out, ")\nset xrange [%g:%g]\n", first / 1.09, last * 1.09);
    if (log_y) {
        fprintf(out, "set logscale y\nset yrange [%.6g:%.6g]\n", p->lo / room, p->hi * room);
        fputs("set ytics (", out);
        static const double digits[] = {1, 1.5, 2, 3, 5, 7};
        const char *comma = "";
        for (double decade = 1e-4; decade < 1e7; decade *= 10)
            for (size_t d = 0; d < sizeof(digits) / sizeof(*digits); d++) {
                const double tic = digits[d] * decade;
                if (tic < p->lo / room || tic > p->hi * room)
                    continue;
                if ((d > 0 && p->hi / p->lo > 300) || (d % 2 == 1 && p->hi / p->lo > 20))
                    continue;
                fprintf(out, "%s'%g' %.6g", comma, tic, tic);
                comma = ", ";
            }
        fputs(")\n", out);
    } else {
        fprintf(out, "set yrange [%.6g:%.6g]\n", p->y == STRAIT_PLOT_SPEEDUP ? p->lo / room : 0,
                p->hi * room);
    }
}

static void curve_style(char *buf, size_t cap, const struct strait_grid_codec *c,
                        enum drawing drawing)
{
    static const int points[MAX_DASHES] = {7, 5, 9, 11, 13};
    static const char *const dashes[MAX_DASHES] = {"1", "'-'", "'.'", "'_-'", "'-..'"};
    const size_t i = c->i_in_family % MAX_DASHES;
    const char *color = c->is_plain ? "#000000" : strait_plot_color(c->i_family - 1);
    if (drawing == DOTS)
        snprintf(buf, cap, "with points pt %d ps 1.2 lc rgb '%s'", points[i], color);
    else if (drawing == LINE)
        snprintf(buf, cap, "with lines lw 2.4 dt %s lc rgb '%s'", dashes[i], color);
    else
        snprintf(buf, cap, "with linespoints lw 2.4 dt %s pt %d ps 1.2 lc rgb '%s'", dashes[i],
                 points[i], color);
}

/* Whether any curve crosses 1 there. */
static bool write_panel(FILE *out, const struct scaling *p, size_t s,
                        const struct strait_plot_layout *l)
{
    const struct strait_grid *g = p->grid;
    char quoted[STRAIT_PLOT_QUOTED_CHARS], style[160];
    const int column = (int)s % l->n_columns;
    const bool last_row = (int)s + l->n_columns >= (int)g->n_settings;
    for (size_t c = 0; c < g->n_codecs; c++)
        if (has_curve(p, s, c))
            write_curve(out, p, s, c);
    strait_plot_place(out, l, (int)s);
    fprintf(out, "set title '%s' font ',14' offset 0,-0.4\n",
            strait_plot_quote(quoted, g->settings[s]));
    fprintf(out, "set xlabel '%s' offset 0,0.3\nset ylabel '%s' offset 0.6,0\n",
            last_row ? "clients" : "",
            column != 0                   ? ""
            : p->y == STRAIT_PLOT_SPEEDUP ? "speed-up over no compression"
                                          : "time of a round (s)");
    char plots[64 * 1024] = "";
    size_t used = 0;
    if (p->y == STRAIT_PLOT_SPEEDUP)
        used +=
            (size_t)snprintf(plots, sizeof(plots), "1 with lines lw 1.6 lc rgb '#000000' notitle");
    for (size_t c = 0; c < g->n_codecs && used + 1024 < sizeof(plots); c++) {
        if (!has_curve(p, s, c))
            continue;
        for (enum drawing d = LINE; d <= DOTS; d++) {
            curve_style(style, sizeof(style), &g->codecs[c], d);
            used += (size_t)snprintf(plots + used, sizeof(plots) - used, "%s$%s_%zu_%zu %s notitle",
                                     used > 0 ? ", \\\n  " : "", d == DOTS ? "dots" : "line", s, c,
                                     style);
        }
    }
    const size_t before = used;
    for (int rising = 0; rising < 2; rising++)
        used += write_crossings(out, plots + used, sizeof(plots) - used, p, s, rising);
    fprintf(out, "plot %s\nunset label 1\n", plots);
    return used > before;
}

/* An empty panel that holds nothing but the legend. */
static void write_legend(FILE *out, const struct scaling *p, double top, bool crossings)
{
    const struct strait_grid *g = p->grid;
    char quoted[STRAIT_PLOT_QUOTED_CHARS], style[160];
    fprintf(out,
            "set lmargin at screen 0.03\nset rmargin at screen 0.97\n"
            "set bmargin at screen 0.005\nset tmargin at screen %.3f\n"
            "unset border\nunset tics\nunset xlabel\nunset ylabel\nunset title\nunset logscale\n"
            "unset grid\nset xrange [0:1]\nset yrange [0:1]\n"
            "set key center center horizontal maxcols 4 Left reverse samplen 3 spacing 1.15\nplot ",
            top);
    if (p->y == STRAIT_PLOT_SPEEDUP)
        fputs("NaN with lines lw 1.6 lc rgb '#000000' title 'no compression'", out);
    bool first = p->y != STRAIT_PLOT_SPEEDUP;
    for (size_t c = 0; c < g->n_codecs; c++) {
        if (p->y == STRAIT_PLOT_SPEEDUP && g->codecs[c].is_plain)
            continue;
        curve_style(style, sizeof(style), &g->codecs[c], BOTH);
        fprintf(out, "%sNaN %s title '%s'", first ? "" : ", \\\n  ", style,
                strait_plot_quote(quoted,
                                  g->codecs[c].is_plain ? "no compression" : g->codecs[c].label));
        first = false;
    }
    if (crossings)
        fputs(", \\\n  NaN with points pt 6 ps 2.2 lw 2 lc rgb '#000000' title 'break-even "
              "(clients)'",
              out);
    fputs("\n", out);
}

static bool has_speedups(const struct strait_grid *g)
{
    for (size_t i = 0; i < g->n_settings * g->n_codecs * g->n_counts; i++)
        if (isfinite(g->cells[i].speedup) && g->codecs[i / g->n_counts % g->n_codecs].is_plain == 0)
            return true;
    return false;
}

int strait_plot_scaling(const char *path, const json_t *rows, const json_t *breakevens,
                        enum strait_plot_y y, const char *title, struct strait_error *err)
{
    struct strait_grid *grid;
    if (strait_grid_new(&grid, rows, err) != 0)
        return -1;
    struct scaling p = {.grid = grid, .breakevens = breakevens, .y = y};
    if (!has_speedups(grid))
        p.y = STRAIT_PLOT_TIME;
    const char *own_title = strait_text_of(json_array_get(rows, 0), "title");
    struct strait_plot_script script;
    bool crossings = false;
    if (strait_plot_script_begin(&script, path, title ? title : own_title, err) != 0) {
        strait_grid_free(grid);
        return -1;
    }
    const size_t n_panels = grid->n_settings < MAX_PANELS ? grid->n_settings : MAX_PANELS;
    const double legend = 0.05 + 0.032 * (double)((grid->n_codecs + 4) / 4);
    struct strait_plot_layout l = {.left = 0.06,
                                   .right = 0.985,
                                   .bottom = legend + 0.055,
                                   .top = 0.9,
                                   .gap_x = 0.035,
                                   .gap_y = 0.105};
    strait_plot_arrange(&l, (int)n_panels);
    find_range(&p);
    write_axes(script.out, &p);
    for (size_t s = 0; s < n_panels; s++)
        crossings = write_panel(script.out, &p, s, &l) || crossings;
    write_legend(script.out, &p, legend - 0.01, crossings);
    strait_grid_free(grid);
    return strait_plot_script_run(&script, path, err);
}
