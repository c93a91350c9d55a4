/* strait plot: the curves of a results folder as pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "analysis/plot/plot.h"
#include "analysis/store.h"
#include "cli/kit/command.h"
#include "core/names.h"
#include "cli/kit/options.h"
#include "cli/kit/tolerance.h"

enum { PATH_CHARS = 4096 };

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

static bool varies_clients(const json_t *rows)
{
    size_t i;
    json_t *row;
    const json_t *first = json_object_get(json_array_get(rows, 0), "clients");
    json_array_foreach (rows, i, row)
        if (!json_equal(json_object_get(row, "clients"), first))
            return true;
    return false;
}

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

/* FILE.png and FILE.svg are both drawn, whichever is asked for. */
static int base_of(char *buf, size_t cap, const char *out, struct strait_error *err)
{
    const size_t n = strlen(out);
    const char *end = n > 4 ? out + n - 4 : "";
    if (strcmp(end, ".png") != 0 && strcmp(end, ".svg") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "plot",
                                "expected a name that ends in .png or .svg after --out, found "
                                "\"%s\"",
                                out);
    snprintf(buf, cap, "%.*s", (int)(n - 4), out);
    return 0;
}

/* Names of --y in the order of enum strait_plot_y. */
static const char *const y_names[] = {"speed-up",         "time", "accuracy", "loss",
                                      "time_to_accuracy", NULL};
/* ... and of the pictures, without --out. */
static const char *const bases[] = {"scaling", "scaling-time", "accuracy", "loss",
                                    "time-to-accuracy"};

static int plot_training(const json_t *all, const char *path, enum strait_plot_y y, bool by_time,
                         struct strait_error *err)
{
    json_t *rows = strait_rows_select(all, "", NULL);
    const int status = strait_plot_training(path, rows, y, by_time, NULL, err);
    json_decref(rows);
    if (status == 0)
        printf("%s.png\n%s.svg\n", path, path);
    return status;
}

static int plot(const char *folder, const char *out, enum strait_plot_y y, bool by_time,
                struct strait_error *err)
{
    char base[PATH_CHARS], path[PATH_CHARS + 16];
    struct strait_store *store;
    if (out && base_of(base, sizeof(base), out, err) != 0)
        return -1;
    if (!out)
        snprintf(base, sizeof(base), "%s/%s", folder, bases[y]);
    if (strait_store_open(&store, folder, false, err) != 0)
        return -1;
    json_t *rows = strait_store_rows(store);
    const bool both =
        has_backend(rows, "emu") && (has_backend(rows, "sim") || has_backend(rows, "fluid"));
    int status = 0;
    if (y >= STRAIT_PLOT_ACCURACY) {
        status = plot_training(rows, base, y, by_time, err);
        json_decref(rows);
        strait_store_free(store);
        return status;
    }
    if (!both || varies_clients(rows))
        status = plot_scaling(store, rows, base, y, err);
    if (both && status == 0) {
        if (out)
            snprintf(path, sizeof(path), "%s%s", base, varies_clients(rows) ? "-compare" : "");
        else
            snprintf(path, sizeof(path), "%s/compare", folder);
        status = plot_comparison(rows, path, err);
    }
    json_decref(rows);
    strait_store_free(store);
    return status;
}

static const char notes[] =
    "Draws DIR/scaling.png and .svg, and if there are predicted and measured rows\n"
    "also DIR/compare.png and .svg, each with its gnuplot script and data.\n"
    "\n"
    "  strait plot results/wan-scaling\n"
    "  strait plot results/wan-scaling --y time --out curve.png\n"
    "\n"
    "Of runs that trained for real, --y accuracy, loss and time_to_accuracy draw a\n"
    "point for each codec against what it sent, or against its time.\n"
    "  strait plot results/grace-accuracy --y accuracy\n";

int strait_command_plot(int argc, char **argv)
{
    const char *out = NULL, *y_name = "speed-up", *x_name = "bytes", *folder = NULL;
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "FILE.png", "name of the pictures (or FILE.svg)"},
        {"y", 0, STRAIT_OPTION_TEXT, &y_name, "WHAT",
         "speed-up (default), time, or a score, below"},
        {"x", 0, STRAIT_OPTION_TEXT, &x_name, "WHAT", "of scores: bytes (default) or time"}};
    const struct strait_usage usage = {
        "plot",
        "DIR",
        "Draw the curves of a results folder, by gnuplot, as PNG and SVG.",
        options,
        sizeof(options) / sizeof(*options),
        notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &folder, 1, NULL))
        return status;
    size_t y = 0;
    while (y_names[y] && strcmp(y_names[y], y_name) != 0)
        y++;
    const bool time = strcmp(x_name, "time") == 0;
    if (!folder)
        strait_error_set(&err, STRAIT_ERR_USAGE, "plot", "expected a results folder, found none");
    else if (!y_names[y])
        strait_refuse_name(&err, STRAIT_ERR_USAGE, "plot",
                           "speed-up, time, accuracy, loss or time_to_accuracy after --y", y_name,
                           y_names);
    else if (!time && strcmp(x_name, "bytes") != 0)
        strait_refuse_name(&err, STRAIT_ERR_USAGE, "plot", "bytes or time after --x", x_name,
                           (const char *const[]){"bytes", "time", NULL});
    else if (plot(folder, out, (enum strait_plot_y)y, time, &err) == 0)
        return 0;
    return strait_command_fail(&err);
}
