/* strait compare: predicted against measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/compare.h"
#include "analysis/store.h"
#include "cli/compare_coverage.h"
#include "cli/kit/command.h"
#include "analysis/plot/plot.h"
#include "campaign/measurements.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "campaign/published/claims.h"
#include "campaign/published/claims_rows.h"
#include "core/host.h"
#include "core/json.h"
#include "campaign/published/published.h"
#include "cli/show/show.h"
#include "cli/kit/results.h"
#include "cli/kit/tolerance.h"

/* The rows of the latest runs in a folder, with their "command" if asked for; a new reference, or
 * NULL with *err. */
static json_t *load_rows(const char *folder, bool command, struct strait_error *err)
{
    struct strait_store *store;
    size_t i;
    if (strait_results_open(&store, folder, err) != 0)
        return NULL;
    json_t *rows = strait_store_rows(store), *row;
    if (command)
        json_array_foreach (rows, i, row)
            json_object_set_new(row, "command", strait_claims_command(strait_store_header(store)));
    strait_store_free(store);
    return rows;
}

/* Both sides may come from runs that put in the same in other ways. */
static int show(const json_t *comparison, const struct strait_compare_options *o,
                struct strait_error *err)
{
    json_t *set = json_object_get(comparison, "set"),
           *measured_set = json_object_get(comparison, "measured_set");
    const bool same = (!set && !measured_set) || (set && json_equal(set, measured_set));
    const char *title = json_string_value(json_object_get(comparison, "title"));
    if (title && *title)
        printf("%s\n", title);
    strait_show_set(stdout, same ? "set" : "set in the prediction", set);
    if (!same)
        strait_show_set(stdout, "set in the measurement", measured_set);
    return strait_show_comparison(stdout, comparison, o, err);
}

static int compare(const char *const folders[2], const struct strait_compare_options *o, bool json,
                   bool *within, struct strait_error *err)
{
    json_t *a = load_rows(folders[0], false, err);
    json_t *b = a && folders[1] ? load_rows(folders[1], false, err) : NULL;
    json_t *comparison = a && (b || !folders[1]) ? strait_compare(a, b, o, err) : NULL;
    int status = comparison ? 0 : -1;
    if (comparison && json)
        strait_command_print_json(comparison);
    else if (comparison)
        status = show(comparison, o, err);
    *within = json_is_true(json_object_get(comparison, "within"));
    json_decref(a);
    json_decref(b);
    json_decref(comparison);
    return status;
}

/* Published figures beside ours; *kept: all orders are. */
static int compare_published(const char *const *cases, size_t n_cases, const char *file, bool worth,
                             const char *profile_name, long n_jobs, bool json, bool *kept,
                             struct strait_error *err)
{
    struct strait_profile *profile;
    if (strait_profile_load(&profile, profile_name, err) != 0)
        return -1;
    json_t *published = strait_published(file, cases, n_cases, worth, profile, (int)n_jobs, err);
    int status = published ? 0 : -1;
    if (published && json)
        strait_command_print_json(published);
    else if (published)
        status = strait_show_published(stdout, published, err);
    size_t i;
    json_t *order;
    json_array_foreach (json_object_get(published, "orders"), i, order)
        *kept &= json_is_true(json_object_get(order, "kept"));
    json_decref(published);
    strait_profile_free(profile);
    return status;
}

/* The rows of all folders; a new reference, or NULL with *err. */
static json_t *load_all(const char *const *folders, size_t n, struct strait_error *err)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *rows = load_rows(folders[i], true, err);
        if (!rows) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(all, rows);
        json_decref(rows);
    }
    return all;
}

/* Put rows into the file, which may be new. 0, or -1 with *err. */
static int keep_rows(const char *path, const json_t *rows, struct strait_error *err)
{
    json_t *before = access(path, F_OK) == 0 ? strait_json_load(path, err) : NULL;
    if (!before && access(path, F_OK) == 0)
        return -1;
    json_t *now = strait_claims_keep(before, rows);
    char *text = strait_claims_text(now);
    const int status = text ? strait_file_write(path, true, text, strlen(text), "", 0, err)
                            : strait_error_memory(err, path);
    free(text);
    json_decref(before);
    json_decref(now);
    return status;
}

static int compare_claims(const char *const *folders, size_t n_folders, const char *file,
                          const char *keep, const char *profile_name, long n_jobs, bool json,
                          struct strait_error *err)
{
    struct strait_profile *profile;
    if (strait_profile_load(&profile, profile_name, err) != 0)
        return -1;
    json_t *rows =
        n_folders > 0 ? load_all(folders, n_folders, err) : strait_claims_rows(NULL, err);
    json_t *claims = rows && (!keep || keep_rows(keep, rows, err) == 0)
                         ? strait_claims(file, rows, profile, (int)n_jobs, err)
                         : NULL;
    int status = claims ? 0 : -1;
    if (claims && json)
        strait_command_print_json(claims);
    else if (claims)
        status = strait_show_claims(stdout, claims, err);
    json_decref(rows);
    json_decref(claims);
    strait_profile_free(profile);
    return status;
}

static int draw(const char *picture, const json_t *comparison,
                const struct strait_compare_options *o, struct strait_error *err)
{
    char path[4096];
    const char *dot = strrchr(picture, '.');
    const bool named = dot && (strcmp(dot, ".png") == 0 || strcmp(dot, ".svg") == 0);
    snprintf(path, sizeof(path), "%.*s", (int)(named ? dot - picture : (int)strlen(picture)),
             picture);
    return strait_plot_comparison(path, comparison, o->tolerance_ratio,
                                  json_string_value(json_object_get(comparison, "title")), err);
}

/* Lines of a CSV file beside predictions of the same settings. */
static int compare_file(const struct strait_measured_plan *given, const char *profile_name,
                        const char *picture, struct strait_compare_options *o, bool json,
                        bool *within, struct strait_error *err)
{
    struct strait_measured_plan plan = *given;
    struct strait_profile *profile;
    json_t *predicted, *measured;
    if (strait_profile_load(&profile, profile_name, err) != 0)
        return -1;
    plan.profile = profile;
    o->is_partial = true;
    int failed = strait_measured(&predicted, &measured, &plan, err);
    if (!failed) {
        json_t *comparison = strait_compare(predicted, measured, o, err);
        failed = !comparison;
        if (comparison && json)
            strait_command_print_json(comparison);
        else if (comparison)
            failed = show(comparison, o, err);
        if (picture && !failed)
            failed = draw(picture, comparison, o, err);
        *within = json_is_true(json_object_get(comparison, "within"));
        json_decref(comparison);
        json_decref(predicted);
        json_decref(measured);
    }
    strait_profile_free(profile);
    return failed ? -1 : 0;
}

enum { MAX_CASES = 64 };

static const char notes[] =
    "With one folder, its simulated rows are compared with its emulated ones; with\n"
    "two, the first folder's rows are the prediction. Points are paired if all their\n"
    "settings are equal. Of repeated measurements the median counts; INVALID rows are\n"
    "left out. The verdict covers encode, transfer, decode, a client's wait, and the\n"
    "round without its compute. Exit status 1 if one is outside the tolerance.\n"
    "\n"
    "--measured compares lines of a CSV file with predictions (fluid) of the same\n"
    "settings: columns are JSON Pointers, such as /clients of the experiment and\n"
    "/round_s of a result. The verdict covers every measured number\n"
    "(docs/results.md).\n"
    "\n"
    "--published compares figures of papers with our prediction of the same\n"
    "setting. For each constant of software it names the source, and how large the\n"
    "errors are without it. Exit status 1 if an order differs.\n"
    "\n"
    "--claims shows both halves of each claim: time or bytes, predicted or from\n"
    "results; and accuracy, from results that trained with several seeds. These are\n"
    "in DIRs, or else the kept ones are used (traces/trained.json).\n"
    "\n"
    "--coverage counts how many measured rounds lie in their predicted intervals, by\n"
    "kind of case. It leaves out settings that the intervals were learned on. Exit\n"
    "status 1 below 85 %. --learn FILE writes the table that the intervals are made\n"
    "of, from all rows of the folders (docs/accuracy.md).\n"
    "\n"
    "  strait compare results/wan-check\n"
    "  strait compare predicted measured --tolerance '5 %' --floor '2 ms'\n"
    "  strait compare wan-check --measured mine.csv --set /codec=none\n"
    "  strait compare --published spd-kfac dear\n"
    "  strait compare --claims results/grace-accuracy results/slamb-accuracy\n";

int strait_command_compare(int argc, char **argv)
{
    const char *folders[2] = {NULL, NULL};
    struct strait_tolerance tolerance = {NULL, NULL};
    const char *cases[MAX_CASES] = {NULL}, *file = NULL, *profile = "default";
    long n_jobs = strait_host_processors();
    const char *learn = NULL, *keep = NULL, *picture = NULL;
    bool json = false, within = false, published = false, no_worth = false, claims = false,
         coverage = false;
    struct strait_measured_plan measured = {0};
    const struct strait_option options[] = {
        STRAIT_TOLERANCE_OPTIONS(tolerance, ""),
        {"measured", 0, STRAIT_OPTION_TEXT, &measured.csv, "FILE.csv",
         "compare an EXPERIMENT with these measurements"},
        {"set", 0, STRAIT_OPTION_TEXTS, &measured.settings, "/POINTER=VALUE",
         "measured: a value of the experiment"},
        {"plot", 0, STRAIT_OPTION_TEXT, &picture, "FILE.png",
         "measured: draw the comparison, PNG and SVG"},
        {"published", 0, STRAIT_OPTION_FLAG, &published, NULL,
         "compare with published figures: all, or CASEs"},
        {"no-worth", 0, STRAIT_OPTION_FLAG, &no_worth, NULL,
         "published: do not say what constants are worth"},
        {"claims", 0, STRAIT_OPTION_FLAG, &claims, NULL,
         "papers' claims on time and accuracy, by DIRs"},
        {"keep", 0, STRAIT_OPTION_TEXT, &keep, "FILE",
         "claims: put the rows of DIRs into this file"},
        {"coverage", 0, STRAIT_OPTION_FLAG, &coverage, NULL,
         "count measured rounds within their intervals"},
        {"learn", 0, STRAIT_OPTION_TEXT, &learn, "FILE", "coverage: write the table of margins"},
        {"figures", 0, STRAIT_OPTION_TEXT, &file, "FILE",
         "published figures to read (docs/published.md)"},
        {"profile", 0, STRAIT_OPTION_TEXT, &profile, "PROFILE",
         "codec costs of predictions (the shipped ones)"},
        {"jobs", 'j', STRAIT_OPTION_COUNT, &n_jobs, "N", "predictions at a time"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one JSON object on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "compare",
        "DIR [DIR] [--coverage] | EXPERIMENT --measured FILE.csv | --published [CASE ...] | "
        "--claims [DIR ...]",
        "Compare predicted with measured times, point by point and phase by phase.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    struct strait_compare_options o = {0};
    size_t n_positional;
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, cases, MAX_CASES, &n_positional))
        return status;
    if (published + claims + (measured.csv != NULL) > 1) {
        free(measured.settings.items);
        strait_error_set(&err, STRAIT_ERR_USAGE, "compare",
                         "expected either --published, --claims or --measured, found more");
        return strait_command_fail(&err);
    }
    if (measured.csv || measured.settings.n > 0 || picture) {
        measured.experiment = cases[0];
        measured.n_jobs = (int)n_jobs;
        if (!measured.csv || n_positional != 1)
            status = strait_error_set(&err, STRAIT_ERR_USAGE, "compare",
                                      "expected an experiment and --measured FILE.csv, found %s",
                                      measured.csv ? n_positional == 0 ? "no experiment"
                                                                       : "several experiments"
                                      : picture    ? "--plot alone"
                                                   : "--set alone");
        else
            status = strait_tolerance_parse(&o, &tolerance, &err) != 0 ||
                             compare_file(&measured, profile ? profile : "default", picture, &o,
                                          json, &within, &err) != 0
                         ? -1
                         : 0;
        free(measured.settings.items);
        return status != 0 ? strait_command_fail(&err) : within ? 0 : 1;
    }
    if (keep && (!claims || n_positional == 0)) {
        strait_error_set(&err, STRAIT_ERR_USAGE, "compare",
                         "expected --claims and results folders beside --keep, found %s",
                         claims ? "no folder" : "no --claims");
        return strait_command_fail(&err);
    }
    if (claims)
        return compare_claims(cases, n_positional, file, keep, profile, n_jobs, json, &err) == 0
                   ? 0
                   : strait_command_fail(&err);
    if (published) {
        bool kept = true;
        if (compare_published(cases, n_positional, file, !no_worth, profile, n_jobs, json, &kept,
                              &err) != 0)
            return strait_command_fail(&err);
        return kept ? 0 : 1;
    }
    for (size_t i = 0; i < n_positional && i < 2; i++)
        folders[i] = cases[i];
    if (n_positional > 2) {
        strait_error_set(&err, STRAIT_ERR_USAGE, "compare",
                         "expected at most two results folders, found %zu", n_positional);
        return strait_command_fail(&err);
    }
    if (n_positional == 0) {
        strait_error_set(&err, STRAIT_ERR_USAGE, "compare",
                         "expected a results folder, found none");
        return strait_command_fail(&err);
    }
    if (coverage || learn) {
        bool kept = true;
        if (strait_compare_coverage(folders, learn, json, &kept, &err) != 0)
            return strait_command_fail(&err);
        return kept ? 0 : 1;
    }
    if (strait_tolerance_parse(&o, &tolerance, &err) != 0 ||
        compare(folders, &o, json, &within, &err) != 0)
        return strait_command_fail(&err);
    return within ? 0 : 1;
}
