/* strait list: what ships, as tables or as JSON Lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/label.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "core/names.h"
#include "cli/codec/codec_command.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "traces/import/import.h"
#include "shipped_list.h"
#include "strategy_list.h"
#include "task_list.h"

static int trace_rows(json_t *out, struct strait_error *err)
{
    size_t n;
    const struct strait_import_format *const *all = strait_import_formats(&n);
    (void)err;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_pack("{s:s, s:s, s:s}", "name", all[i]->name, "summary",
                                             all[i]->summary, "source", all[i]->source));
    return 0;
}

static const struct {
    const char *name, *summary;
    int (*list)(json_t *out, struct strait_error *err);
    void (*print)(const json_t *rows);    /* NULL: flat objects, whose keys are columns */
    void (*print_one)(const json_t *row); /* NULL: as a table of one */
} lists[] = {
    {"codecs", "how tensors are encoded", strait_codec_rows, strait_codec_rows_print,
     strait_codec_row_print},
    {"strategies", "who sends what when", strait_strategy_rows, strait_strategy_rows_print,
     strait_strategy_row_print},
    {"models", "what is trained; or a layer table of your own", strait_model_rows, NULL, NULL},
    {"tasks", "what \"training\" can really train", strait_task_rows, strait_task_rows_print, NULL},
    {"networks", "what ships, and what an experiment may say of its own", strait_network_rows, NULL,
     NULL},
    {"machines", "accelerators that \"device\" may name", strait_engine_rows, NULL, NULL},
    {"profiles", "what codecs cost; or one of strait calibrate codecs", strait_profile_rows, NULL,
     NULL},
    {"traces", "formats of other tools that strait trace reads", trace_rows, NULL, NULL},
    {"experiments", "what `strait run NAME` knows", strait_experiment_rows, NULL, NULL},
    {"plans", "questions that `strait plan NAME` knows", strait_plan_rows, NULL, NULL}};
enum { N_LISTS = sizeof(lists) / sizeof(*lists), LISTS_CHARS = 256 };

static void value_cell(struct strait_table *t, const char *key, const json_t *value)
{
    char buf[STRAIT_NUMBER_CHARS];
    if (json_is_string(value))
        strait_table_cell(t, json_string_value(value));
    else if (json_is_integer(value))
        strait_table_cellf(t, "%lld", (long long)json_integer_value(value));
    else if (strcmp(key, "step_s") == 0)
        strait_table_cell(t, strait_seconds_text(buf, json_number_value(value)));
    else
        strait_table_cell(t, strait_format_number(buf, json_number_value(value), 4));
}

/* Rows [first, end), which have the keys of the first. */
static int print_rows(const json_t *rows, size_t first, size_t end, struct strait_error *err)
{
    struct strait_table *t = strait_table_new();
    const char *key;
    json_t *value;
    json_object_foreach (json_array_get(rows, first), key, value)
        strait_table_column(t, strcmp(key, "step_s") == 0 ? "step" : key, !json_is_string(value));
    for (size_t i = first; i < end; i++)
        json_object_foreach (json_array_get(rows, i), key, value)
            value_cell(t, key, value);
    return strait_table_finish(t, stdout, err);
}

static bool has_same_keys(json_t *a, json_t *b)
{
    const char *key;
    json_t *value;
    json_object_foreach (a, key, value)
        if (!json_object_get(b, key))
            return false;
    return json_object_size(a) == json_object_size(b);
}

/* A table for each run of rows with the same keys. */
static int print_table(const json_t *rows, struct strait_error *err)
{
    const size_t n = json_array_size(rows);
    int status = 0;
    for (size_t first = 0, end; first < n && status == 0; first = end) {
        for (end = first + 1;
             end < n && has_same_keys(json_array_get(rows, first), json_array_get(rows, end));)
            end++;
        if (first > 0)
            fputs("\n", stdout);
        status = print_rows(rows, first, end, err);
    }
    return status;
}

static int print_list(size_t i, const json_t *rows, bool json, struct strait_error *err)
{
    json_t *row;
    size_t k;
    if (json)
        json_array_foreach ((json_t *)(uintptr_t)rows, k, row)
            strait_command_print_json(row);
    else if (lists[i].print)
        lists[i].print(rows);
    else
        return print_table(rows, err);
    return 0;
}

/* All of a list, or the row of that name: without one all of it is wanted. */
static int show_list(size_t i, const char *name, bool json, struct strait_error *err)
{
    json_t *rows = json_array(), *row, *found = json_array();
    const char *names[256] = {NULL};
    char where[64];
    size_t k, n = 0;
    int status = lists[i].list(rows, err);
    json_array_foreach (rows, k, row) {
        const char *const one = json_string_value(json_object_get(row, "name"));
        if (one && n + 1 < sizeof(names) / sizeof(*names))
            names[n++] = one;
        if (name && one && strcmp(one, name) == 0)
            json_array_append(found, row);
    }
    if (status == 0 && name && json_array_size(found) == 0) {
        snprintf(where, sizeof(where), "list %s", lists[i].name);
        status =
            strait_refuse_name(err, STRAIT_ERR_USAGE, where, "a name of this list", name, names);
    } else if (status == 0 && name && !json && lists[i].print_one) {
        lists[i].print_one(json_array_get(found, 0));
    } else if (status == 0) {
        status = print_list(i, name ? found : rows, json, err);
    }
    json_decref(found);
    json_decref(rows);
    return status;
}

static int show(const char *what, const char *name, bool json, struct strait_error *err)
{
    const char *names[N_LISTS + 1] = {NULL};
    for (size_t i = 0; i < N_LISTS; i++) {
        names[i] = lists[i].name;
        if (what && strcmp(what, lists[i].name) == 0)
            return show_list(i, name, json, err);
    }
    if (what) {
        char expected[LISTS_CHARS] = "";
        for (size_t i = 0; i < N_LISTS; i++) {
            const char *before = i + 1 < N_LISTS ? ", " : " or ";
            strait_text_add(expected, sizeof(expected), "%s%s", i > 0 ? before : "", names[i]);
        }
        return strait_refuse_name(err, STRAIT_ERR_USAGE, "list", expected, what, names);
    }
    for (size_t i = 0; i < N_LISTS; i++) {
        if (!json)
            printf("%s%s: %s\n\n", i > 0 ? "\n" : "", lists[i].name, lists[i].summary);
        if (show_list(i, NULL, json, err) != 0)
            return -1;
    }
    return 0;
}

int strait_command_list(int argc, char **argv)
{
    bool json = false;
    const struct strait_option options[] = {
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "JSON Lines on standard output"},
        STRAIT_WIDE_OPTION};
    char arguments[LISTS_CHARS] = "";
    for (size_t i = 0; i < N_LISTS; i++)
        strait_text_add(arguments, sizeof(arguments), "%s%s", i == 0 ? "[" : "|", lists[i].name);
    strait_text_add(arguments, sizeof(arguments), " [NAME]]");
    const struct strait_usage usage = {
        "list",
        arguments,
        "List what ships; models with the source of their compute time.",
        options,
        2,
        "  strait list models\n  strait list strategies dear\n  strait list codecs sz\n"
        "  strait list --json networks\n"};
    struct strait_error err = {0};
    const char *what[2] = {NULL};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, what, 2, NULL))
        return status;
    status = show(what[0], what[1], json, &err);
    return status != 0 ? strait_command_fail(&err) : 0;
}
