/* Charts of reports: figures as JSON, each with its table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/plot/figure.h"
#include "analysis/table.h"
#include "html.h"
#include "report_page.h"
#include "sections.h"

enum { MAX_FACETS = 8 };

/* How many values rows have there, and the largest number among them. */
static size_t n_values(double *largest, const json_t *columns, const char *pointer)
{
    json_t *seen = json_object(), *row;
    size_t i;
    *largest = NAN;
    json_array_foreach (columns, i, row) {
        json_t *value = strait_column(row, pointer);
        char *text = value ? strait_label_value(value) : NULL;
        if (text)
            json_object_set_new(seen, text, json_true());
        if (json_is_number(value) && !(json_number_value(value) <= *largest))
            *largest = json_number_value(value);
        free(text);
        json_decref(value);
    }
    const size_t n = json_object_size(seen);
    json_decref(seen);
    return n;
}

/* Every pointer that is varied, but the codec's: a new array. */
static json_t *varied(const json_t *columns)
{
    json_t *found = json_array(), *seen = json_object(), *row, *value;
    const char *pointer;
    double largest;
    size_t i;
    json_array_foreach (columns, i, row)
        json_object_foreach (json_object_get(json_object_get(row, "row"), "labels"), pointer,
                             value) {
            if (strait_label_is_codec(pointer) || json_object_get(seen, pointer))
                continue;
            json_object_set_new(seen, pointer, json_true());
            if (n_values(&largest, columns, pointer) > 1)
                json_array_append_new(found, json_string(pointer));
        }
    json_decref(seen);
    return found;
}

/* The figure in one panel, or with a panel for each setting where that is too much. */
static json_t *figure_of(const json_t *columns, struct strait_figure_question q, const json_t *axes,
                         struct strait_error *err)
{
    const char *facets[MAX_FACETS];
    struct strait_error first = {0};
    json_t *figure = strait_figure(columns, &q, NULL, &first);
    for (size_t i = 0; i < json_array_size(axes) && q.n_facets < MAX_FACETS; i++)
        if (strcmp(json_string_value(json_array_get(axes, i)), q.x) != 0)
            facets[q.n_facets++] = json_string_value(json_array_get(axes, i));
    q.facets = facets;
    if (!figure && q.n_facets > 0)
        figure = strait_figure(columns, &q, NULL, err);
    else if (!figure)
        *err = first;
    return figure;
}

/* --- tables ------------------------------------------------------------------------------- */

static const char *number(char buf[STRAIT_NUMBER_CHARS], const json_t *value)
{
    return json_is_number(value) ? strait_format_number(buf, json_number_value(value), 4) : "";
}

static const char *across(char buf[STRAIT_NUMBER_CHARS], const json_t *axis, const json_t *value)
{
    const json_t *names = json_object_get(axis, "names");
    const char *name = json_string_value(json_array_get(names, (size_t)json_number_value(value)));
    return json_is_array(names) ? name ? name : "" : number(buf, value);
}

static void put_table(FILE *out, const json_t *figure)
{
    const json_t *x = json_object_get(figure, "x");
    const char *const columns[] = {
        "panel", strait_text_of(x, "label"), "line", "number", "value", "low", "high", NULL};
    json_t *panel, *line, *point;
    size_t i, k, l;
    fputs("<details><summary>The same as a table</summary>\n", out);
    strait_html_table(out, "All points of the chart", columns);
    json_array_foreach (json_object_get(figure, "panels"), i, panel)
        json_array_foreach (json_object_get(panel, "lines"), k, line)
            json_array_foreach (json_object_get(line, "points"), l, point) {
                char at[STRAIT_NUMBER_CHARS], y[STRAIT_NUMBER_CHARS], low[STRAIT_NUMBER_CHARS],
                    high[STRAIT_NUMBER_CHARS];
                const char *const cells[] = {strait_text_of(panel, "title"),
                                             across(at, x, json_array_get(point, 0)),
                                             strait_text_of(line, "label"),
                                             strait_text_of(json_object_get(panel, "y"), "label"),
                                             number(y, json_array_get(point, 1)),
                                             number(low, json_array_get(point, 2)),
                                             number(high, json_array_get(point, 3)),
                                             NULL};
                strait_html_row(out, cells);
            }
    strait_html_table_end(out);
    fputs("</details>\n", out);
}

static void put_chart(FILE *out, const json_t *figure, const char *what)
{
    size_t i;
    json_t *note;
    fputs("<div class=\"chart\" role=\"img\" aria-label=\"", out);
    strait_html_textf(out, "Chart: %s. Its points are in the table below.", what);
    fputs("\"><script type=\"application/json\">", out);
    strait_html_json(out, figure);
    fputs("</script></div>\n", out);
    json_array_foreach (json_object_get(figure, "notes"), i, note) {
        fputs("<p class=\"note\">", out);
        strait_html_text(out, json_string_value(note));
        fputs("</p>\n", out);
    }
    put_table(out, figure);
}

static void put_figure(FILE *out, const json_t *columns, const struct strait_figure_question *q,
                       const json_t *axes, const char *what)
{
    struct strait_error err = {0};
    json_t *figure = figure_of(columns, *q, axes, &err);
    if (figure) {
        put_chart(out, figure, what);
    } else {
        fputs("<p class=\"note\">", out);
        strait_html_textf(out, "No chart: %s", err.text);
        fputs("</p>\n", out);
    }
    json_decref(figure);
}

/* --- sections ----------------------------------------------------------------------------- */

static bool has_numbers(const json_t *columns, const char *pointer)
{
    double largest;
    n_values(&largest, columns, pointer);
    return isfinite(largest);
}

void strait_report_curves(FILE *out, const struct strait_report_section *s)
{
    static const char *const round[] = {"/round_s"}, *const speedup[] = {"/speedup"},
                             *const loss[] = {"/training/loss"};
    json_t *axes = varied(s->columns);
    double largest;
    struct strait_figure_question q = {.x = strait_figure_x(s->columns), .y = round, .n_y = 1};
    const bool several = json_array_size(s->columns) > 1; /* one point makes no curve */
    json_t *trained = strait_column(json_array_get(s->columns, 0), "/training/loss");
    if (several || json_is_array(trained))
        fputs("<h3>Curves</h3>\n", out);
    if (several)
        put_figure(out, s->columns, &q, axes, "time of a round");
    if (several && has_numbers(s->columns, "/speedup") &&
        n_values(&largest, s->columns, "/codec") > 1) {
        q.y = speedup;
        put_figure(out, s->columns, &q, axes, "speed-up over no compression");
    }
    if (json_is_array(trained)) {
        q.y = loss;
        q.x = "/training/end_s";
        put_figure(out, s->columns, &q, axes, "loss over the time of training");
    }
    json_decref(trained);
    json_decref(axes);
}

/* As the rows say it: where the network counts the clients, they are no setting. */
static double most_clients(const json_t *columns)
{
    double most = 0;
    size_t i;
    json_t *row;
    json_array_foreach (columns, i, row)
        most =
            fmax(most, json_number_value(json_object_get(json_object_get(row, "row"), "clients")));
    return most;
}

/* Of the most clients, a bar for each codec. */
void strait_report_phases(FILE *out, const struct strait_report_section *s)
{
    json_t *axes = varied(s->columns), *largest = json_array(), *row;
    double most, at;
    size_t i;
    n_values(&most, s->columns, "/clients");
    json_array_foreach (s->columns, i, row) {
        json_t *value = strait_column(row, "/clients");
        at = json_number_value(value);
        if (!(at < most))
            json_array_append(largest, row);
        json_decref(value);
    }
    const struct strait_figure_question q = {.kind = STRAIT_FIGURE_PHASES, .x = "/codec"};
    fputs("<h3>Where the time goes</h3>\n<p>", out);
    if (!isfinite(most))
        most = most_clients(s->columns);
    strait_html_textf(out, "Seconds a round on the critical path, with %.10g clients.", most);
    fputs("</p>\n", out);
    put_figure(out, largest, &q, axes, "phases of the critical path");
    json_decref(largest);
    json_decref(axes);
}
