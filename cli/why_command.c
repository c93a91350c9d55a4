/* strait why: explain a row of a results folder. */
#include <stdio.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/row_names.h"
#include "analysis/table.h"
#include "campaign/planner/why.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "cli/kit/results.h"
#include "cli/show/show.h"
#include "cli/show/show_why.h"
#include "core/host.h"
#include "core/shipped.h"

/* A list of the folder's rows, to choose from. */
static int list_points(const json_t *rows, const struct strait_names *names,
                       struct strait_error *err)
{
    size_t i;
    json_t *row;
    struct strait_table *t = strait_table_new();
    strait_show_set(stdout, "set", json_object_get(json_array_get(rows, 0), "set"));
    strait_table_column(t, "point", true);
    strait_table_column(t, "clients", true);
    strait_table_column(t, "codec", false);
    strait_table_column(t, "backend", false);
    strait_table_column(t, "setting", false);
    strait_table_key(t);
    strait_table_column(t, "round s", true);
    strait_table_column(t, "limited by", false);
    json_array_foreach (rows, i, row) {
        char number[STRAIT_NUMBER_CHARS];
        strait_table_cellf(t, "%zu", i + 1);
        strait_table_cellf(t, "%.0f", strait_row_number(row, "clients"));
        strait_table_cell(t, strait_names_codec(names, row));
        strait_table_cell(t, strait_text_of(row, "backend"));
        strait_table_cell(t, strait_names_setting(names, row));
        strait_table_cell(t, strait_format_number(number, strait_row_number(row, "round_s"), 4));
        strait_table_cell(t, strait_text_of(json_object_get(row, "limits"), "text"));
    }
    if (strait_table_finish(t, stdout, err) != 0)
        return -1;
    printf("\nExplain one of them with --point N.\n");
    return 0;
}

/* The same for programs: {"points": [{"point", "clients", "codec", "backend", "setting", "round_s",
 * "limits"}]}. */
static int list_json(const json_t *rows, const struct strait_names *names, struct strait_error *err)
{
    size_t i;
    json_t *row, *points = json_array();
    json_array_foreach (rows, i, row)
        json_array_append_new(
            points,
            json_pack("{s:I, s:O?, s:s, s:s, s:s, s:O?, s:O?}", "point", (json_int_t)i + 1,
                      "clients", json_object_get(row, "clients"), "codec",
                      strait_names_codec(names, row), "backend", strait_text_of(row, "backend"),
                      "setting", strait_names_setting(names, row), "round_s",
                      json_object_get(row, "round_s"), "limits", json_object_get(row, "limits")));
    json_t *all = json_pack("{s:o}", "points", points);
    if (!all)
        return strait_error_memory(err, "why");
    strait_command_print_json(all);
    json_decref(all);
    return 0;
}

static int explain(const struct strait_store *store, const json_t *row,
                   const struct strait_names *names, double factor, long n_jobs, bool json,
                   struct strait_error *err)
{
    struct strait_plan_setup setup = {0};
    struct strait_profile *profile = NULL;
    struct strait_learned learned = {0};
    const json_t *header = NULL;
    char path[4096];
    json_t *why = NULL, *point = strait_why_point(&setup.file, &header, store, row, err);
    strait_share_path(path, sizeof(path), STRAIT_LEARNED_FILE);
    if (point && strait_learned_load(&learned, path, err) == 0 &&
        strait_profile_read(&profile, json_object_get(json_object_get(header, "profile"), "as"),
                            strait_store_path(store), err) == 0) {
        setup.profile = profile;
        setup.control = json_string_value(json_object_get(row, "control"));
        setup.learned = &learned;
        if (strait_plan_setup_hashes(&setup, err) == 0)
            why = strait_why(&setup, row, point, factor, (int)n_jobs, err);
    }
    int status = why ? 0 : -1;
    if (why && json)
        strait_command_print_json(why);
    else if (why)
        status = strait_show_why(stdout, why, strait_names_codec(names, row),
                                 strait_names_setting(names, row), err);
    json_decref(why);
    json_decref(point);
    strait_profile_free(profile);
    strait_learned_release(&learned);
    return status;
}

static const char notes[] =
    "Says where the time of a row's round goes and how busy every resource was. Then\n"
    "simulates the round by fluid with each phase and each kind of link twice as\n"
    "fast, and shows what that saves. If DIR has several rows, it lists them, each\n"
    "with what limits it.\n"
    "\n"
    "  strait why results/wan-scaling\n"
    "  strait why results/wan-scaling --point 12\n"
    "  strait why results/wan-scaling --point 12 --factor 4 --json\n";

int strait_command_why(int argc, char **argv)
{
    const char *folder = NULL;
    long point = 0, n_jobs = strait_host_processors();
    double factor = 2;
    bool json = false;
    const struct strait_option options[] = {
        {"point", 0, STRAIT_OPTION_COUNT, &point, "N", "the row to explain, as listed"},
        {"factor", 0, STRAIT_OPTION_NUMBER, &factor, "F", "try this many times as fast (2)"},
        {"jobs", 'j', STRAIT_OPTION_COUNT, &n_jobs, "N", "simulations at a time"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one JSON object on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "why", "DIR", "Explain a row: where its time goes, and what would make it faster.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    struct strait_store *store = NULL;
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &folder, 1, NULL))
        return status;
    strait_results_open(&store, folder, &err);
    json_t *rows = store ? strait_store_rows(store) : NULL;
    struct strait_names *names = NULL;
    const size_t n = json_array_size(rows);
    if (store && n == 0)
        strait_refuse(&err, folder, "expected results, found no row");
    else if (store && (size_t)point > n)
        strait_error_set(&err, STRAIT_ERR_USAGE, "why",
                         "expected a point from 1 to %zu after --point, found %ld", n, point);
    else if (store && strait_names_new(&names, rows, &err) == 0 && n > 1 && point == 0)
        (json ? list_json : list_points)(rows, names, &err);
    else if (names)
        explain(store, json_array_get(rows, point > 0 ? (size_t)point - 1 : 0), names, factor,
                n_jobs, json, &err);
    strait_names_free(names);
    json_decref(rows);
    strait_store_free(store);
    return err.code == STRAIT_OK ? 0 : strait_command_fail(&err);
}
