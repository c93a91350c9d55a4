/* The answer in words, and the tables of reports. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/columns/columns.h"
#include "analysis/compare.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/table.h"
#include "core/json.h"
#include "html.h"
#include "report_page.h"
#include "sections.h"

enum { MAX_OPEN = 8 };

static double number_at(const json_t *columns, const char *pointer)
{
    json_t *value = strait_column(columns, pointer);
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    json_decref(value);
    return number;
}

static const char *shown(char buf[STRAIT_NUMBER_CHARS], double value)
{
    return isfinite(value) ? strait_format_number(buf, value, 4) : "";
}

/* "8 clients, sz 1e-3, server rate 1 Gbps"; a new string, or NULL. */
static char *point_text(const struct strait_report_section *s, const json_t *columns)
{
    const json_t *row = json_object_get(columns, "row");
    const char *codec = strait_names_codec(s->names, row),
               *setting = strait_names_setting(s->names, row);
    char *text = NULL;
    return asprintf(&text, "%lld clients, %s%s%s",
                    (long long)json_integer_value(json_object_get(row, "clients")),
                    strcmp(codec, "none") == 0 ? "no compression" : codec, *setting ? ", " : "",
                    setting) < 0
               ? NULL
               : text;
}

static bool is_valid(const json_t *columns)
{
    return json_is_true(json_object_get(json_object_get(columns, "row"), "valid"));
}

/* --- the answer --------------------------------------------------------------------------- */

/* The row whose codec gains most over none, or where there is none the quickest. */
static const json_t *best_of(const json_t *all, bool *gains)
{
    const json_t *best = NULL, *quickest = NULL;
    size_t i;
    json_t *columns;
    json_array_foreach (all, i, columns) {
        if (!is_valid(columns))
            continue;
        const double speedup = number_at(columns, "/speedup");
        if (speedup > 1 && !(best && speedup <= number_at(best, "/speedup")))
            best = columns;
        if (!quickest || number_at(columns, "/round_s") < number_at(quickest, "/round_s"))
            quickest = columns;
    }
    *gains = best != NULL;
    return best ? best : quickest;
}

static bool is_breakeven(const json_t *record, const json_t *row)
{
    return strcmp(strait_text_of(record, "record"), "break-even") == 0 &&
           strcmp(strait_text_of(record, "sweep"), strait_text_of(row, "sweep")) == 0;
}

static void put_breakevens(FILE *out, const struct strait_report_section *s)
{
    const json_t *first = json_object_get(json_array_get(s->columns, 0), "row");
    size_t i, n = 0, n_all = 0;
    json_t *record;
    json_array_foreach (strait_store_records(s->store), i, record)
        n_all += is_breakeven(record, first);
    json_array_foreach (strait_store_records(s->store), i, record) {
        if (!is_breakeven(record, first))
            continue;
        if (n++ == 0)
            fprintf(out,
                    "<h3>From how many clients on compression pays</h3>\n<details%s><summary>%zu "
                    "curve%s</summary>\n<ul>\n",
                    n_all <= MAX_OPEN ? " open" : "", n_all, n_all == 1 ? "" : "s");
        fputs("<li>", out);
        const char *setting = strait_text_of(record, "setting");
        strait_html_textf(out, "%s%s%s: %s", strait_text_of(record, "codec"), *setting ? ", " : "",
                          setting, strait_text_of(record, "text"));
        fputs("</li>\n", out);
    }
    fputs(n > 0 ? "</ul>\n</details>\n" : "", out);
}

void strait_report_answer(FILE *out, const struct strait_report_section *s)
{
    bool gains;
    char round[STRAIT_NUMBER_CHARS], low[STRAIT_NUMBER_CHARS], high[STRAIT_NUMBER_CHARS],
        factor[STRAIT_NUMBER_CHARS];
    const json_t *best = best_of(s->columns, &gains);
    if (!best)
        return;
    const double low_s = number_at(best, "/interval_s/0"),
                 high_s = number_at(best, "/interval_s/1");
    const json_t *limits = json_object_get(json_object_get(best, "row"), "limits");
    char *text = point_text(s, best);
    fputs("<p class=\"answer\">", out);
    strait_seconds_text(round, number_at(best, "/round_s"));
    if (gains)
        strait_html_textf(out,
                          "Compression gains most with %s: a round takes %s, %s times as fast "
                          "as without.",
                          text ? text : "", round,
                          strait_format_number(factor, number_at(best, "/speedup"), 3));
    else
        strait_html_textf(out, "%s %s: a round takes %s.",
                          json_array_size(s->columns) > 1 ? "The quickest of all points is"
                                                          : "The point is",
                          text ? text : "", round);
    free(text);
    if (isfinite(low_s) && isfinite(high_s))
        strait_html_textf(out, " In 90 of 100 cases it lies between %s and %s.",
                          strait_seconds_text(low, low_s), strait_seconds_text(high, high_s));
    if (*strait_text_of(limits, "text"))
        strait_html_textf(out, " What limits it: %s.", strait_text_of(limits, "text"));
    fputs("</p>\n", out);
    put_breakevens(out, s);
}

/* --- points ------------------------------------------------------------------------------- */

void strait_report_points(FILE *out, const struct strait_report_section *s)
{
    static const char *const names[] = {"point",          "backend",  "round (s)", "low",
                                        "high",           "speed-up", "ratio",     "sent (MB)",
                                        "what limits it", "rests on", NULL};
    size_t i;
    json_t *columns;
    fputs("<h3>All points</h3>\n<details><summary>", out);
    const size_t n_rows = json_array_size(s->columns);
    strait_html_textf(out, "%zu row%s", n_rows, n_rows == 1 ? "" : "s");
    fputs("</summary>\n", out);
    strait_html_table(out, "All points", names);
    json_array_foreach (s->columns, i, columns) {
        const json_t *row = json_object_get(columns, "row");
        char *text = point_text(s, columns), n[6][STRAIT_NUMBER_CHARS];
        const char *const cells[] = {text ? text : "",
                                     is_valid(columns) ? strait_text_of(row, "backend") : "INVALID",
                                     shown(n[0], number_at(columns, "/round_s")),
                                     shown(n[1], number_at(columns, "/interval_s/0")),
                                     shown(n[2], number_at(columns, "/interval_s/1")),
                                     shown(n[3], number_at(columns, "/speedup")),
                                     shown(n[4], number_at(columns, "/ratio")),
                                     shown(n[5], number_at(columns, "/bytes/payload") / 1e6),
                                     strait_text_of(json_object_get(row, "limits"), "text"),
                                     strait_text_of(json_object_get(row, "evidence"), "basis"),
                                     NULL};
        strait_html_row(out, cells);
        free(text);
    }
    strait_html_table_end(out);
    fputs("</details>\n", out);
}

/* --- agreement ---------------------------------------------------------------------------- */

/* The point with these labels in the words of the other tables. */
static char *labels_text(const struct strait_report_section *s, const json_t *labels)
{
    size_t i;
    json_t *columns;
    json_array_foreach (s->columns, i, columns)
        if (json_equal(json_object_get(json_object_get(columns, "row"), "labels"), labels))
            return point_text(s, columns);
    return strait_label_set(labels);
}

void strait_report_agreement(FILE *out, const struct strait_report_section *s)
{
    static const struct strait_compare_options within = {.tolerance_ratio = 0.1, .floor_s = 0.005};
    static const char *const names[] = {
        "point", "phase", "predicted (s)", "measured (s)", "difference", "within", NULL};
    json_t *rows = json_array(), *columns, *pair, *phase;
    size_t i;
    const char *name;
    bool measured = false;
    json_array_foreach (s->columns, i, columns) {
        const json_t *row = json_object_get(columns, "row");
        measured = measured || strcmp(strait_text_of(row, "backend"), "emu") == 0;
        json_array_append(rows, (json_t *)(uintptr_t)row);
    }
    json_t *comparison = measured ? strait_compare(rows, NULL, &within, NULL) : NULL;
    json_decref(rows);
    if (!comparison)
        return;
    fputs("<h3>Predicted against measured</h3>\n<p>Allowed are 10 % of the measured value, or 5 "
          "ms.</p>\n",
          out);
    strait_html_table(out, "Predicted against measured", names);
    json_array_foreach (json_object_get(comparison, "pairs"), i, pair) {
        char *labels = labels_text(s, json_object_get(pair, "labels"));
        json_object_foreach (json_object_get(pair, "phases"), name, phase) {
            char n[3][STRAIT_NUMBER_CHARS];
            const double relative = strait_row_number(phase, "relative");
            const bool judged = json_is_true(json_object_get(phase, "judged"));
            if (!isfinite(strait_row_number(phase, "predicted_s")) &&
                !isfinite(strait_row_number(phase, "measured_s")))
                continue;
            snprintf(n[2], sizeof(n[2]), isfinite(relative) ? "%+.1f %%" : "", 100 * relative);
            const char *const cells[] = {labels ? labels : "",
                                         name,
                                         shown(n[0], strait_row_number(phase, "predicted_s")),
                                         shown(n[1], strait_row_number(phase, "measured_s")),
                                         n[2],
                                         !judged                                          ? ""
                                         : json_is_true(json_object_get(phase, "within")) ? "yes"
                                                                                          : "NO",
                                         NULL};
            strait_html_row(out, cells);
        }
        free(labels);
    }
    strait_html_table_end(out);
    json_decref(comparison);
}

/* --- sources ------------------------------------------------------------------------------ */

static void put_pairs(FILE *out, const char *summary, const json_t *pairs)
{
    static const char *const names[] = {"name", "value", NULL};
    const char *key;
    json_t *value;
    if (json_object_size(pairs) == 0)
        return;
    fputs("<details><summary>", out);
    strait_html_text(out, summary);
    fputs("</summary>\n", out);
    strait_html_table(out, summary, names);
    json_object_foreach ((json_t *)(uintptr_t)pairs, key, value) {
        char *text = strait_label_value(value);
        const char *const cells[] = {key, text ? text : "", NULL};
        strait_html_row(out, cells);
        free(text);
    }
    strait_html_table_end(out);
    fputs("</details>\n", out);
}

static void put_constants(FILE *out, const struct strait_report_section *s, const json_t *header)
{
    static const char *const names[] = {"constant", "value", "source", NULL};
    json_t *all = json_object(), *record, *constant;
    const char *key;
    size_t i;
    json_object_update(all, json_object_get(header, "constants"));
    json_array_foreach (strait_store_records(s->store), i, record)
        if (strcmp(strait_text_of(record, "record"), "constants") == 0)
            json_object_update_missing(all, json_object_get(record, "constants"));
    if (json_object_size(all) > 0) {
        fputs("<details><summary>Constants and their sources</summary>\n", out);
        strait_html_table(out, "Constants and their sources", names);
        json_object_foreach (all, key, constant) {
            char *value = strait_label_value(json_object_get(constant, "value"));
            const char *const cells[] = {key, value ? value : "",
                                         strait_text_of(constant, "source"), NULL};
            strait_html_row(out, cells);
            free(value);
        }
        strait_html_table_end(out);
        fputs("</details>\n", out);
    }
    json_decref(all);
}

static void put_approximations(FILE *out, const json_t *all)
{
    json_t *seen = json_object(), *columns, *text;
    size_t i, k;
    fputs("<details><summary>What is approximated</summary>\n<ul>\n", out);
    json_array_foreach (all, i, columns)
        json_array_foreach (json_object_get(json_object_get(columns, "row"), "approximations"), k,
                            text) {
            if (json_object_get(seen, json_string_value(text)))
                continue;
            json_object_set_new(seen, json_string_value(text), json_true());
            fputs("<li>", out);
            strait_html_text(out, json_string_value(text));
            fputs("</li>\n", out);
        }
    fputs("</ul>\n</details>\n", out);
    json_decref(seen);
}

static void put_command(FILE *out, const json_t *header, const char *folder)
{
    const json_t *of = json_object_get(header, "experiment"), *run, *value;
    const char *pointer;
    size_t i;
    json_array_foreach (json_object_get(header, "runs"), i, run) {
        fputs("<pre tabindex=\"0\"><code>", out);
        strait_html_textf(out, "strait run %s --on %s", strait_text_of(of, "file"),
                          strait_text_of(run, "backend"));
        json_object_foreach (json_object_get(of, "set"), pointer, value) {
            char *text = strait_label_value(value);
            strait_html_textf(out, " --set '%s=%s'", pointer, text ? text : "");
            free(text);
        }
        strait_html_textf(out, " --out %s", folder);
        fputs("</code></pre>\n", out);
    }
}

void strait_report_sources(FILE *out, const struct strait_report_section *s)
{
    const json_t *header =
        strait_columns_header(s->store, json_object_get(json_array_get(s->columns, 0), "row"));
    const json_t *of = json_object_get(header, "experiment"),
                 *profile = json_object_get(json_object_get(header, "profile"), "as");
    json_t *settings = json_object(), *made = json_object();
    strait_json_leaves(settings, "", json_object_get(of, "base"));
    json_object_update(settings, json_object_get(of, "vary"));
    strait_json_leaves(made, "version", json_object_get(header, "versions"));
    strait_json_leaves(made, "machine", json_object_get(header, "machine"));
    json_object_set(made, "date", json_object_get(header, "date"));
    json_object_set(made, "profile", json_object_get(profile, "title"));
    json_object_set(made, "profile/machine", json_object_get(profile, "machine"));
    json_object_set(made, "profile/source", json_object_get(profile, "source"));
    fputs("<h3>What it rests on</h3>\n", out);
    put_pairs(out, "Settings", settings);
    put_constants(out, s, header);
    put_approximations(out, s->columns);
    put_pairs(out, "Versions, machine, profile", made);
    put_command(out, header, s->folder);
    json_decref(settings);
    json_decref(made);
}
