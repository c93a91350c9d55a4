/* strait timeline: what every rank of one row did when. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/breakdown.h"
#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row_names.h"
#include "analysis/store.h"
#include "analysis/timeline/timeline.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "cli/kit/results.h"
#include "cli/kit/row_spans.h"
#include "core/names.h"

enum { PATH_CHARS = 4096, DEFAULT_COLUMNS = 80 };

/* What was asked for, and the run. */
struct asked {
    const char *folder, *out, *format;
    struct strait_texts where;
    long point, round;
    /* --- found out */
    json_t *rows; /* of the folder, and their names */
    struct strait_names *names;
    const json_t *row;
    struct strait_log *logs;
    int n_ranks;
    bool has_server;
};

/* --- the row ------------------------------------------------------------------------------- */

static const json_t *choose_row(struct asked *a, const struct strait_store *store, json_t **columns,
                                struct strait_error *err)
{
    a->rows = strait_store_rows(store);
    *columns =
        strait_names_new(&a->names, a->rows, err) == 0 ? strait_columns(store, a->rows, err) : NULL;
    for (size_t i = 0; *columns && i < a->where.n; i++) {
        json_t *left = strait_columns_where(*columns, a->where.items[i], err);
        json_decref(*columns);
        *columns = left;
    }
    const size_t n = json_array_size(*columns);
    if (*columns && n == 0) {
        strait_refuse(err, a->folder, "expected results, found no row");
        return NULL;
    }
    if (*columns && (size_t)a->point > n) {
        strait_refuse(err, "timeline", "expected a row from 1 to %zu after --point, found %ld", n,
                      a->point);
        return NULL;
    }
    const json_t *chosen =
        *columns ? json_array_get(*columns, a->point > 0 ? (size_t)a->point - 1 : 0) : NULL;
    if (chosen && a->point == 0 && n > 1)
        fprintf(stderr, "strait: the first of %zu rows (--point K, --where /POINTER=VALUE)\n", n);
    return json_object_get(chosen, "row");
}

/* A new string, or NULL. */
static char *title_of(const struct asked *a)
{
    json_t *others = json_object(), *value;
    const char *pointer;
    char *title = NULL;
    json_object_foreach (json_object_get(a->row, "labels"), pointer, value)
        if (!strait_label_is_codec(pointer))
            json_object_set(others, pointer, value);
    char *labels = strait_label_set(others),
         *set = strait_label_set(json_object_get(a->row, "set"));
    if (asprintf(&title, "%s: %s, codec %s%s%s%s%s", strait_text_of(a->row, "title"),
                 strait_text_of(a->row, "backend"), strait_names_codec(a->names, a->row),
                 labels && *labels ? ", " : "", labels ? labels : "", set && *set ? "; set: " : "",
                 set ? set : "") < 0)
        title = NULL;
    free(labels);
    free(set);
    json_decref(others);
    return title;
}

/* --- writing ------------------------------------------------------------------------------- */

static size_t screen_columns(void)
{
    const char *said = getenv("COLUMNS");
    struct winsize size;
    if (said && atoi(said) > 0)
        return (size_t)atoi(said);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : DEFAULT_COLUMNS;
}

/* From the start of a round to its end; 0: all of them. Whether there is such a one. */
static bool find_round(struct strait_timeline *t, long round)
{
    bool found = false;
    long n = 0;
    t->from_s = INFINITY;
    t->to_s = -INFINITY;
    struct strait_span_walk walk;
    strait_spans_begin(&walk, &t->logs[0].spans);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));) {
        if (s->kind != STRAIT_SPAN_ROUND || (++n != round && round > 0))
            continue;
        t->from_s = fmin(t->from_s, s->start_s);
        t->to_s = fmax(t->to_s, s->end_s);
        found = true;
    }
    if (round == 0)
        t->from_s = fmin(t->from_s, 0);
    return found;
}

static int write_as(FILE *out, const struct strait_timeline *t, const char *format,
                    struct strait_error *err)
{
    return strcmp(format, "text") == 0   ? strait_timeline_text(out, t, screen_columns(), err)
           : strcmp(format, "paje") == 0 ? strait_timeline_paje(out, t, err)
                                         : strait_timeline_chrome(out, t, err);
}

/* Half a timeline is none, but a device stays one. */
static int write_file(const char *path, const struct strait_timeline *t, const char *format,
                      struct strait_error *err)
{
    struct stat info;
    FILE *out = fopen(path, "we");
    if (!out)
        return strait_error_path(err, path, "cannot write");
    const bool is_file = fstat(fileno(out), &info) == 0 && S_ISREG(info.st_mode);
    int status = write_as(out, t, format, err);
    const bool whole = !ferror(out);
    if ((fclose(out) != 0 || !whole) && status == 0)
        status = strait_error_system(err, path, "cannot write");
    if (status != 0 && is_file)
        unlink(path);
    return status;
}

static int write_timeline(const struct asked *a, const char *format, struct strait_error *err)
{
    struct strait_breakdown b;
    const bool text = strcmp(format, "text") == 0;
    const long round = a->round > 0 ? a->round : text ? 1 : 0;
    if (strait_breakdown_of(&b, a->logs, a->n_ranks, a->has_server, err) != 0)
        return -1;
    char *title = title_of(a);
    struct strait_timeline t = {.title = title ? title : "",
                                .logs = a->logs,
                                .n_ranks = a->n_ranks,
                                .has_server = a->has_server,
                                .path = b.steps,
                                .n_path = b.n_steps};
    int status = -1;
    if (!find_round(&t, round)) {
        strait_refuse(err, "timeline", "expected a round from 1 to %zu after --round, found %ld",
                      b.n_rounds, a->round);
    } else if (!a->out) {
        status = write_as(stdout, &t, format, err);
    } else {
        status = write_file(a->out, &t, format, err);
    }
    free(title);
    strait_breakdown_release(&b);
    return status;
}

static int timeline(struct asked *a, const char *format, struct strait_error *err)
{
    struct strait_store *store;
    json_t *columns = NULL;
    int status = -1;
    if (strait_results_open(&store, a->folder, err) != 0)
        return -1;
    a->row = choose_row(a, store, &columns, err);
    if (a->row) {
        status =
            strait_row_spans(&a->logs, &a->n_ranks, &a->has_server, a->folder, store, a->row, err);
    }
    if (status == 0)
        status = write_timeline(a, format, err);
    for (int r = 0; a->logs && r < a->n_ranks; r++)
        strait_log_release(&a->logs[r]);
    free(a->logs);
    strait_names_free(a->names);
    json_decref(a->rows);
    json_decref(columns);
    strait_store_free(store);
    return status;
}

/* --- the command --------------------------------------------------------------------------- */

static const char notes[] =
    "Shows one row of a results folder: what every rank did when, with the critical\n"
    "path. A simulated row is simulated again, every round of it; of an emulated one\n"
    "the spans that strait run --spans kept are shown.\n"
    "\n"
    "  strait timeline results/wan-check\n"
    "      the first round in letters, as wide as the terminal\n"
    "  strait timeline results/wan-check --point 2 --out trace.json\n"
    "      for ui.perfetto.dev or chrome://tracing, whole run\n"
    "  strait timeline results/wan-check --where /codec=none --out t.paje\n"
    "      for ViTE or pj_dump\n"
    "  strait timeline results/wan-check --json | jq '.traceEvents[] | select(.dur)'\n"
    "      for programs: the same JSON as in trace.json, times in microseconds\n";

static const char *format_of(const struct asked *a)
{
    const size_t n = a->out ? strlen(a->out) : 0;
    if (a->format)
        return a->format;
    return n == 0 ? "text" : n > 5 && strcmp(a->out + n - 5, ".paje") == 0 ? "paje" : "chrome";
}

static int check_format(const struct asked *a, bool json, struct strait_error *err)
{
    static const char *const formats[] = {"text", "chrome", "paje", NULL};
    bool known = !a->format;
    if (json && (a->out || a->format))
        return strait_error_set(err, STRAIT_ERR_USAGE, "timeline",
                                "expected --json or --%s, not both", a->out ? "out" : "format");
    for (size_t i = 0; formats[i] && a->format; i++)
        known = known || strcmp(formats[i], a->format) == 0;
    return known ? 0
                 : strait_refuse_name(err, STRAIT_ERR_USAGE, "timeline",
                                      "text, chrome or paje after --format", a->format, formats);
}

int strait_command_timeline(int argc, char **argv)
{
    bool json = false;
    struct asked a = {0};
    const struct strait_option options[] = {
        {"point", 0, STRAIT_OPTION_COUNT, &a.point, "K", "the K-th row (the first)"},
        {"where", 0, STRAIT_OPTION_TEXTS, &a.where, "/POINTER=VALUE", "rows with this value only"},
        {"round", 0, STRAIT_OPTION_COUNT, &a.round, "N", "one round (all; as text: the first)"},
        {"format", 0, STRAIT_OPTION_TEXT, &a.format, "FORMAT",
         "text, chrome or paje (by the file's name)"},
        {"out", 'o', STRAIT_OPTION_TEXT, &a.out, "FILE", "a file (standard output)"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "chrome's JSON on standard output"}};
    const struct strait_usage usage = {"timeline", "DIR", "Show what every rank of a run did when.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (strait_command_begin(&status, &usage, argc, argv, &a.folder, 1, NULL)) {
        status = check_format(&a, json, &err) == 0 &&
                         timeline(&a, json ? "chrome" : format_of(&a), &err) == 0
                     ? 0
                     : strait_command_fail(&err);
    }
    free(a.where.items);
    return status;
}
