/* How models did against what that cost: a point for each codec and setting, a panel for each task
 * or, where that has too many, each setting. */
#include <ctype.h>
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
#include "plot_styles.h"
#include "shorten.h"

enum { MAX_PANELS = 9, MAX_TOGETHER = 35, LOG_FROM = 16 };

/* Points of one look: those of a codec in a setting. */
struct series {
    size_t panel, setting, codec;
    char *label;
    struct strait_plot_style style;
};

struct picture {
    const struct strait_grid *grid;
    struct series *series;
    size_t n_series;
    char *titles[MAX_PANELS];
    enum strait_plot_y y;
    bool by_time; /* x: seconds of the run; else MB sent by all ranks */
    size_t n_panels, n_panels_asked, n_shown, n_left_out;
    double least_x, most_x;
    bool has_seeds; /* some point is of several */
    bool recorded;  /* of training that was recorded: strait_tradeoff_rows */
};

static const char *x_title(const struct picture *p)
{
    return p->recorded  ? (p->by_time ? "time of a round (s)" : "MB that a client uploads a round")
           : p->by_time ? "time of the run (s)"
                        : "MB sent by all ranks";
}

static const char *y_title(const struct picture *p)
{
    return p->recorded                    ? "recorded final accuracy (%)"
           : p->y == STRAIT_PLOT_ACCURACY ? "final accuracy (%)"
           : p->y == STRAIT_PLOT_LOSS     ? "final loss"
                                          : "time to the target (s)";
}

/* x and y of a point; NAN where a seed has none, as where the target was not reached. */
static void figures(struct strait_spread *x, struct strait_spread *y, const struct picture *p,
                    const json_t *row)
{
    const bool target = p->y == STRAIT_PLOT_TIME_TO_TARGET;
    const double scale = p->by_time ? 1 : 1e-6;
    *x = strait_spread_of(row, p->by_time ? "time_s" : target ? "reached_bytes" : "bytes");
    *y = strait_spread_of(row, target                     ? "reached_s"
                               : p->y == STRAIT_PLOT_LOSS ? "loss"
                                                          : "accuracy");
    x->mean *= scale;
    x->sd *= scale;
    if (p->y == STRAIT_PLOT_ACCURACY) {
        y->mean *= 100;
        y->sd *= 100;
    }
}

/* The data of series number i, a line a number of clients: x, y and the deviation of y. */
static size_t write_data(FILE *out, struct picture *p, size_t i)
{
    size_t n_points = 0;
    fprintf(out, "$data_%zu << EOD\n", i);
    for (size_t n = 0; n < p->grid->n_counts; n++) {
        struct strait_spread x, y;
        const json_t *row =
            strait_grid_cell(p->grid, p->series[i].setting, p->series[i].codec, n)->row;
        if (!row)
            continue;
        figures(&x, &y, p, row);
        const bool known = isfinite(y.mean) && x.mean > 0;
        p->least_x = known ? fmin(p->least_x, x.mean) : p->least_x;
        p->most_x = known ? fmax(p->most_x, x.mean) : p->most_x;
        if (known)
            fprintf(out, "%.9g %.9g %.9g\n", x.mean, y.mean, isfinite(y.sd) ? y.sd : 0);
        const json_t *seeds = json_object_get(json_object_get(row, "training"), "seeds");
        p->has_seeds |= known && json_integer_value(seeds) > 1;
        n_points += known;
        p->n_left_out += !known;
    }
    fputs("EOD\n", out);
    p->n_shown += n_points;
    return n_points;
}

static void write_panel(struct strait_plot_script *script, struct picture *p, size_t panel,
                        const struct strait_plot_layout *l)
{
    FILE *out = script->out;
    char *text = NULL;
    size_t len_bytes;
    FILE *plots = open_memstream(&text, &len_bytes);
    const char *comma = "";
    for (size_t i = 0; plots && i < p->n_series; i++) {
        const struct series *s = &p->series[i];
        if (s->panel != panel || write_data(out, p, i) == 0)
            continue;
        fprintf(plots,
                "%s$data_%zu using 1:2:3 with yerrorbars pt -1 lc rgb '%s' notitle, "
                "\\\n  $data_%zu ",
                comma, i, s->style.color, i);
        strait_plot_put_style(plots, &s->style, STRAIT_PLOT_DOTS);
        fputs(" notitle", plots);
        comma = ", \\\n  ";
    }
    if (plots)
        fclose(plots);
    strait_plot_place(out, l, (int)panel);
    fputs("set title ", out);
    strait_plot_put_text(out, p->titles[panel], (size_t)(150 / l->n_columns));
    fprintf(out,
            " font ',14' offset 0,-0.4\nset xlabel '%s'\nset ylabel '%s' offset 0.6,0\nplot %s\n",
            x_title(p), y_title(p), text && *text ? text : "NaN notitle");
    strait_plot_script_titled(script);
    free(text);
}

/* Does an earlier series look and read the same, in another panel? */
static bool is_named(const struct picture *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(p->series[k].label, p->series[i].label) == 0)
            return true;
    return false;
}

static void legend_size(const struct picture *p, size_t *n, size_t *longest)
{
    *n = *longest = 0;
    for (size_t i = 0; i < p->n_series; i++) {
        const size_t len = strlen(p->series[i].label);
        *n += !is_named(p, i);
        *longest = len > *longest ? len : *longest;
    }
}

/* Points and names alone, in an empty panel below the others. */
static void write_legend(FILE *out, const struct picture *p, size_t n_columns, double height)
{
    const char *comma = "";
    strait_plot_legend(out, height, n_columns);
    fputs(" samplen 1 font ',10'\nplot ", out);
    for (size_t i = 0; i < p->n_series; i++) {
        if (is_named(p, i))
            continue;
        fprintf(out, "%sNaN ", comma);
        strait_plot_put_style(out, &p->series[i].style, STRAIT_PLOT_DOTS);
        fputs(" title ", out);
        strait_plot_put_codec(out, p->series[i].label);
        comma = ", \\\n  ";
    }
    fputs("\n", out);
}

static int draw(struct picture *p, const char *path, const char *title, const char *subtitle,
                struct strait_error *err)
{
    struct strait_plot_script script;
    size_t n_names, longest;
    legend_size(p, &n_names, &longest);
    const size_t fit = 1504 / (7 * longest + 60);
    const size_t n_columns = fit < 1 ? 1 : fit > 6 ? 6 : fit;
    const size_t n_rows = (n_names + n_columns - 1) / n_columns;
    const double height = fmin(0.03 + 0.021 * (double)n_rows, 0.5);
    if (strait_plot_script_begin(&script, path, title, subtitle, err) != 0)
        return -1;
    struct strait_plot_layout l = {.left = 0.075,
                                   .right = 0.985,
                                   .bottom = height + 0.075,
                                   .top = 0.88,
                                   .gap_x = 0.06,
                                   .gap_y = 0.13};
    strait_plot_arrange(&l, (int)p->n_panels);
    fputs("set grid lc rgb '#e4e4e4' lt 1 lw 1\nset border lc rgb '#606060'\nunset key\n"
          "set tics nomirror out\nset offsets graph 0.05, graph 0.05, graph 0.05, "
          "graph 0.05\n",
          script.out);
    if (p->most_x >= LOG_FROM * p->least_x)
        fputs("set logscale x\n", script.out);
    for (size_t s = 0; s < p->n_panels; s++)
        write_panel(&script, p, s, &l);
    fputs("unset offsets\n", script.out);
    write_legend(script.out, p, n_columns, height);
    return strait_plot_script_run(&script, path, err);
}

/* How many points are not there is said, since "not reached" has no place on an axis. */
static void count(struct picture *p)
{
    FILE *nowhere = fopen("/dev/null", "w");
    for (size_t i = 0; nowhere && i < p->n_series; i++)
        write_data(nowhere, p, i);
    if (nowhere)
        fclose(nowhere);
}

/* --- which panels, and what is in them ---------------------------------------------------- */

static const json_t *row_of(const struct strait_grid *g, size_t setting)
{
    for (size_t i = 0; i < g->n_codecs * g->n_counts; i++)
        if (strait_grid_cell(g, setting, i / g->n_counts, i % g->n_counts)->row)
            return strait_grid_cell(g, setting, i / g->n_counts, i % g->n_counts)->row;
    return NULL;
}

static const char *task_of(const struct strait_grid *g, size_t setting)
{
    return strait_text_of(json_object_get(row_of(g, setting), "training"), "task");
}

static bool are_alike(const struct strait_grid *g, size_t a, size_t b)
{
    return strcmp(task_of(g, a), task_of(g, b)) == 0;
}

/* Is it the first setting of its task? */
static bool is_first(const struct strait_grid *g, size_t setting)
{
    for (size_t s = 0; s < setting; s++)
        if (are_alike(g, s, setting))
            return false;
    return true;
}

/* Settings of a task, of which accuracies can be compared, share a panel where looks suffice. */
static bool are_together(const struct strait_grid *g, size_t setting)
{
    size_t n = 0;
    for (size_t s = 0; s < g->n_settings; s++)
        n += are_alike(g, s, setting);
    return n > 1 && n * g->n_codecs <= MAX_TOGETHER;
}

/* What tells the settings of a task apart, axis by axis: a text each. Out: common, what all have */
static json_t *names_of_task(const struct strait_grid *g, size_t first, char *common, size_t cap)
{
    const char *task = task_of(g, first);
    json_t *all = json_array();
    *common = '\0';
    for (size_t s = 0; s < g->n_settings; s++)
        json_array_append_new(all, json_string(""));
    for (size_t axis = 0; axis < strait_names_n_axes(g->names); axis++) {
        json_t *values = json_array();
        for (size_t s = first; s < g->n_settings; s++) {
            char *value =
                are_alike(g, s, first) ? strait_names_value(g->names, axis, row_of(g, s)) : NULL;
            if (value)
                json_array_append_new(values, json_string(value));
            free(value);
        }
        char *taken = strait_plot_shorten(values);
        if (taken && *taken)
            strait_text_add(common, cap, "%s%s", *common ? "," : "all with ", taken);
        free(taken);
        for (size_t s = first, i = 0; s < g->n_settings; s++) {
            if (!are_alike(g, s, first))
                continue;
            const char *value = json_string_value(json_array_get(values, i++)),
                       *before = json_string_value(json_array_get(all, s));
            const size_t n = strlen(task);
            if (strncmp(value, task, n) == 0 && (value[n] == ' ' || value[n] == '\0'))
                value += n + (value[n] == ' ');               /* the panel says it */
            const bool bare = isdigit((unsigned char)*value); /* 0.03 of what? */
            json_array_set_new(all, s,
                               json_sprintf("%s%s%s%s%s", before, *before && *value ? ", " : "",
                                            bare ? strait_names_axis(g->names, axis) : "",
                                            bare ? " " : "", value));
        }
        json_decref(values);
    }
    return all;
}

static void add_series(struct picture *p, size_t panel, size_t setting, const char *name,
                       const struct strait_plot_style *styles)
{
    const struct strait_grid *g = p->grid;
    for (size_t c = 0; c < g->n_codecs; c++) {
        const char *codec = g->codecs[c].is_plain ? "no compression" : g->codecs[c].label;
        struct series *s = &p->series[p->n_series];
        char label[1024];
        size_t n_before = 0;
        for (size_t i = 0; i < p->n_series; i++)
            n_before += p->series[i].panel == panel;
        snprintf(label, sizeof(label), "%s%s%s", name ? name : "",
                 name && g->n_codecs > 1 ? ", " : "", !name || g->n_codecs > 1 ? codec : "");
        *s = (struct series){panel, setting, c, strdup(label),
                             name ? strait_plot_style_at(n_before) : styles[c]};
        p->n_series += s->label != NULL;
    }
}

/* A panel a task, or where that is too much a panel a setting. 0, or -1 when memory ran out. */
static int make_series(struct picture *p, const struct strait_plot_style *styles)
{
    const struct strait_grid *g = p->grid;
    bool several_tasks = false;
    p->series = calloc(g->n_settings * g->n_codecs + 1, sizeof(*p->series));
    for (size_t s = 1; s < g->n_settings; s++)
        several_tasks |= !are_alike(g, 0, s);
    for (size_t s = 0; p->series && s < g->n_settings; s++) {
        const bool together = are_together(g, s);
        char common[512] = "", title[1024];
        if (together && !is_first(g, s))
            continue;
        if (p->n_panels_asked++ >= MAX_PANELS)
            continue;
        const size_t panel = p->n_panels++;
        json_t *names = together ? names_of_task(g, s, common, sizeof(common)) : NULL;
        snprintf(title, sizeof(title), "%s%s%s", together && several_tasks ? task_of(g, s) : "",
                 together && several_tasks && *common ? ", " : "",
                 together                     ? common
                 : p->recorded && !p->by_time ? "" /* equal for every setting */
                                              : g->settings[s].label);
        p->titles[panel] = strdup(title);
        if (!p->titles[panel])
            return -1;
        for (size_t k = s; k < (together ? g->n_settings : s + 1); k++)
            if (are_alike(g, k, s))
                add_series(p, panel, k, json_string_value(json_array_get(names, k)), styles);
        json_decref(names);
    }
    return p->series ? 0 : -1;
}

static char *subtitle_of(const struct picture *p, const json_t *rows)
{
    char text[2048];
    char *set = strait_plot_set(json_object_get(json_array_get(rows, 0), "set"));
    const bool of_target = p->n_left_out > 0 && p->y == STRAIT_PLOT_TIME_TO_TARGET;
    snprintf(text, sizeof(text), "%s",
             p->recorded     ? "bars: what chance does, half of a 95 % interval"
             : !p->has_seeds ? "one seed"
             : of_target     ? "means over the seeds"
                             : "means over the seeds, bars: the deviation of a run");
    if (of_target)
        strait_text_add(text, sizeof(text), "; target not reached: %zu of %zu", p->n_left_out,
                        p->n_left_out + p->n_shown);
    if (p->n_panels < p->n_panels_asked)
        strait_text_add(text, sizeof(text), "; %zu of %zu panels", p->n_panels, p->n_panels_asked);
    if (set && *set)
        strait_text_add(text, sizeof(text), "; %s", set);
    free(set);
    return strdup(text);
}

int strait_plot_training(const char *path, const json_t *rows, enum strait_plot_y y, bool by_time,
                         const char *title, struct strait_error *err)
{
    struct strait_grid *grid;
    if (strait_grid_new(&grid, rows, err) != 0)
        return -1;
    const json_t *training = json_object_get(json_array_get(rows, 0), "training");
    struct picture p = {.grid = grid,
                        .y = y,
                        .by_time = by_time,
                        .least_x = INFINITY,
                        .recorded = json_is_true(json_object_get(training, "recorded"))};
    struct strait_plot_style *styles = strait_plot_styles(grid);
    const char *own_title = strait_text_of(json_array_get(rows, 0), "title");
    char *subtitle = NULL;
    int status = -1;
    if (styles && make_series(&p, styles) == 0) {
        count(&p);
        subtitle = subtitle_of(&p, rows);
    }
    if (!subtitle)
        strait_error_memory(err, "plot");
    else if (p.n_shown == 0)
        strait_refuse(err, "plot", "expected rows that trained for real with %s, found none",
                      y == STRAIT_PLOT_ACCURACY ? "an accuracy"
                      : y == STRAIT_PLOT_LOSS   ? "a loss"
                                                : "a target that was reached");
    else
        status = draw(&p, path, title ? title : own_title, subtitle, err);
    for (size_t i = 0; i < p.n_series; i++)
        free(p.series[i].label);
    for (size_t i = 0; i < p.n_panels; i++)
        free(p.titles[i]);
    free(subtitle);
    free(p.series);
    free(styles);
    strait_grid_free(grid);
    return status;
}
