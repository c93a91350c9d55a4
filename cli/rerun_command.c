/* strait rerun: a result's own experiment once more; are the rows the same? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/columns/differences.h"
#include "analysis/fields.h"
#include "analysis/row.h"
#include "analysis/label.h"
#include "analysis/store.h"
#include "analysis/table.h"
#include "campaign/backends.h"
#include "campaign/host_header.h"
#include "campaign/session.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "cli/kit/results.h"
#include "codecs/profile/profile.h"
#include "core/clock.h"
#include "core/host.h"

enum { PATH_CHARS = 4096, MAX_SHOWN = 20 };

struct rerun {
    const json_t *header, *runs;
    const char *folder;
    char out[PATH_CHARS], experiment[PATH_CHARS + 32], profile[PATH_CHARS + 32];
    bool temporary, json;
    long n_jobs;
    json_t *before, *now;
};

/* --- what is said first -------------------------------------------------------------------- */

static void say(const char *what, const char *before, const char *now, const char *then)
{
    if (*before && strcmp(before, now) != 0)
        fprintf(stderr, "strait: %s was %s, is %s%s\n", what, before, now, then);
}

/* What the rows were computed with that is another now. */
static void say_changes(const struct rerun *r)
{
    const json_t *versions = json_object_get(r->header, "versions");
    const json_t *profile = json_object_get(r->header, "profile");
    json_t *own = strait_versions_json(NULL);
    struct strait_profile *shipped = NULL;
    char hash[STRAIT_KEY_CHARS];
    say("strait", strait_text_of(versions, "strait"), strait_text_of(own, "strait"), "");
    const char *commit = strait_text_of(versions, "commit");
    say("the commit", commit, strait_commit(), "");
    if (!*commit || strcmp(commit, strait_commit()) == 0)
        say("the program", strait_text_of(versions, "program"), strait_text_of(own, "program"), "");
    say("SimGrid", strait_text_of(versions, "simgrid"), strait_text_of(own, "simgrid"), "");
    if (!json_is_true(json_object_get(profile, "calibrated")) &&
        strait_profile_load(&shipped, "default", NULL) == 0) {
        json_t *as = strait_profile_json(shipped);
        if (strait_hash_json(hash, as))
            say("the profile", strait_text_of(profile, "hash"), hash,
                "; that of the results is used");
        json_decref(as);
    }
    strait_profile_free(shipped);
    json_decref(own);
}

/* --- running -------------------------------------------------------------------------------- */

static int write_json(const char *path, const json_t *value, struct strait_error *err)
{
    char *text = json_dumps(value, JSON_INDENT(2));
    const int status = text ? strait_file_write(path, true, text, strlen(text), "\n", 1, err)
                            : strait_error_memory(err, path);
    free(text);
    return status;
}

/* The experiment, with what was set, and the profile, as files in the folder. */
static int write_inputs(struct rerun *r, struct strait_error *err)
{
    const json_t *of = json_object_get(r->header, "experiment");
    json_t *experiment = json_deep_copy(json_object_get(of, "base"));
    if (json_object_size(json_object_get(of, "vary")) > 0)
        json_object_set(experiment, "vary", json_object_get(of, "vary"));
    snprintf(r->experiment, sizeof(r->experiment), "%s/experiment.json", r->out);
    snprintf(r->profile, sizeof(r->profile), "%s/profile.json", r->out);
    const int failed =
        write_json(r->experiment, experiment, err) != 0 ||
        write_json(r->profile, json_object_get(json_object_get(r->header, "profile"), "as"), err);
    json_decref(experiment);
    return failed ? -1 : 0;
}

static int run_backend(struct rerun *r, const json_t *run, const char *sizes,
                       struct strait_error *err)
{
    const char *control = strait_text_of(run, "control");
    struct strait_session s = {.on = strait_text_of(run, "backend"),
                               .notes = r->temporary ? NULL : stderr, /* of rows that stay */
                               .out = r->out,
                               .profile_name = r->profile,
                               .sizes = sizes,
                               .control = *control ? control : NULL,
                               .commit = strait_commit(),
                               .n_jobs = r->n_jobs,
                               .n_repeats = 1,
                               .n_tries = 1,
                               .fresh = true,
                               .every_round =
                                   json_is_true(json_object_get(r->header, "every_round")),
                               .start_s = strait_clock_s()};
    const int failed = strait_session_prepare(&s, r->experiment, err) != 0 ||
                       strait_session_compute(&s, err) != 0 || strait_session_finish(&s, err) != 0;
    if (!failed) {
        json_t *rows = strait_session_rows(&s, NULL);
        json_array_extend(r->now, rows);
        json_decref(rows);
    }
    strait_session_release(&s);
    return failed ? -1 : 0;
}

/* Rows of one backend and control, of those that the header announced. Returns: where their sizes
 * are from. */
static const char *take_rows(struct rerun *r, const json_t *rows, const json_t *run)
{
    const char *sizes = "profile";
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (strcmp(strait_text_of(row, "backend"), strait_text_of(run, "backend")) == 0 &&
            strcmp(strait_text_of(row, "control"), strait_text_of(run, "control")) == 0) {
            json_t *copy = json_copy(row); /* these are of the run that shows a row */
            json_object_del(copy, "labels");
            json_object_del(copy, "set");
            json_object_set(copy, "labels", json_object_get(row, "labels"));
            json_array_append_new(r->before, copy);
            sizes = strait_row_has_sent_sizes(row) ? "sent" : sizes;
        }
    return sizes;
}

static int run_all(struct rerun *r, const json_t *rows, struct strait_error *err)
{
    size_t i, n = 0, n_measured = 0;
    json_t *run;
    json_array_foreach (r->runs, i, run) {
        if (strcmp(strait_text_of(run, "backend"), "emu") == 0) {
            n_measured += json_array_size(json_object_get(run, "keys"));
            continue;
        }
        n++;
        if (run_backend(r, run, take_rows(r, rows, run), err) != 0)
            return -1;
    }
    if (n_measured > 0)
        fprintf(stderr,
                "strait: %zu measured row%s not run again: no two measurements are equal (strait "
                "run --on both compares)\n",
                n_measured, n_measured == 1 ? " is" : "s are");
    return n > 0 ? 0 : strait_refuse(err, r->folder, "expected simulated rows, found none");
}

/* --- showing -------------------------------------------------------------------------------- */

static void show_value(const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    printf("%.120s", text ? text : "nothing");
    free(text);
}

static void show(const json_t *found)
{
    const json_t *differences = json_object_get(found, "differences");
    size_t i;
    json_t *d;
    json_array_foreach (differences, i, d) {
        if (i == MAX_SHOWN) {
            printf("and %zu more (--json)\n", json_array_size(differences) - i);
            break;
        }
        char *labels = strait_label_set(json_object_get(d, "labels"));
        const double before = json_number_value(json_object_get(d, "before")),
                     now = json_number_value(json_object_get(d, "now"));
        printf("%s, %s%s%s: %s was ", strait_text_of(d, "backend"), labels ? labels : "",
               labels && *labels ? ", " : "", strait_text_of(d, "codec"),
               strait_text_of(d, "pointer"));
        show_value(json_object_get(d, "before"));
        printf(", is ");
        show_value(json_object_get(d, "now"));
        if (fabs(before) > 0 && json_is_number(json_object_get(d, "now")))
            printf(" (%+.2g %%)", 100 * (now / before - 1));
        printf("\n");
        free(labels);
    }
    const size_t n_missing = json_array_size(json_object_get(found, "missing"));
    printf("%lld of %lld rows are equal in every number",
           (long long)json_integer_value(json_object_get(found, "equal")),
           (long long)json_integer_value(json_object_get(found, "rows")));
    if (n_missing > 0)
        printf("; %zu were not computed again", n_missing);
    printf("\n");
}

static int compare(const struct rerun *r)
{
    json_t *found = strait_differences(r->before, r->now);
    const bool same = json_equal(json_object_get(found, "equal"), json_object_get(found, "rows"));
    if (r->json)
        strait_command_print_json(found);
    else
        show(found);
    json_decref(found);
    return same ? 0 : 1;
}

/* --- the command ---------------------------------------------------------------------------- */

static int make_folder(struct rerun *r, const char *out, struct strait_error *err)
{
    const char *tmp = getenv("TMPDIR");
    struct stat info;
    if (out && stat(out, &info) == 0)
        return strait_refuse(err, out,
                             "expected a new folder after --out, found one that is there");
    r->temporary = !out;
    snprintf(r->out, sizeof(r->out), out ? "%s" : "%s/strait-rerun-XXXXXX",
             out           ? out
             : tmp && *tmp ? tmp
                           : "/tmp");
    if (out ? mkdir(r->out, 0755) != 0 : !mkdtemp(r->out))
        return strait_error_path(err, r->out, "cannot make the folder");
    return 0;
}

static void remove_folder(const struct rerun *r)
{
    static const char *const files[] = {"experiment.json", "profile.json", STRAIT_RESULTS_FILE};
    char path[PATH_CHARS + 32];
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        snprintf(path, sizeof(path), "%s/%s", r->out, files[i]);
        unlink(path);
    }
    rmdir(r->out);
}

/* What the experiment's file is refused for stands in the header of the results: the file itself
 * is removed. */
static void name_folder(const struct rerun *r, struct strait_error *err)
{
    const size_t n = strlen(r->experiment);
    char rest[sizeof(err->where)];
    if (n == 0 || strncmp(err->where, r->experiment, n) != 0)
        return;
    snprintf(rest, sizeof(rest), "%s", err->where + n);
    snprintf(err->where, sizeof(err->where), "%.99s%.150s", r->folder, rest);
}

static int rerun(struct rerun *r, const char *out, struct strait_error *err)
{
    struct strait_store *store;
    int status = -1;
    if (strait_results_open(&store, r->folder, err) != 0)
        return -1;
    json_t *rows = strait_store_rows(store);
    r->header = strait_store_header(store);
    r->runs = json_object_get(r->header, "runs");
    r->before = json_array();
    r->now = json_array();
    if (!json_is_object(json_object_get(json_object_get(r->header, "experiment"), "base")))
        strait_refuse(err, r->folder, "expected a header with its experiment, found none");
    else if (!json_is_object(json_object_get(json_object_get(r->header, "profile"), "as")))
        strait_refuse(err, r->folder, "expected a header with its profile, found none");
    else if (make_folder(r, out, err) == 0) {
        say_changes(r);
        if (write_inputs(r, err) == 0 && run_all(r, rows, err) == 0)
            status = compare(r);
        if (r->temporary) {
            remove_folder(r);
            name_folder(r, err);
        }
    }
    json_decref(r->before);
    json_decref(r->now);
    json_decref(rows);
    strait_store_free(store);
    return status;
}

static const char notes[] =
    "Runs the experiment of the folder's latest run again, with the same profile and\n"
    "--set values, and compares every number of every simulated row. First it names\n"
    "what has changed since: version, commit, SimGrid, the shipped profile. Measured\n"
    "rows are not run again. Exit status 1 if a row differs.\n"
    "\n"
    "  strait rerun results/wan-scaling\n"
    "  strait rerun results/wan-scaling --out again   keep the new rows\n";

int strait_command_rerun(int argc, char **argv)
{
    struct rerun r = {.n_jobs = strait_host_processors()};
    const char *out = NULL;
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "DIR", "a new folder for the rows (none is kept)"},
        {"jobs", 'j', STRAIT_OPTION_COUNT, &r.n_jobs, "N", "points at a time (processors)"},
        {"json", 0, STRAIT_OPTION_FLAG, &r.json, NULL, "all differences as JSON"}};
    const struct strait_usage usage = {
        "rerun", "DIR", "Run the experiment of a results folder again and compare the rows.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &r.folder, 1, NULL))
        return status;
    if ((status = rerun(&r, out, &err)) >= 0)
        return status;
    return strait_command_fail(&err);
}
