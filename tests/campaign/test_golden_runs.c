/* Golden runs: chosen points of every experiment that ships, simulated again and held against
 * tests/golden/runs.jsonl, bytes exactly and times to 1e-9. A line of that file is a point and what
 * it gave: {"experiment": name, "set": {pointer: value}, "on": backend, "strategy": name,
 * "bytes": .., "times": ..}. A new one needs the first three alone: `make golden-runs`, which sets
 * STRAIT_WRITE_GOLDEN=new, adds the rest. After an intended change `make golden-runs CHANGED=1`,
 * which sets it to "all", writes every line anew. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/row.h"
#include "tests/kit/data.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

static const char GOLDEN[] = "tests/golden/runs.jsonl"; /* of the tree */

/* Sums of the same numbers in another order, and logarithms of another C library. */
static const double TOLERANCE_RATIO = 1e-9;

static json_t *load_golden(void)
{
    char *line = NULL;
    size_t cap = 0;
    json_t *all = json_array();
    FILE *f = fopen(DATA(GOLDEN), "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (getline(&line, &cap, f) > 0) {
        json_error_t error;
        json_t *entry = json_loads(line, 0, &error);
        if (!entry)
            fprintf(stderr, "%s: line %zu: %s\n", GOLDEN, json_array_size(all) + 1, error.text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
        json_array_append_new(all, entry);
    }
    free(line);
    fclose(f);
    return all;
}

/* "gtopk {"/clients": 4} on fluid", for complaints. */
static void complain(const json_t *entry, const char *what)
{
    char *set = json_dumps(json_object_get(entry, "set"), JSON_COMPACT);
    fprintf(stderr, "%s %s on %s: %s\n", strait_text_of(entry, "experiment"), set ? set : "",
            strait_text_of(entry, "on"), what);
    free(set);
    CU_FAIL("a golden run is not what it was");
}

/* The same for an error, which names the file and the place in it. */
static void complain_of(const json_t *entry, const struct strait_error *err)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s%s", err->where, *err->where ? ": " : "", err->text);
    complain(entry, text);
}

/* --- a run ---------------------------------------------------------------------------------- */

/* The one point that the settings leave of an experiment; NULL: complained. */
static json_t *point_of(const json_t *entry)
{
    enum { MAX_SETTINGS = 16 };
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    char path[512], *settings[MAX_SETTINGS];
    const char *pointer;
    json_t *value, *point = NULL;
    size_t n = 0;
    json_object_foreach (json_object_get(entry, "set"), pointer, value) {
        char *dumped = json_dumps(value, JSON_ENCODE_ANY);
        CU_ASSERT_FATAL(n < MAX_SETTINGS && dumped != NULL);
        CU_ASSERT_FATAL(asprintf(&settings[n++], "%s=%s", pointer, dumped) > 0);
        free(dumped);
    }
    snprintf(path, sizeof(path), "%s/%s.json", DATA("experiments"),
             strait_text_of(entry, "experiment"));
    if (strait_sweep_load(&sweep, path, (const char *const *)settings, n, &err) != 0) {
        complain_of(entry, &err);
    } else {
        if (sweep->n_points == 1)
            point = strait_sweep_point(sweep, 0, NULL, &err);
        else
            complain(entry, "expected settings that leave one point of the experiment's sweep");
        strait_sweep_free(sweep);
    }
    for (size_t i = 0; i < n; i++)
        free(settings[i]);
    return point;
}

/* Payload of all ranks' spans of each kind: what was encoded, decoded, carried. */
static json_t *bytes_by_phase(const struct strait_trial *p)
{
    uint64_t bytes[STRAIT_N_SPAN_KINDS] = {0};
    for (int r = 0; r < p->run.n_ranks; r++) {
        struct strait_span_walk walk;
        strait_spans_begin(&walk, &p->logs[r].spans);
        for (const struct strait_span *s; (s = strait_spans_next(&walk));)
            bytes[s->kind] += s->bytes;
    }
    json_t *out = json_object();
    for (int kind = 0; kind < STRAIT_SPAN_ROUND; kind++)
        if (bytes[kind] > 0)
            json_object_set_new(out, strait_span_kind_name((enum strait_span_kind)kind),
                                json_integer((json_int_t)bytes[kind]));
    return out;
}

/* What a golden run keeps of its row. */
static json_t *kept_of(const struct strait_trial *p, const json_t *row)
{
    static const char *const sizes[] = {"raw", "payload", "frame", "messages", "up", "down"};
    static const char *const seconds[] = {"round_s", "total_s", "path_s", "wait_s", "busy_s"};
    json_t *bytes = json_object(), *times = json_object();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        json_object_set(bytes, sizes[i], json_object_get(json_object_get(row, "bytes"), sizes[i]));
    json_object_set_new(bytes, "by_phase", bytes_by_phase(p));
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
        json_object_set(times, seconds[i], json_object_get(row, seconds[i]));
    return json_pack("{s:s, s:o, s:o}", "strategy", p->experiment->strategy->name, "bytes", bytes,
                     "times", times);
}

/* What the point gives now; NULL: complained. */
static json_t *found_of(const json_t *entry, const struct strait_profile *profile)
{
    const struct strait_backend *backend =
        strcmp(strait_text_of(entry, "on"), "sim") == 0 ? &strait_sim : &strait_fluid;
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    const struct strait_row_context context = {.backend = backend->name, .key = "golden"};
    json_t *point = point_of(entry), *row = NULL, *kept = NULL;
    if (!point)
        return NULL;
    if (strait_experiment_read(&e, DATA("experiments/"), point, &err) == 0 &&
        strait_trial_new(&p, e, profile, &(struct strait_trial_options){0}, &err) == 0 &&
        strait_trial_run(p, backend, &err) == 0 && (row = strait_row_new(p, &context, &err)))
        kept = kept_of(p, row);
    else
        complain_of(entry, &err);
    json_decref(row);
    strait_trial_free(p);
    strait_experiment_free(e);
    json_decref(point);
    return kept;
}

/* --- against the file ------------------------------------------------------------------------ */

static bool are_alike(const json_t *wanted, const json_t *found)
{
    if (!json_is_real(wanted) || !json_is_real(found))
        return json_equal(wanted, found) == 1;
    const double w = json_real_value(wanted), f = json_real_value(found);
    return fabs(f - w) <= TOLERANCE_RATIO * fabs(w);
}

/* Every field of both, named in full: "times/path_s/transfer". */
static void compare(const json_t *entry, const char *name, json_t *wanted, json_t *found)
{
    char text[256];
    const char *key;
    json_t *value;
    if (json_is_object(wanted) && json_is_object(found)) {
        json_object_foreach (wanted, key, value) {
            snprintf(text, sizeof(text), "%s/%s", name, key);
            compare(entry, text, value, json_object_get(found, key));
        }
        json_object_foreach (found, key, value)
            if (!json_object_get(wanted, key)) {
                snprintf(text, sizeof(text), "%s/%s", name, key);
                compare(entry, text, NULL, value);
            }
        return;
    }
    if (wanted && found && are_alike(wanted, found))
        return;
    char *w = wanted ? json_dumps(wanted, JSON_ENCODE_ANY) : NULL,
         *f = found ? json_dumps(found, JSON_ENCODE_ANY) : NULL;
    snprintf(text, sizeof(text), "%s: expected %s, found %s", name, w ? w : "nothing",
             f ? f : "nothing");
    complain(entry, text);
    free(w);
    free(f);
}

static const char *const kept_keys[] = {"strategy", "bytes", "times"};

static void write_golden(const json_t *all)
{
    size_t i;
    json_t *entry;
    char new[PATH_MAX + 8];
    snprintf(new, sizeof(new), "%s.new", DATA(GOLDEN));
    FILE *f = fopen(new, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    json_array_foreach (all, i, entry) {
        json_dumpf(entry, f, JSON_REAL_PRECISION(17));
        fputc('\n', f);
    }
    CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
    CU_ASSERT_EQUAL(rename(new, DATA(GOLDEN)), 0);
}

static void as_they_were(void)
{
    struct strait_error err = {0};
    struct strait_profile *profile;
    size_t i;
    json_t *entry, *all = load_golden();
    const char *write = getenv("STRAIT_WRITE_GOLDEN");
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    json_array_foreach (all, i, entry) {
        json_t *found = found_of(entry, profile);
        const bool is_new = !json_object_get(entry, "bytes");
        if (found && write && (is_new || strcmp(write, "all") == 0))
            json_object_update(entry, found);
        for (size_t k = 0; found && k < sizeof(kept_keys) / sizeof(kept_keys[0]); k++)
            compare(entry, kept_keys[k], json_object_get(entry, kept_keys[k]),
                    json_object_get(found, kept_keys[k]));
        json_decref(found);
    }
    if (write)
        write_golden(all);
    strait_profile_free(profile);
    json_decref(all);
}

/* --- what has one ---------------------------------------------------------------------------- */

static bool has_one(const json_t *all, const char *key, const char *value)
{
    size_t i;
    json_t *entry;
    json_array_foreach (all, i, entry)
        if (strcmp(strait_text_of(entry, key), value) == 0)
            return true;
    return false;
}

static void of_all_strategies(void)
{
    size_t n;
    const struct strait_strategy *const *listed = strait_strategies(&n);
    json_t *all = load_golden();
    for (size_t i = 0; i < n; i++) {
        if (!has_one(all, "strategy", listed[i]->name))
            fprintf(stderr, "%s has no golden run\n", listed[i]->name);
        CU_ASSERT(has_one(all, "strategy", listed[i]->name));
    }
    json_decref(all);
}

static void of_all_experiments(void)
{
    int n = 0;
    json_t *all = load_golden();
    DIR *folder = opendir(DATA("experiments"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (struct dirent *file; (file = readdir(folder));) {
        char *end = strstr(file->d_name, ".json");
        if (!end)
            continue;
        *end = '\0';
        n++;
        if (!has_one(all, "experiment", file->d_name))
            fprintf(stderr, "%s.json has no golden run\n", file->d_name);
        CU_ASSERT(has_one(all, "experiment", file->d_name));
    }
    CU_ASSERT(n > 0);
    closedir(folder);
    json_decref(all);
}

/* strategies.json is there to tell them apart: as many bytes in the same time would be one schedule
 * under two names. The closest pair, ByteScheduler and wait-free back-propagation, differs by 1 %;
 * the same plan under another name by what rounding leaves. */
static void none_alike(void)
{
    static const double MIN_RATIO = 5e-3;
    size_t i, k, n_alike = 0, n_compared = 0;
    json_t *a, *b, *all = load_golden();
    json_array_foreach (all, i, a)
        for (k = 0; k < i; k++) {
            b = json_array_get(all, k);
            if (strcmp(strait_text_of(a, "experiment"), "strategies") != 0 ||
                strcmp(strait_text_of(b, "experiment"), "strategies") != 0)
                continue;
            const json_t *a_bytes = json_object_get(a, "bytes"),
                         *b_bytes = json_object_get(b, "bytes");
            const double a_s = strait_row_number(json_object_get(a, "times"), "round_s"),
                         b_s = strait_row_number(json_object_get(b, "times"), "round_s");
            n_compared++;
            if (json_equal(json_object_get(a_bytes, "payload"),
                           json_object_get(b_bytes, "payload")) != 1 ||
                fabs(a_s - b_s) > MIN_RATIO * b_s)
                continue;
            fprintf(stderr, "%s is like %s: %.17g and %.17g s\n", strait_text_of(a, "strategy"),
                    strait_text_of(b, "strategy"), a_s, b_s);
            n_alike++;
        }
    CU_ASSERT(n_compared > 0);
    CU_ASSERT_EQUAL(n_alike, 0);
    json_decref(all);
}

static const struct strait_test tests[] = {
    {"golden runs send the bytes and take the times that they did", as_they_were},
    {"every listed strategy has a golden run", of_all_strategies},
    {"every experiment that ships has a golden run", of_all_experiments},
    {"no two of the strategies side by side have the same bytes and time", none_alike},
};
STRAIT_SUITE_WITH("campaign/golden_runs", tests, .slow_s = 20, .release = true);
