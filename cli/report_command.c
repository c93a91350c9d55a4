/* strait report: results as one page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/breakdown.h"
#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/report/report_page.h"
#include "analysis/store.h"
#include "analysis/timeline/timeline.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "cli/kit/results.h"
#include "cli/kit/row_spans.h"
#include "core/shipped.h"

enum { PATH_CHARS = 4096, MAX_FOLDERS = 16, MAX_CLIENTS = 16, LABEL_CHARS = 256 };

/* --- a timeline ---------------------------------------------------------------------------- */

/* Of the rows that are simulated again in no time the one with the most clients, of those the one
 * whose codec gains most: what fits into a picture, shows everything and is what the answer is
 * about, where that has as many clients. */
static const json_t *row_to_show(const json_t *columns)
{
    const json_t *best = NULL;
    double most = 0;
    size_t i;
    json_t *each;
    json_array_foreach (columns, i, each) {
        const json_t *row = json_object_get(each, "row");
        const double n = strait_row_number(row, "clients");
        json_t *gain = strait_column(each, "/speedup");
        const double speedup = fmax(json_number_value(gain), 0),
                     score = n + (strait_label_row_is_plain(row) ? 0 : 0.5) +
                             0.4 * speedup / (1 + speedup);
        json_decref(gain);
        if (strcmp(strait_text_of(row, "backend"), "emu") == 0 || n > MAX_CLIENTS ||
            json_is_object(json_object_get(row, "training")) ||
            !json_is_true(json_object_get(row, "valid")) || !(score > most))
            continue;
        best = row;
        most = score;
    }
    return best;
}

/* The first round's span of time. */
static bool first_round(struct strait_timeline *t)
{
    struct strait_span_walk walk;
    strait_spans_begin_kind(&walk, &t->logs[0].spans, STRAIT_SPAN_ROUND);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));)
        if (s->kind == STRAIT_SPAN_ROUND) {
            t->from_s = s->start_s;
            t->to_s = s->end_s;
            return true;
        }
    return false;
}

/* The picture of a row's first round; NULL: it has none, which is no failure of the report. */
static char *timeline_of(char label[LABEL_CHARS], const char *folder,
                         const struct strait_store *store, const struct strait_names *names,
                         const json_t *row)
{
    struct strait_timeline t = {.title = ""};
    struct strait_log *logs = NULL;
    struct strait_breakdown b = {0};
    char *text = NULL;
    size_t len_bytes;
    bool drawn = false;
    const char *setting = strait_names_setting(names, row);
    snprintf(label, LABEL_CHARS, "%.0f clients, %s%s%s, on %s", strait_row_number(row, "clients"),
             strait_names_codec(names, row), *setting ? ", " : "", setting,
             strait_text_of(row, "backend"));
    if (strait_row_spans(&logs, &t.n_ranks, &t.has_server, folder, store, row, NULL) == 0) {
        t.logs = logs;
        FILE *out = open_memstream(&text, &len_bytes);
        if (out && strait_breakdown_of(&b, logs, t.n_ranks, t.has_server, NULL) == 0 &&
            first_round(&t)) {
            t.path = b.steps;
            t.n_path = b.n_steps;
            drawn = strait_timeline_svg(out, &t, NULL) == 0;
        }
        drawn = out && fclose(out) == 0 && drawn;
    }
    for (int r = 0; logs && r < t.n_ranks; r++)
        strait_log_release(&logs[r]);
    free(logs);
    strait_breakdown_release(&b);
    if (drawn)
        return text;
    free(text);
    return NULL;
}

/* --- the document -------------------------------------------------------------------------- */

static int put_folder(FILE *out, const char *folder, struct strait_error *err)
{
    struct strait_store *store;
    char label[LABEL_CHARS] = "", *timeline = NULL;
    int status = -1;
    if (strait_results_open(&store, folder, err) != 0)
        return -1;
    json_t *rows = strait_store_rows(store), *columns = strait_columns(store, rows, err);
    struct strait_names *names = NULL;
    if (columns && json_array_size(columns) == 0) {
        strait_refuse(err, folder, "expected rows, found none");
    } else if (columns && strait_names_new(&names, rows, err) == 0) {
        const json_t *shown = row_to_show(columns);
        if (shown)
            timeline = timeline_of(label, folder, store, names, shown);
        const struct strait_report_section section = {folder, store,    columns,
                                                      names,  timeline, label};
        status = strait_report_put(out, &section, err);
    }
    free(timeline);
    strait_names_free(names);
    json_decref(columns);
    json_decref(rows);
    strait_store_free(store);
    return status;
}

enum part { CHARTS_JS, CHARTS_CSS, STYLE, SCRIPT, N_PARTS };

static int read_parts(char *parts[N_PARTS], struct strait_error *err)
{
    static const char *const names[N_PARTS] = {"page/uplot/uPlot.iife.min.js",
                                               "page/uplot/uPlot.min.css", "page/report/report.css",
                                               "page/report/report.js"};
    char path[PATH_CHARS];
    for (int i = 0; i < N_PARTS; i++) {
        unsigned char *bytes;
        size_t len_bytes;
        if (strait_file_read(&bytes, &len_bytes, strait_share_path(path, sizeof(path), names[i]),
                             err) != 0)
            return -1;
        parts[i] = strndup((const char *)bytes, len_bytes);
        free(bytes);
        if (!parts[i])
            return strait_error_memory(err, "report");
    }
    return 0;
}

static void command_text(char text[PATH_CHARS], const char *const *folders, size_t n,
                         const char *file)
{
    snprintf(text, PATH_CHARS, "strait report");
    for (size_t i = 0; i < n; i++)
        strait_text_add(text, PATH_CHARS, " %s", folders[i]);
    strait_text_add(text, PATH_CHARS, " --out %s", file);
}

static int report(const char *const *folders, size_t n, const char *title, const char *file,
                  struct strait_error *err)
{
    char *parts[N_PARTS] = {NULL}, *text = NULL, command[PATH_CHARS];
    size_t len_bytes = 0;
    int status = read_parts(parts, err);
    FILE *out = status == 0 ? open_memstream(&text, &len_bytes) : NULL;
    command_text(command, folders, n, file);
    if (out) {
        strait_report_begin(out, title, parts[CHARTS_JS], parts[CHARTS_CSS], parts[STYLE]);
        for (size_t i = 0; i < n && status == 0; i++)
            status = put_folder(out, folders[i], err);
        strait_report_end(out, parts[SCRIPT], command);
        if (fclose(out) != 0 && status == 0)
            status = strait_error_memory(err, "report");
    }
    if (status == 0)
        status = strait_file_write(file, true, text, len_bytes, NULL, 0, err);
    for (int i = 0; i < N_PARTS; i++)
        free(parts[i]);
    free(text);
    return status;
}

static const char notes[] =
    "The file loads nothing from elsewhere. It has the question, the answer in a\n"
    "sentence, curves with intervals, where the time goes, one round as a picture,\n"
    "predicted against measured times, all points, settings and constants with their\n"
    "sources, and the command. Charts work by mouse and keyboard, and each has a\n"
    "table. The page prints and fits a phone.\n"
    "\n"
    "  strait report results/wan-scaling\n"
    "  strait report results/wan-scaling results/wan-check --out wan.html\n";

int strait_command_report(int argc, char **argv)
{
    const char *folders[MAX_FOLDERS], *out = "report.html", *title = "strait report";
    size_t n = 0;
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "FILE", "the page (report.html)"},
        {"title", 0, STRAIT_OPTION_TEXT, &title, "TEXT", "title of the page (strait report)"}};
    const struct strait_usage usage = {"report", "DIR...",
                                       "Write results as one HTML page that needs nothing else.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, folders, MAX_FOLDERS, &n))
        return status;
    if (report(folders, n, title, out, &err) == 0) {
        printf("%s\n", out);
        return 0;
    }
    return strait_command_fail(&err);
}
