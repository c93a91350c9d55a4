/* The scaling curve: small multiples over the settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "core/names.h"
#include "plot.h"
#include "plot_script.h"
#include "plot_styles.h"
#include "scaling.h"

enum { MAX_PANELS = 25, MAX_CROSSINGS = 64, SUBTITLE_CHARS = 4096 };

/* A point that is missing is a gap: the empty line ends a line. */
static void write_curve(FILE *out, const struct strait_scaling *p, size_t s, size_t c)
{
    const struct strait_grid *g = p->grid;
    struct strait_scaling_dot *dots;
    const size_t n = strait_scaling_curve(&dots, p, s, c);
    fprintf(out, "$line_%zu_%zu << EOD\n", s, c);
    for (size_t i = 0; i < n; i++)
        if (isfinite(dots[i].y))
            fprintf(out, "%ld %.9g\n", dots[i].count, dots[i].y);
        else
            fputs("\n", out);
    free(dots);
    fprintf(out, "EOD\n$dots_%zu_%zu << EOD\n", s, c);
    for (size_t i = 0; i < g->n_counts; i++) {
        const double y = strait_scaling_y(p, strait_grid_cell(g, s, c, i));
        if (isfinite(y))
            fprintf(out, "%ld %.9g\n", g->counts[i], y);
    }
    fputs("EOD\n", out);
}

static int ascending(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* All crossings of a panel in one direction; those that lie close together share a label: "11-13".
 * The label stands where the curves come from, below 1 or above. */
static bool write_crossings(FILE *out, FILE *plots, const struct strait_scaling *p, size_t s,
                            bool rising)
{
    long at[MAX_CROSSINGS];
    size_t n = 0;
    for (size_t c = 0; c < p->grid->n_codecs && p->y == STRAIT_PLOT_SPEEDUP; c++)
        if (strait_scaling_has_curve(p, s, c))
            n += strait_scaling_crossings(at + n, MAX_CROSSINGS - n, p, s, c, rising);
    if (n == 0)
        return false;
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
    fprintf(plots,
            ", \\\n  $cross_%zu_%d with points pt 6 ps 2 lw 2 lc rgb '#000000' notitle"
            ", \\\n  $crosslabel_%zu_%d using 1:2:3 with labels boxed offset 0,%.1f font ',13' "
            "notitle",
            s, rising, s, rising, rising ? -1.2 : 1.2);
    return true;
}

/* Returns: whether there is one. */
static bool write_band(FILE *out, const struct strait_scaling *p, size_t s, size_t c)
{
    bool any = false;
    for (size_t i = 0; i < p->grid->n_counts; i++) {
        double ends[2];
        if (!strait_scaling_band(ends, p, s, c, i))
            continue;
        if (!any)
            fprintf(out, "$band_%zu_%zu << EOD\n", s, c);
        fprintf(out, "%ld %.9g %.9g\n", p->grid->counts[i], ends[0], ends[1]);
        any = true;
    }
    if (any)
        fputs("EOD\n", out);
    return any;
}

static void write_axes(FILE *out, const struct strait_scaling *p)
{
    const bool log_y = p->hi / p->lo > 3;
    /* at least 1 %: a value that lies on the edge itself may be cut off */
    const double apart = p->hi / p->lo;
    const double room = log_y ? pow(apart, 0.06) : 1 + fmax(0.06 * (apart - 1), 0.01);
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

/* What a panel draws, behind the data that it draws; *crossings: there are any. */
static char *panel_plots(bool *crossings, FILE *out, const struct strait_scaling *p, size_t s)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *plots = open_memstream(&text, &len_bytes);
    const char *comma = "";
    if (!plots)
        return NULL;
    if (p->y == STRAIT_PLOT_SPEEDUP) {
        fputs("1 with lines lw 1.6 lc rgb '#000000' notitle", plots);
        comma = ", \\\n  ";
    }
    for (size_t c = 0; c < p->grid->n_codecs; c++) {
        if (!strait_scaling_has_curve(p, s, c))
            continue;
        write_curve(out, p, s, c);
        if (write_band(out, p, s, c)) {
            fprintf(plots,
                    "%s$band_%zu_%zu using 1:2:3 with filledcurves fs transparent solid 0.16 "
                    "noborder lc rgb '%s' notitle",
                    comma, s, c, p->styles[c].color);
            comma = ", \\\n  ";
        }
        for (enum strait_plot_drawing d = STRAIT_PLOT_LINE; d <= STRAIT_PLOT_DOTS; d++) {
            fprintf(plots, "%s$%s_%zu_%zu ", comma, d == STRAIT_PLOT_DOTS ? "dots" : "line", s, c);
            strait_plot_put_style(plots, &p->styles[c], d);
            fputs(" notitle", plots);
            comma = ", \\\n  ";
        }
    }
    for (int rising = 0; rising < 2; rising++)
        *crossings = write_crossings(out, plots, p, s, rising) || *crossings;
    if (fclose(plots) == 0)
        return text;
    free(text);
    return NULL;
}

/* Letters of a panel's title in one line. */
static size_t title_wrap(const struct strait_plot_layout *l)
{
    return (size_t)(150 / l->n_columns);
}

static void write_panel(struct strait_plot_script *script, const struct strait_scaling *p, size_t s,
                        const struct strait_plot_layout *l, bool *crossings)
{
    FILE *out = script->out;
    const char *title = p->grid->settings[s].label;
    const bool last_row = (int)s + l->n_columns >= (int)p->n_panels;
    const size_t wrap = title_wrap(l);
    char *plots = panel_plots(crossings, out, p, s);
    strait_plot_place(out, l, (int)s);
    fputs("set title ", out);
    if (strait_plot_n_lines(title, wrap) > 2) /* smaller letters */
        strait_plot_put_text(out, title, wrap * 12 / 10);
    else
        strait_plot_put_text(out, title, wrap);
    fprintf(out, " font ',%d' offset 0,-0.4\n", strait_plot_n_lines(title, wrap) > 2 ? 10 : 14);
    fprintf(out, "set xlabel '%s' offset 0,0.3\nset ylabel '%s' offset 0.6,0\n",
            last_row ? "clients" : "",
            (int)s % l->n_columns != 0    ? ""
            : p->y == STRAIT_PLOT_SPEEDUP ? "speed-up over no compression"
                                          : "time of a round (s)");
    fprintf(out, "plot %s\n", plots && *plots ? plots : "NaN notitle");
    strait_plot_script_titled(script);
    free(plots);
}

/* --- the legend --------------------------------------------------------------------------- */

struct legend {
    size_t n_columns, n_rows;
    int font;
    double height; /* of the picture */
};

static struct legend legend_of(const struct strait_scaling *p)
{
    size_t longest = 20; /* "break-even (clients)" */
    for (size_t c = 0; c < p->grid->n_codecs; c++)
        longest =
            strlen(p->grid->codecs[c].label) > longest ? strlen(p->grid->codecs[c].label) : longest;
    struct legend l = {.n_columns = 1504 / (9 * longest + 90), .font = 13};
    l.n_columns = l.n_columns < 1 ? 1 : l.n_columns > 4 ? 4 : l.n_columns;
    l.n_rows = (p->grid->n_codecs + l.n_columns) / l.n_columns; /* break-even is one more */
    l.height = 0.05 + 0.032 * (double)l.n_rows;
    if (l.height > 0.3) {
        l.font = 9;
        l.height = fmin(0.02 + 0.019 * (double)l.n_rows, 0.5);
    }
    return l;
}

/* An empty panel that holds nothing but the legend. */
static void write_legend(FILE *out, const struct strait_scaling *p, const struct legend *l,
                         bool crossings)
{
    const struct strait_grid *g = p->grid;
    strait_plot_legend(out, l->height - 0.01, l->n_columns);
    fprintf(out, " samplen 3 spacing %s font ',%d'\nplot ", l->font == 13 ? "1.15" : "0.95",
            l->font);
    const char *comma = "";
    for (size_t c = 0; c < g->n_codecs; c++) {
        const bool plain = g->codecs[c].is_plain;
        if (p->y == STRAIT_PLOT_SPEEDUP && plain && c > 0)
            continue;
        fprintf(out, "%sNaN ", comma);
        if (p->y == STRAIT_PLOT_SPEEDUP && plain)
            fputs("with lines lw 1.6 lc rgb '#000000'", out);
        else
            strait_plot_put_style(out, &p->styles[c], STRAIT_PLOT_BOTH);
        fputs(" title ", out);
        strait_plot_put_codec(out, g->codecs[c].label);
        comma = ", \\\n  ";
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

static int draw(const struct strait_scaling *p, const char *path, const char *title,
                const char *subtitle, struct strait_error *err)
{
    struct strait_plot_script script;
    bool crossings = false;
    if (strait_plot_script_begin(&script, path, title, subtitle, err) != 0)
        return -1;
    const struct legend legend = legend_of(p);
    struct strait_plot_layout l = {.left = 0.075,
                                   .right = 0.985,
                                   .bottom = legend.height + 0.055,
                                   .top = 0.9,
                                   .gap_x = 0.045,
                                   .gap_y = 0.105};
    strait_plot_arrange(&l, (int)p->n_panels);
    size_t n_lines = 1; /* of the longest title in its small letters */
    for (size_t s = 0; s < p->n_panels; s++) {
        const size_t n = strait_plot_n_lines(p->grid->settings[s].label, title_wrap(&l) * 12 / 10);
        n_lines = n > n_lines ? n : n_lines;
    }
    l.top -= 0.015 * (double)(n_lines - 1);
    l.gap_y += 0.015 * (double)(n_lines - 1);
    write_axes(script.out, p);
    for (size_t s = 0; s < p->n_panels; s++)
        write_panel(&script, p, s, &l, &crossings);
    write_legend(script.out, p, &legend, crossings);
    return strait_plot_script_run(&script, path, err);
}

static void add_part(char *text, size_t cap, const char *part)
{
    if (*part)
        strait_text_add(text, cap, "%s%s", *text ? "; " : "", part);
}

/* What --set put in, medians, bands and panels that are left out are said under the title. */
static char *subtitle_of(const struct strait_scaling *p, const json_t *rows)
{
    size_t n_repeats = 1;
    for (size_t i = 0; i < p->grid->n_settings * p->grid->n_codecs * p->grid->n_counts; i++)
        n_repeats =
            p->grid->cells[i].n_repeats > n_repeats ? p->grid->cells[i].n_repeats : n_repeats;
    char *set = strait_plot_set(json_object_get(json_array_get(rows, 0), "set")), part[64] = "";
    char text[SUBTITLE_CHARS] = "";
    add_part(text, sizeof(text), set ? set : "");
    free(set);
    if (n_repeats > 1)
        snprintf(part, sizeof(part), "medians of up to %zu repeats", n_repeats);
    add_part(text, sizeof(text), part);
    if (p->bands)
        add_part(text, sizeof(text), p->repeats ? "bands: their range" : "bands: 90 % intervals");
    if (p->n_panels < p->grid->n_settings) {
        snprintf(part, sizeof(part), "%zu of %zu settings", p->n_panels, p->grid->n_settings);
        add_part(text, sizeof(text), part);
    }
    return strdup(text);
}

int strait_plot_scaling(const char *path, const json_t *rows, const json_t *breakevens,
                        enum strait_plot_y y, const char *title, struct strait_error *err)
{
    struct strait_grid *grid;
    if (strait_grid_new(&grid, rows, err) != 0)
        return -1;
    struct strait_scaling p = {.grid = grid,
                               .breakevens = breakevens,
                               .styles = strait_plot_styles(grid),
                               .y = has_speedups(grid) ? y : STRAIT_PLOT_TIME,
                               .n_panels =
                                   grid->n_settings < MAX_PANELS ? grid->n_settings : MAX_PANELS};
    const char *own_title = strait_text_of(json_array_get(rows, 0), "title");
    for (size_t i = 0; i < grid->n_settings * grid->n_codecs * grid->n_counts; i++)
        p.repeats |= grid->cells[i].n_repeats > 1;
    strait_scaling_find_range(&p);
    char *subtitle = subtitle_of(&p, rows);
    int status = -1;
    if (!p.styles || !subtitle)
        strait_error_memory(err, "plot");
    else
        status = draw(&p, path, title ? title : own_title, subtitle, err);
    free(subtitle);
    free(p.styles);
    strait_grid_free(grid);
    return status;
}
