/* Draws figures: the script, the data as CSV, the pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/columns/csv_fields.h"
#include "analysis/fields.h"
#include "figure.h"
#include "sheet.h"

enum { PATH_CHARS = 4096 };
#define MIN_PANEL_LETTERS 4.0 /* letters' heights that a panel has at least: three tics */

static bool is_kind(const json_t *figure, const char *kind)
{
    return strcmp(strait_text_of(figure, "kind"), kind) == 0;
}

/* What a coordinate means: a category's name, or the number. */
static void put_coordinate(FILE *out, const json_t *axis, const json_t *value)
{
    const json_t *names = json_object_get(axis, "names");
    const json_t *name = json_array_get(names, (size_t)json_number_value(value));
    strait_csv_put(out, json_is_array(names) ? name : value);
}

static int write_csv(const char *file, const json_t *figure, struct strait_error *err)
{
    const json_t *x = json_object_get(figure, "x"), *by = json_object_get(figure, "by");
    const bool heat = json_is_object(by);
    json_t *panel, *line, *point;
    size_t i, k, l;
    FILE *out = fopen(file, "we");
    if (!out)
        return strait_error_path(err, file, "cannot write");
    fprintf(out, "panel,number,%s,x,y,low,high\r\n", heat ? "by" : "line");
    json_array_foreach (json_object_get(figure, "panels"), i, panel)
        json_array_foreach (json_object_get(panel, "lines"), k, line)
            json_array_foreach (json_object_get(line, "points"), l, point) {
                strait_csv_put(out, json_object_get(panel, "title"));
                fputc(',', out);
                strait_csv_put(out, json_object_get(json_object_get(panel, "y"), "pointer"));
                fputc(',', out);
                if (heat)
                    put_coordinate(out, by, json_array_get(point, 1));
                else
                    strait_csv_put(out, json_object_get(line, "label"));
                fputc(',', out);
                put_coordinate(out, x, json_array_get(point, 0));
                for (size_t column = heat ? 2 : 1; column < 4; column++) {
                    fputc(',', out);
                    strait_csv_put(out, json_array_get(point, column));
                }
                fputs(heat ? ",\r\n" : "\r\n", out);
            }
    const bool failed = ferror(out);
    if (fclose(out) == 0 && !failed)
        return 0;
    strait_error_path(err, file, "cannot write");
    unlink(file);
    return -1;
}

int strait_figure_draw(const char *path, const json_t *figure, const char *const *ends,
                       size_t n_ends, enum strait_figure_style style, int n_columns,
                       struct strait_error *err)
{
    struct strait_sheet s = {0};
    char csv[PATH_CHARS];
    snprintf(csv, sizeof(csv), "%.4000s.csv", path);
    strait_sheet_plan(&s, figure, style, n_columns);
    if (s.panel_height_pt < MIN_PANEL_LETTERS * s.small_pt)
        return strait_refuse(err, "plot",
                             "expected fewer panels than %zu, which do not fit on this page; "
                             "--where takes some of them, --style screen and paper grow",
                             strait_sheet_n_panels(figure));
    if (write_csv(csv, figure, err) != 0 ||
        strait_plot_script_open(&s.script, path, &s.page, err) != 0)
        return -1;
    s.script.ends = ends;
    s.script.n_ends = n_ends;
    strait_sheet_titles(&s);
    for (size_t i = 0; i < json_array_size(json_object_get(figure, "panels")); i++) {
        if (is_kind(figure, "heat"))
            strait_sheet_heat(&s, i);
        else if (is_kind(figure, "phases"))
            strait_sheet_phases(&s, i);
        else
            strait_sheet_lines(&s, i);
        if (i == 0)
            strait_plot_script_titled(&s.script);
    }
    if (is_kind(figure, "phases"))
        strait_sheet_phase_legend(&s);
    else if (!is_kind(figure, "heat") && !s.direct)
        strait_sheet_line_legend(&s);
    return strait_plot_script_run(&s.script, path, err);
}
