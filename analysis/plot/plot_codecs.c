/* Scores of many codecs: a line a codec, and for each task its score, bytes and time, without error
 * feedback and with it. Above some dozen codecs points of a plane cannot be told apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "analysis/training/target.h"
#include "core/names.h"
#include "plot.h"
#include "plot_script.h"

enum { MAX_TASKS = 4, N_FIGURES = 3, LOG_FROM = 16, MAX_NAMED = 6 };
enum look { WITHOUT, WITH, ALONE, N_LOOKS };

static const double DPI = 96, WIDTH_IN = 1800.0 / 96, LINE_IN = 22.0 / 96, TOP_IN = 120.0 / 96,
                    BOTTOM_IN = 84.0 / 96, APART = 0.17; /* of a line: so that both are seen */

/* What differs from another in its error feedback alone stands on one line. */
struct line {
    char *name;
    const json_t *rows[MAX_TASKS][N_LOOKS];
    double order; /* bytes, of those without compression */
};

struct picture {
    const struct strait_grid *grid;
    struct line *lines; /* most bytes first */
    size_t n_lines, n_tasks;
    const json_t *plain[MAX_TASKS];
    enum strait_plot_y y;
    double height_in;
};

/* --- lines -------------------------------------------------------------------------------- */

/* A codec's label without what it says of error feedback; a new string. Out: look, ALONE where it
 * says nothing. */
static char *base_name(enum look *look, const char *label)
{
    static const char key[] = "error_feedback=";
    const char *at = strstr(label, key);
    char *name = NULL;
    *look = ALONE;
    if (!at)
        return strdup(label);
    const char *end = at + sizeof(key) - 1;
    *look = *end == 'y' ? WITH : WITHOUT;
    end += strcspn(end, ", ");
    const int n = (int)(at - label);
    if (*end == ',') /* other settings follow */
        return asprintf(&name, "%.*s%s", n, label, end + 1) < 0 ? NULL : name;
    return asprintf(&name, "%.*s%s", n > 0 ? n - 1 : 0, label, end) < 0 ? NULL : name;
}

static struct line *line_of(struct picture *p, const char *name)
{
    for (size_t i = 0; i < p->n_lines; i++)
        if (strcmp(p->lines[i].name, name) == 0)
            return &p->lines[i];
    struct line *l = &p->lines[p->n_lines];
    *l = (struct line){.name = strdup(name)};
    p->n_lines += l->name != NULL;
    return l->name ? l : NULL;
}

/* The row of the most clients. */
static const json_t *row_at(const struct strait_grid *g, size_t setting, size_t codec)
{
    const json_t *row = NULL;
    for (size_t n = g->n_counts; n-- > 0 && !row;)
        row = strait_grid_cell(g, setting, codec, n)->row;
    return row;
}

/* A label that says nothing of error feedback is the other one of what does. */
static void pair_up(struct line *l, size_t n_tasks)
{
    bool has[N_LOOKS] = {false};
    for (size_t t = 0; t < n_tasks; t++)
        for (int k = 0; k < N_LOOKS; k++)
            has[k] |= l->rows[t][k] != NULL;
    if (!has[ALONE] || has[WITH] == has[WITHOUT])
        return;
    for (size_t t = 0; t < n_tasks; t++) {
        l->rows[t][has[WITH] ? WITHOUT : WITH] = l->rows[t][ALONE];
        l->rows[t][ALONE] = NULL;
    }
}

static double bytes_of(const json_t *row)
{
    return row ? strait_spread_of(row, "bytes").mean : NAN;
}

static void find_order(struct line *l, const struct picture *p)
{
    double sum = 0;
    size_t n = 0;
    for (size_t t = 0; t < p->n_tasks; t++)
        for (int k = 0; k < N_LOOKS; k++) {
            const double one = p->plain[t] ? bytes_of(p->plain[t]) : 1;
            const double ratio = bytes_of(l->rows[t][k]) / one;
            if (ratio > 0) {
                sum += log(ratio);
                n++;
            }
        }
    l->order = n > 0 ? sum / (double)n : 0;
}

static int by_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->order != y->order ? (x->order < y->order) - (x->order > y->order)
                                : strcmp(x->name, y->name);
}

/* Which of a line's looks has some task? */
static bool has_look(const struct line *l, size_t n_tasks, int look)
{
    for (size_t t = 0; t < n_tasks; t++)
        if (l->rows[t][look])
            return true;
    return false;
}

/* 0, or -1 when memory ran out. */
static int make_lines(struct picture *p)
{
    const struct strait_grid *g = p->grid;
    p->n_tasks = g->n_settings < MAX_TASKS ? g->n_settings : MAX_TASKS;
    p->lines = calloc(g->n_codecs + 1, sizeof(*p->lines));
    for (size_t c = 0; p->lines && c < g->n_codecs; c++) {
        enum look look;
        char *name = base_name(&look, g->codecs[c].label);
        struct line *l = name && !g->codecs[c].is_plain ? line_of(p, name) : NULL;
        for (size_t t = 0; t < p->n_tasks; t++) {
            const json_t *row = row_at(g, t, c);
            if (g->codecs[c].is_plain && !p->plain[t])
                p->plain[t] = row;
            else if (l && !l->rows[t][look])
                l->rows[t][look] = row;
        }
        free(name);
        if (!name || (!l && !g->codecs[c].is_plain))
            return -1;
    }
    for (size_t i = 0; i < p->n_lines; i++) {
        pair_up(&p->lines[i], p->n_tasks);
        find_order(&p->lines[i], p);
    }
    if (p->n_lines > 0)
        qsort(p->lines, p->n_lines, sizeof(*p->lines), by_order);
    return p->lines ? 0 : -1;
}

/* --- drawing ------------------------------------------------------------------------------ */

/* Figure 0: the score; 1: MB; 2: seconds. */
static struct strait_spread figure_of(const struct picture *p, const json_t *row, int figure)
{
    const bool accuracy = p->y == STRAIT_PLOT_ACCURACY;
    const char *const names[N_FIGURES] = {accuracy ? "accuracy" : "loss", "bytes", "time_s"};
    const double scales[N_FIGURES] = {accuracy ? 100 : 1, 1e-6, 1};
    struct strait_spread s =
        row ? strait_spread_of(row, names[figure]) : (struct strait_spread){NAN, NAN};
    s.mean *= scales[figure];
    s.sd = isfinite(s.sd) ? s.sd * scales[figure] : 0;
    return s;
}

/* Lines count from the top; the first is that without compression. */
static size_t write_data(FILE *out, const struct picture *p, size_t task, int figure, int look,
                         double *least, double *most)
{
    size_t n = 0;
    fprintf(out, "$d%zu_%d_%d << EOD\n", task, figure, look);
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct strait_spread s = figure_of(p, p->lines[i].rows[task][look], figure);
        if (!isfinite(s.mean))
            continue;
        fprintf(out, "%.9g %.2f %.9g\n", s.mean,
                (double)i + 1 +
                    (look == WITHOUT ? -APART
                     : look == WITH  ? APART
                                     : 0),
                s.sd);
        *least = fmin(*least, s.mean);
        *most = fmax(*most, s.mean);
        n++;
    }
    fputs("EOD\n", out);
    return n;
}

static void write_plain(FILE *out, const struct picture *p, size_t task, int figure)
{
    const struct strait_spread s = figure_of(p, p->plain[task], figure);
    fputs("unset object 1\nunset arrow 1\n", out);
    if (!isfinite(s.mean))
        return;
    if (figure == 0)
        fprintf(out,
                "set object 1 rect from first %.9g,graph 0 to first %.9g,graph 1 fc rgb "
                "'#d9d9d9' fs solid noborder behind\n",
                s.mean - s.sd, s.mean + s.sd);
    fprintf(out,
            "set arrow 1 from first %.9g,graph 0 to first %.9g,graph 1 nohead lc rgb '#808080' "
            "dt '-' back\n",
            s.mean, s.mean);
}

static void write_tics(FILE *out, const struct picture *p, bool named)
{
    fputs("set ytics (", out);
    strait_plot_put_tic(out, named ? "no compression" : "", 0);
    fputs(" 0", out);
    for (size_t i = 0; i < p->n_lines; i++) {
        fputs(", ", out);
        strait_plot_put_tic(out, named ? p->lines[i].name : "", 0);
        fprintf(out, " %zu", i + 1);
    }
    fputs(") scale 0\n", out);
}

/* Panels of a task have the widths 5 : 3 : 3. */
static void place(FILE *out, const struct picture *p, size_t task, int figure)
{
    static const double from[N_FIGURES + 1] = {0, 0.46, 0.73, 1};
    const double left = 0.135, right = 0.99, gap = 0.007,
                 width = (right - left) / (double)p->n_tasks, x = left + (double)task * width,
                 inner = width - 2 * gap;
    fprintf(out,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            x + from[figure] * inner + gap, x + from[figure + 1] * inner - gap,
            1 - TOP_IN / p->height_in, BOTTOM_IN / p->height_in);
}

/* The task where it tells the settings apart. */
static const char *title_of(const struct picture *p, size_t task)
{
    const struct strait_grid *g = p->grid;
    const char *names[MAX_TASKS] = {NULL};
    bool differ = true;
    for (size_t t = 0; t < p->n_tasks; t++) {
        const json_t *row = p->plain[t];
        for (size_t c = 0; c < g->n_codecs && !row; c++)
            row = row_at(g, t, c);
        names[t] = strait_text_of(json_object_get(row, "training"), "task");
        for (size_t k = 0; k < t; k++)
            differ = differ && strcmp(names[k], names[t]) != 0;
    }
    return differ ? names[task] : g->settings[task].label;
}

static const char *unit_of(const struct picture *p, int figure)
{
    return figure == 1                    ? "MB sent"
           : figure == 2                  ? "run (s)"
           : p->y == STRAIT_PLOT_ACCURACY ? "final accuracy (%)"
                                          : "final loss";
}

static const char *const looks[N_LOOKS] = {
    "pt 6 ps 1.1 lc rgb '#d55e00'", "pt 7 ps 1.1 lc rgb '#0072b2'", "pt 5 ps 0.9 lc rgb '#009e73'"};

/* Four steps of 1, 2 or 5 fit into a span, or some more: narrow panels have no place for others. */
static double step_of(double span)
{
    const double power = pow(10, floor(log10(span / 4))), rest = span / 4 / power;
    return span > 0 ? power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10) : 1;
}

static void write_x(FILE *out, const struct picture *p, int figure, double least, double most)
{
    const bool is_log = figure > 0 && most >= LOG_FROM * least;
    fprintf(out, "set xlabel '%s'\nset %s x\nset xtics font ',8' ", unit_of(p, figure),
            is_log ? "logscale" : "nologscale");
    if (is_log || !(most > least))
        fputs("autofreq\n", out);
    else
        fprintf(out, "%g\n", step_of(most - least));
}

/* Points of a panel; none is a panel, too. */
static void write_panel(FILE *out, const struct picture *p, size_t task, int figure)
{
    const struct strait_spread plain = figure_of(p, p->plain[task], figure);
    const bool has_plain = isfinite(plain.mean);
    double least = has_plain ? plain.mean : INFINITY, most = has_plain ? plain.mean : 0;
    size_t n[N_LOOKS];
    for (int k = 0; k < N_LOOKS; k++)
        n[k] = write_data(out, p, task, figure, k, &least, &most);
    if (has_plain)
        fprintf(out, "$plain << EOD\n%.9g 0 %.9g\nEOD\n", plain.mean, plain.sd);
    place(out, p, task, figure);
    write_plain(out, p, task, figure);
    write_tics(out, p, task == 0 && figure == 0);
    write_x(out, p, figure, least, most);
    fputs(figure == 0 ? "set title " : "unset title\n", out);
    if (figure == 0) {
        strait_plot_put_text(out, title_of(p, task), 60);
        fputs(" font ',15' offset 0,-0.5\n", out);
    }
    fputs(has_plain ? "plot $plain using 1:2:3 with xerrorbars pt 7 ps 1.1 lc rgb '#000000'"
                    : "plot NaN",
          out);
    for (int k = 0; k < N_LOOKS; k++)
        if (n[k] > 0)
            fprintf(out, ", \\\n  $d%zu_%d_%d using 1:2:3 with xerrorbars %s", task, figure, k,
                    looks[k]);
    fputs("\n", out);
}

/* What has no row in some task though it has one in another, as what diverged: a new string, "" for
 * nothing. */
static char *missing(const struct picture *p)
{
    char *text = NULL;
    size_t len_bytes, n = 0;
    FILE *out = open_memstream(&text, &len_bytes);
    for (size_t i = 0; out && i < p->n_lines; i++)
        for (size_t k = 0; k < N_LOOKS; k++)
            for (size_t t = 0; t < p->n_tasks; t++) {
                static const char *const how[N_LOOKS] = {"without ", "with ", ""};
                if (p->lines[i].rows[t][k] || !has_look(&p->lines[i], p->n_tasks, (int)k))
                    continue;
                if (n++ < MAX_NAMED)
                    fprintf(out, "%s%s %s(%s)",
                            n > 1 ? ", " : "no row, diverged or not run: ", p->lines[i].name,
                            how[k], title_of(p, t));
            }
    if (out && n > MAX_NAMED)
        fprintf(out, " and %zu more", n - MAX_NAMED);
    if (out)
        fclose(out);
    return text;
}

static int write_head(FILE *out, const struct picture *p, const char *title, const json_t *rows)
{
    static const char *const names[N_LOOKS] = {"without error feedback", "with error feedback",
                                               "the codec"};
    static const double at[] = {0.32, 0.47, 0.62};
    const double row = 22 / DPI / p->height_in;
    char *set = strait_plot_set(json_object_get(json_array_get(rows, 0), "set")),
         *none = missing(p);
    fputs("set label 1 ", out);
    strait_plot_put_text(out, title, 150);
    fprintf(out, " at screen 0.5,%.4f center font ',17'\n", 1 - row);
    for (int k = 0; k < N_LOOKS; k++) {
        bool used = false;
        for (size_t i = 0; i < p->n_lines; i++)
            used = used || has_look(&p->lines[i], p->n_tasks, k);
        if (used)
            fprintf(out, "set label %d '%s' at screen %.2f,%.4f left offset 1,0 point %s\n", 2 + k,
                    names[k], at[k], 1 - 2.4 * row, looks[k]);
    }
    fprintf(out, "set label 5 ");
    strait_plot_put_text(out, "bars: a run's deviation over the seeds; grey: no compression", 0);
    fprintf(out, " at screen 0.72,%.4f left font ',11'\nset label 6 ", 1 - 2.4 * row);
    strait_plot_put_text(out, set ? set : "", 200);
    fprintf(out, " at screen 0.5,%.4f center font ',10'\nset label 7 ", 1 - 3.3 * row);
    strait_plot_put_text(out, none ? none : "", 230);
    fprintf(out, " at screen 0.01,%.4f left font ',10'\n", 0.6 * row);
    const int status = set && none ? 0 : -1;
    free(set);
    free(none);
    return status;
}

static int draw(const struct picture *p, const char *path, const char *title, const json_t *rows,
                struct strait_error *err)
{
    const struct strait_plot_page page = {WIDTH_IN, p->height_in, 9, (int)DPI, 1};
    struct strait_plot_script script;
    if (strait_plot_script_open(&script, path, &page, err) != 0)
        return -1;
    FILE *out = script.out;
    if (write_head(out, p, title, rows) != 0)
        strait_error_memory(err, "plot");
    fprintf(out,
            "unset key\nset border 3 lc rgb '#606060'\nset tics nomirror out\n"
            "set grid xtics ytics lc rgb '#e4e4e4' lt 1 lw 1\nset yrange [%.1f:-0.7]\n"
            "set offsets graph 0.04, graph 0.04, 0, 0\nset xtics rotate by 0 autofreq\n",
            (double)p->n_lines + 0.7);
    for (size_t t = 0; t < p->n_tasks; t++)
        for (int f = 0; f < N_FIGURES; f++) {
            write_panel(out, p, t, f);
            if (t + (size_t)f == 0)
                for (int i = 1; i <= 7; i++)
                    fprintf(out, "unset label %d\n", i);
        }
    return strait_plot_script_run(&script, path, err);
}

static bool has_scores(const struct picture *p)
{
    for (size_t i = 0; i < p->n_lines; i++)
        for (size_t t = 0; t < p->n_tasks; t++)
            for (int k = 0; k < N_LOOKS; k++)
                if (isfinite(figure_of(p, p->lines[i].rows[t][k], 0).mean))
                    return true;
    return false;
}

int strait_plot_codecs(const char *path, const json_t *rows, enum strait_plot_y y,
                       const char *title, struct strait_error *err)
{
    struct strait_grid *grid;
    if (strait_grid_new(&grid, rows, err) != 0)
        return -1;
    struct picture p = {.grid = grid, .y = y};
    int status = -1;
    const char *own_title = strait_text_of(json_array_get(rows, 0), "title");
    if (make_lines(&p) != 0)
        strait_error_memory(err, "plot");
    p.height_in = TOP_IN + BOTTOM_IN + LINE_IN * ((double)p.n_lines + 2.4);
    if (!has_scores(&p))
        strait_refuse(err, "plot",
                      "expected rows of codecs that trained for real with %s, found none",
                      y == STRAIT_PLOT_ACCURACY ? "an accuracy" : "a loss");
    else
        status = draw(&p, path, title ? title : own_title, rows, err);
    for (size_t i = 0; i < p.n_lines; i++)
        free(p.lines[i].name);
    free(p.lines);
    strait_grid_free(grid);
    return status;
}
