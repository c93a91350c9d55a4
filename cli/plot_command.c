/* strait plot: the curves of a results folder as pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/columns/columns.h"
#include "analysis/compare.h"
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "analysis/plot/figure.h"
#include "analysis/plot/plot.h"
#include "analysis/store.h"
#include "analysis/tradeoff.h"
#include "cli/kit/command.h"
#include "core/names.h"
#include "cli/kit/options.h"
#include "cli/kit/results.h"
#include "cli/kit/tolerance.h"
#include "plot_default.h"

enum { PATH_CHARS = 4000, MOST_IN_A_PLANE = 12 };

/* The break-even records of the run that these rows are of. */
static json_t *breakevens_of(const struct strait_store *store, const json_t *rows)
{
    const char *sweep = strait_text_of(json_array_get(rows, 0), "sweep");
    json_t *found = json_array(), *record;
    size_t i;
    json_array_foreach (strait_store_records(store), i, record)
        if (strcmp(strait_text_of(record, "record"), "break-even") == 0 &&
            strcmp(strait_text_of(record, "sweep"), sweep) == 0)
            json_array_append(found, record);
    return found;
}

static bool has_backend(const json_t *rows, const char *backend)
{
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (strcmp(strait_text_of(row, "backend"), backend) == 0)
            return true;
    return false;
}

/* Whether some row has another value there than the first one. */
static int plot_scaling(const struct strait_store *store, const json_t *all, const char *path,
                        enum strait_plot_y y, struct strait_error *err)
{
    json_t *rows = strait_rows_select(all, "", NULL);
    if (json_array_size(rows) == 0) { /* nothing but a negative control */
        json_decref(rows);
        const char *control = strait_text_of(json_array_get(all, 0), "control");
        rows = strait_rows_select(all, "", *control ? control : NULL);
    }
    json_t *breakevens = breakevens_of(store, rows);
    const int status = strait_plot_scaling(path, rows, breakevens, y, NULL, err);
    json_decref(rows);
    json_decref(breakevens);
    if (status == 0)
        printf("%s.png\n%s.svg\n", path, path);
    return status;
}

static int plot_comparison(const json_t *all, const char *path, struct strait_error *err)
{
    static const struct strait_tolerance defaults = {NULL, NULL};
    struct strait_compare_options options;
    char title[512];
    json_t *comparison = strait_tolerance_parse(&options, &defaults, err) == 0
                             ? strait_compare(all, NULL, &options, err)
                             : NULL;
    if (!comparison)
        return -1;
    snprintf(title, sizeof(title), "Predicted and measured: %.400s",
             strait_text_of(json_array_get(all, 0), "title"));
    const int status =
        strait_plot_comparison(path, comparison, options.tolerance_ratio, title, err);
    json_decref(comparison);
    if (status == 0)
        printf("%s.png\n%s.svg\n", path, path);
    return status;
}

/* --- one of the pictures that have names ---------------------------------------------------- */

/* Names of --y in the order of enum strait_plot_y. */
static const char *const y_names[] = {"speed-up",         "time", "accuracy", "loss",
                                      "time_to_accuracy", NULL};
/* ... and of the pictures, without --out. */
static const char *const bases[] = {"scaling", "scaling-time", "accuracy", "loss",
                                    "time-to-accuracy"};

/* Of a trade-off: recorded accuracy, told once where what is on x depends on no setting. */
static json_t *with_recorded(const json_t *rows, bool by_time, struct strait_error *err)
{
    struct strait_curves *curves = NULL;
    json_t *out = strait_curves_load(&curves, NULL, err) == 0
                      ? strait_tradeoff_rows(rows, curves, err)
                      : NULL;
    const char *first = strait_text_of(json_array_get(out, 0), "setting_key");
    for (size_t i = json_array_size(out); !by_time && i-- > 1;)
        if (strcmp(strait_text_of(json_array_get(out, i), "setting_key"), first) != 0)
            json_array_remove(out, i);
    strait_curves_free(curves);
    return out;
}

static int plot_training(const json_t *all, const char *path, enum strait_plot_y y, bool by_time,
                         struct strait_error *err)
{
    json_t *rows = strait_rows_select(all, "", NULL);
    bool trained = false;
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        trained |= json_is_object(json_object_get(row, "training"));
    if (!trained && y == STRAIT_PLOT_ACCURACY) {
        json_t *recorded = with_recorded(rows, by_time, err);
        json_decref(rows);
        rows = recorded;
    }
    const int status = rows ? strait_plot_training(path, rows, y, by_time, NULL, err) : -1;
    json_decref(rows);
    if (status == 0)
        printf("%s.png\n%s.svg\n", path, path);
    return status;
}

/* What was asked for, as given. */
struct asked {
    const char *folder, *out, *x, *series, *log, *kind, *style;
    struct strait_texts y, facets, where;
    long n_columns; /* 0: not said */
    /* --- found out */
    char base[PATH_CHARS];
    const char *end; /* of out: png, svg or pdf; NULL: png and svg */
};

static int name_index(const char *const *names, const char *name)
{
    for (int i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* --- any other question ------------------------------------------------------------------- */

/* In the order of enum strait_figure_kind; the last is none of these figures. */
static const char *const kinds[] = {"lines", "heat", "phases", "residuals", "codecs", NULL};
static const char *const styles[] = {"screen", "paper", "slides", NULL};

static bool has_seeds(const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (strait_row_number(json_object_get(row, "training"), "seeds") > 1)
            return true;
    return false;
}

/* What the names stand for among settings and numbers of rows: of runs with several seeds their
 * mean, since a row's own figures are those of the first. */
static const char *pointer_of(const char *name, const json_t *rows)
{
    static const char *const pointers[][3] = {
        {"speed-up", "/speedup"},
        {"time", "/total_s"},
        {"accuracy", "/training/final/accuracy", "/training/spread/accuracy/mean"},
        {"loss", "/training/final/loss", "/training/spread/loss/mean"},
        {"time_to_accuracy", "/training/reached/time_s", "/training/spread/reached_s/mean"},
        {"bytes", "/bytes/payload"}};
    for (size_t i = 0; name && i < sizeof(pointers) / sizeof(*pointers); i++)
        if (strcmp(pointers[i][0], name) == 0)
            return pointers[i][2] && has_seeds(rows) ? pointers[i][2] : pointers[i][1];
    return name;
}

/* The columns of the rows that pass all filters; NULL with *err. */
static json_t *columns_of(const struct asked *a, const struct strait_store *store,
                          const json_t *rows, struct strait_error *err)
{
    json_t *columns = strait_columns(store, rows, err);
    for (size_t i = 0; columns && i < a->where.n; i++) {
        json_t *left = strait_columns_where(columns, a->where.items[i], err);
        json_decref(columns);
        columns = left;
    }
    return columns;
}

/* panels: settings that are too many for lines make panels. */
static int plot_any(struct asked *a, const struct strait_store *store, const json_t *rows,
                    bool panels, struct strait_error *err)
{
    static const char *const ends[] = {"png", "svg"};
    const struct strait_figure_question question = {
        .kind = a->kind ? (enum strait_figure_kind)name_index(kinds, a->kind) : STRAIT_FIGURE_LINES,
        .x = pointer_of(a->x, rows),
        .y = a->y.items,
        .n_y = a->y.n,
        .series = a->series,
        .facets = a->facets.items,
        .n_facets = a->facets.n,
        .panels = panels,
        .log = a->log,
        .where = a->where.items,
        .n_where = a->where.n};
    for (size_t i = 0; i < a->y.n; i++)
        a->y.items[i] = a->y.n == 1 && strcmp(a->y.items[i], "time") == 0
                            ? "/round_s"
                            : pointer_of(a->y.items[i], rows);
    if (!a->out)
        snprintf(a->base, sizeof(a->base), "%s/plot", a->folder);
    json_t *columns = columns_of(a, store, rows, err);
    json_t *figure = columns ? strait_figure(columns, &question, NULL, err) : NULL;
    const int status =
        figure
            ? strait_figure_draw(a->base, figure, a->end ? &a->end : ends, a->end ? 1 : 2,
                                 a->style ? (enum strait_figure_style)name_index(styles, a->style)
                                          : STRAIT_FIGURE_SCREEN,
                                 a->n_columns > 0 ? (int)a->n_columns : 2, err)
            : -1;
    json_decref(figure);
    json_decref(columns);
    for (size_t i = 0; status == 0 && i < (a->end ? 1 : 2); i++)
        printf("%s.%s\n", a->base, a->end ? a->end : ends[i]);
    return status;
}

/* "table": "tradeoff" in the experiment of the last run. */
static bool is_tradeoff(const struct strait_store *store)
{
    const json_t *base =
        json_object_get(json_object_get(strait_store_header(store), "experiment"), "base");
    return strcmp(strait_text_of(base, "table"), "tradeoff") == 0;
}

static int plot_search(struct asked *a, enum strait_plot_y y, const struct strait_store *store,
                       const json_t *rows, struct strait_error *err)
{
    const char *number = y == STRAIT_PLOT_LOSS ? "loss" : "accuracy", *task = "/training/task";
    struct asked search = *a;
    search.x = "/training/lr";
    search.y = (struct strait_texts){.items = &number, .n = 1};
    search.facets = (struct strait_texts){.items = &task, .n = strait_rows_have_tasks(rows)};
    return plot_any(&search, store, rows, true, err);
}

/* Those pictures themselves have one style, and no PDF: others show the same. */
static bool has_own_style(const struct asked *a)
{
    return a->style || (a->end && strcmp(a->end, "pdf") == 0);
}

/* Scores of many codecs, a line each. */
static int plot_codecs(struct asked *a, enum strait_plot_y y, const json_t *all,
                       struct strait_error *err)
{
    if (a->x || a->series || a->facets.n > 0 || a->log || a->where.n > 0 || has_own_style(a))
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected --y and --out alone beside --kind codecs, as .png");
    if (y != STRAIT_PLOT_ACCURACY && y != STRAIT_PLOT_LOSS)
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected --y accuracy or loss with --kind codecs");
    if (!a->out)
        snprintf(a->base, sizeof(a->base), "%s/codecs", a->folder);
    json_t *rows = strait_rows_select(all, "", NULL);
    const int status = strait_plot_codecs(a->base, rows, y, NULL, err);
    json_decref(rows);
    if (status == 0)
        printf("%s.png\n%s.svg\n", a->base, a->base);
    return status;
}

static int plot_named(struct asked *a, enum strait_plot_y y, const struct strait_store *store,
                      const json_t *rows, struct strait_error *err)
{
    char path[PATH_CHARS + 16];
    const bool both =
        has_backend(rows, "emu") && (has_backend(rows, "sim") || has_backend(rows, "fluid"));
    int status = 0;
    if (a->y.n == 0 && is_tradeoff(store)) {
        y = STRAIT_PLOT_ACCURACY;
    } else if (a->y.n == 0 && !both && strait_rows_trained_y(rows) >= 0) {
        y = (enum strait_plot_y)strait_rows_trained_y(rows);
        if (!a->x && strait_rows_are_search(rows))
            return plot_search(a, y, store, rows, err);
        if (!a->x && strait_rows_n_codecs(rows) > MOST_IN_A_PLANE)
            return plot_codecs(a, y, rows, err);
    }
    if (!a->out)
        snprintf(a->base, sizeof(a->base), "%s/%s", a->folder, bases[y]);
    if (y >= STRAIT_PLOT_ACCURACY)
        return plot_training(rows, a->base, y, a->x && strcmp(a->x, "time") == 0, err);
    if (!both && strait_rows_differ(rows, "point") && !strait_rows_are_scaling(rows))
        return plot_any(a, store, rows, true, err);
    if (!both || strait_rows_differ(rows, "clients"))
        status = plot_scaling(store, rows, a->base, y, err);
    if (both && status == 0) {
        if (a->out)
            snprintf(path, sizeof(path), "%s%s", a->base,
                     strait_rows_differ(rows, "clients") ? "-compare" : "");
        else
            snprintf(path, sizeof(path), "%s/compare", a->folder);
        status = plot_comparison(rows, path, err);
    }
    return status;
}

/* --- the command -------------------------------------------------------------------------- */

static int check_out(struct asked *a, struct strait_error *err)
{
    static const char *const known[] = {"png", "svg", "pdf", NULL};
    const char *dot = a->out ? strrchr(a->out, '.') : NULL;
    const int i = dot ? name_index(known, dot + 1) : -1;
    if (!a->out)
        return 0;
    if (i < 0 || dot == a->out || dot[-1] == '/')
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected a name that ends in .png, .svg or .pdf after --out, "
                                "found \"%s\"",
                                a->out);
    a->end = known[i];
    snprintf(a->base, sizeof(a->base), "%.*s", (int)(dot - a->out), a->out);
    return 0;
}

static int check_name(const char *option, const char *given, const char *const *names,
                      const char *expected, struct strait_error *err)
{
    char text[128];
    snprintf(text, sizeof(text), "%s after --%s", expected, option);
    return !given || name_index(names, given) >= 0
               ? 0
               : strait_refuse_name(err, STRAIT_ERR_USAGE, "plot", text, given, names);
}

static const char *const x_names[] = {"bytes", "time", NULL};

/* A name without a slash that is none of the pictures' may be meant as a pointer: that of a column
 * is named. */
static int check_word(const char *option, const char *given, const char *const *names,
                      const char *expected, const json_t *columns, struct strait_error *err)
{
    char meant[STRAIT_JSON_POINTER_MAX];
    if (!given || given[0] == '/' || name_index(names, given) >= 0)
        return 0;
    if (strait_column_ending(meant, columns, given))
        strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                         "expected %s after --%s, found \"%.60s\", did you mean \"%s\"?", expected,
                         option, given, meant);
    else
        check_name(option, given, names, expected, err);
    return -1;
}

static int check_words(const struct asked *a, const struct strait_store *store, const json_t *rows,
                       struct strait_error *err)
{
    json_t *columns = strait_columns(store, rows, NULL);
    int failed = check_word("x", a->x, x_names, "a /pointer, bytes or time", columns, err);
    for (size_t i = 0; i < a->y.n && !failed; i++)
        failed = check_word("y", a->y.items[i], y_names,
                            "a /pointer, speed-up, time, accuracy, loss or time_to_accuracy",
                            columns, err);
    json_decref(columns);
    return failed;
}

static int check_asked(struct asked *a, struct strait_error *err)
{
    static const char *const logs[] = {"x", "y", "x,y", "y,x", "none", NULL};
    if (check_name("kind", a->kind, kinds, "lines, heat, phases, residuals or codecs", err) != 0 ||
        check_name("style", a->style, styles, "screen, paper or slides", err) != 0 ||
        check_name("log", a->log, logs, "x, y, x,y or none", err) != 0)
        return -1;
    if (a->n_columns > 2)
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected 1 or 2 after --columns, found %ld", a->n_columns);
    if (a->n_columns > 0 && (!a->style || strcmp(a->style, "paper") != 0))
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected --style paper with --columns");
    return check_out(a, err);
}

/* Is it one of the pictures that strait draws by name? */
static bool is_named(const struct asked *a)
{
    return a->y.n <= 1 && (a->y.n == 0 || a->y.items[0][0] != '/') && (!a->x || a->x[0] != '/') &&
           !a->series && a->facets.n == 0 && !a->log && !a->kind && a->where.n == 0;
}

static int plot_styled(struct asked *a, const struct strait_store *store, const json_t *rows,
                       struct strait_error *err)
{
    const bool named = is_named(a);
    const char *const y = strait_rows_trained_y(rows) >= 0 ? y_names[strait_rows_trained_y(rows)]
                          : strait_rows_are_scaling(rows)  ? y_names[STRAIT_PLOT_SPEEDUP]
                                                           : NULL;
    if (named && a->y.n == 0 && y && (a->y.items = malloc(sizeof(*a->y.items))))
        a->y.items[a->y.n++] = y;
    return plot_any(a, store, rows, named, err);
}

static int plot(struct asked *a, struct strait_error *err)
{
    struct strait_store *store;
    const int y = a->y.n > 0 ? name_index(y_names, a->y.items[0]) : STRAIT_PLOT_SPEEDUP;
    if (strait_results_open(&store, a->folder, err) != 0)
        return -1;
    json_t *rows = strait_store_rows(store);
    const int trained_y = a->y.n > 0                         ? y
                          : strait_rows_trained_y(rows) >= 0 ? strait_rows_trained_y(rows)
                                                             : STRAIT_PLOT_ACCURACY;
    const int status = check_words(a, store, rows, err) != 0 ? -1
                       : a->kind && strcmp(a->kind, "codecs") == 0
                           ? plot_codecs(a, (enum strait_plot_y)trained_y, rows, err)
                       : is_named(a) && !has_own_style(a)
                           ? plot_named(a, (enum strait_plot_y)y, store, rows, err)
                           : plot_styled(a, store, rows, err);
    json_decref(rows);
    strait_store_free(store);
    return status;
}

static const char notes[] =
    "Draws what the folder holds, each as .png and .svg in DIR: scaling, the speed-up\n"
    "of codecs by clients; accuracy, where a trade-off was run or rows trained for\n"
    "real (loss, where their task has no accuracy); plot, over whatever else varies;\n"
    "and compare, where rows were both predicted and measured.\n"
    "\n"
    "  strait plot results/wan-scaling\n"
    "  strait plot results/wan-scaling --y time --out curve.png\n"
    "\n"
    "Where runs trained for real, --y accuracy, loss and time_to_accuracy draw a\n"
    "point for each codec over the bytes that it sent (--x bytes) or its time (--x\n"
    "time). Other runs have the recorded accuracy, as a trade-off does. --kind codecs\n"
    "has a line a codec: its score, bytes and time, with and without error feedback;\n"
    "above twelve codecs that is what is drawn.\n"
    "  strait plot results/grace-accuracy --kind codecs\n"
    "  strait plot results/grace-accuracy --y accuracy\n"
    "  strait plot results/tradeoff --x time\n"
    "\n"
    "JSON Pointers ask any other question: --x is a setting of the experiment or a\n"
    "number of the rows, each --y a number (docs/results.md; strait export shows\n"
    "all). Every other setting that varies makes the lines of a panel (--series) or\n"
    "the panels (--facet), or is held at one value (--where). --y, --facet and\n"
    "--where may be repeated. Lists, as training has them, become curves.\n"
    "  strait plot DIR --x /network/client/rate --y /round_s --log x,y\n"
    "  strait plot DIR --x /codec/bound/range --y /ratio --where /clients=8\n"
    "  strait plot DIR --x /training/end_s --y /training/loss\n"
    "  strait plot DIR --kind heat --x /clients --series /network/client/rate \\\n"
    "    --y /speedup --where '/codec=sz 1e-3'\n"
    "      colour for two settings; the thick line is the break-even\n"
    "  strait plot DIR --kind phases --x /codec --facet /clients\n"
    "      seconds on the critical path, stacked\n"
    "  strait plot DIR --kind residuals --x /clients\n"
    "      predicted over measured, of runs --on both\n"
    "  strait plot DIR --y /round_s --style paper --columns 1 --out figure.pdf\n"
    "The script (.gp) and the data (.csv) lie beside the picture. Without --log, an\n"
    "axis whose values span a factor of 16 or more is logarithmic.\n";

int strait_command_plot(int argc, char **argv)
{
    struct asked a = {0};
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &a.out, "FILE.png",
         "name of the picture: png, svg or pdf"},
        {"y", 0, STRAIT_OPTION_TEXTS, &a.y, "WHAT",
         "speed-up (default), time, a score; a /pointer"},
        {"x", 0, STRAIT_OPTION_TEXT, &a.x, "WHAT", "a /pointer; of scores: bytes or time"},
        {"series", 0, STRAIT_OPTION_TEXT, &a.series, "/POINTER",
         "the setting that makes the lines"},
        {"facet", 0, STRAIT_OPTION_TEXTS, &a.facets, "/POINTER", "the setting that makes panels"},
        {"where", 0, STRAIT_OPTION_TEXTS, &a.where, "/POINTER=VALUE", "rows with this value only"},
        {"log", 0, STRAIT_OPTION_TEXT, &a.log, "AXES", "logarithmic: x, y, x,y or none"},
        {"kind", 0, STRAIT_OPTION_TEXT, &a.kind, "KIND",
         "lines, heat, phases, residuals or codecs"},
        {"style", 0, STRAIT_OPTION_TEXT, &a.style, "STYLE", "screen (default), paper or slides"},
        {"columns", 0, STRAIT_OPTION_COUNT, &a.n_columns, "N",
         "style paper: columns of the page, 1 or 2 (2)"}};
    const struct strait_usage usage = {
        "plot", "DIR", "Draw the results in a folder, by gnuplot, as PNG, SVG and PDF.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (strait_command_begin(&status, &usage, argc, argv, &a.folder, 1, NULL))
        status = check_asked(&a, &err) == 0 && plot(&a, &err) == 0 ? 0 : strait_command_fail(&err);
    free(a.y.items);
    free(a.facets.items);
    free(a.where.items);
    return status;
}
