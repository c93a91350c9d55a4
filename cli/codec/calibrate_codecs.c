/* strait calibrate codecs: what the codecs cost and save on this machine, as a profile that
 * experiments can name; strait calibrate host: the same in a machine, with its memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/kit/memory.h"
#include "analysis/table.h"
#include "codecs/bundle.h"
#include "codecs/profile/calibrate.h"
#include "core/json.h"
#include "core/names.h"
#include "core/progress.h"
#include "codec_command.h"
#include "cli/kit/calibrate_commands.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "campaign/host_header.h"
#include "workloads/timing/memory_rows.h"

enum { MAX_REPEATS = 15, GROUP = 8, TEXT_CHARS = 512 };

static const double range_values[] = {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6};
static const double abs_values[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
static const double rms_values[] = {1.0, 0.5, 1e-1, 3e-2, 1e-2, 1e-3};
static const double pointwise_values[] = {1e-1, 1e-2, 1e-3, 1e-4};
static const double ratio_values[] = {2, 4, 8, 16, 32, 64};
#define GRID(kind, values)                                                                         \
    {                                                                                              \
        kind, values, sizeof(values) / sizeof(*(values))                                           \
    }
static const struct strait_bound_grid grids[] = {
    GRID(STRAIT_BOUND_RANGE, range_values), GRID(STRAIT_BOUND_ABS, abs_values),
    GRID(STRAIT_BOUND_RMS, rms_values), GRID(STRAIT_BOUND_POINTWISE, pointwise_values),
    GRID(STRAIT_BOUND_RATIO, ratio_values)};

struct calibrate {
    struct strait_codec_cases cases;
    struct strait_tensor_set set;
    struct strait_profile *profile;
    float **changed; /* weights a round later; n_changed of them */
    size_t n_changed;
    const char *title, *out, *kind;
    struct strait_texts texts; /* codecs that are wanted */
    const char *command;       /* for errors: "calibrate codecs" */
    long n_repeats;
    bool force, append, json;
    bool gathers; /* the memory as a link too */
};

/* --- measuring ---------------------------------------------------------------------------- */

/* What the recorded weights of one tensor are after the local steps of its update: the weights that
 * a server sends next, against those that receivers have. NULL with no update there. */
static int add_change(struct calibrate *c, struct strait_calibration_tensor *change,
                      const struct strait_calibration_tensor *weights, const char *file,
                      struct strait_error *err)
{
    const struct strait_tensors *all = c->set.recorded;
    const struct strait_recording *update = NULL;
    for (size_t i = 0; i < all->n_recordings && !update; i++) {
        const struct strait_recording *r = &all->recordings[i];
        if (strcmp(r->file, file) == 0)
            update = strait_tensors_find(all, r->model, r->layer, "update", r->step);
    }
    if (!update)
        return 0;
    float *after = malloc(update->n_elems * sizeof(*after));
    if (!after)
        return strait_error_memory(err, "calibrate");
    for (size_t i = 0; i < update->n_elems; i++)
        after[i] = weights->x[i] + update->values[i];
    *change = *weights;
    change->kind = "change";
    change->before = weights->x;
    change->x = c->changed[c->n_changed++] = after;
    return 0;
}

/* Files of the user's are what he wants to see measured, as vectors too: a lossy codec is not kept
 * from them for being one-dimensional. */
static struct strait_calibration_tensor *tensors_of(struct calibrate *c, struct strait_error *err)
{
    const struct strait_tensor_set *set = &c->set;
    struct strait_calibration_tensor *tensors = calloc(2 * set->n + 1, sizeof(*tensors));
    c->changed = calloc(set->n + 1, sizeof(*c->changed));
    if (!tensors || !c->changed) {
        strait_error_memory(err, "calibrate");
        free(tensors);
        return NULL;
    }
    for (size_t i = 0; i < set->n; i++) {
        const struct strait_set_tensor *t = &set->items[i];
        tensors[i] = (struct strait_calibration_tensor){
            .x = t->x,
            .n_elems = t->n_elems,
            .n_dims = set->recorded || t->n_dims >= 2 ? t->n_dims : 2,
            .n_rows = t->n_rows,
            .kind = t->kind};
        if (set->recorded && strcmp(t->kind, "param") == 0 &&
            add_change(c, &tensors[set->n + c->n_changed], &tensors[i], t->name, err) != 0) {
            free(tensors);
            return NULL;
        }
    }
    return tensors;
}

static int check_tensors(const struct strait_calibration_tensor *t, size_t n,
                         struct strait_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (strait_slice_lossy(t[i].n_dims, t[i].n_elems, STRAIT_BUNDLE_CUTOFF_ELEMS))
            return 0;
    return strait_refuse(err, "calibrate", "expected a tensor of more than %d values, found none",
                         STRAIT_BUNDLE_CUTOFF_ELEMS);
}

/* Into the profile so far; the first group, or what --append names, is the beginning. */
static int merge(struct strait_profile **all, struct strait_profile *more, struct strait_error *err)
{
    if (!*all) {
        *all = more;
        return 0;
    }
    const int failed = strait_profile_merge(*all, more, err);
    strait_profile_free(more);
    return failed;
}

/* In groups of cases, for the sake of the progress line. */
static int measure(struct calibrate *c, struct strait_calibration *what, struct strait_error *err)
{
    struct strait_calibration_case cases[GROUP];
    struct strait_progress progress;
    int failed = 0;
    strait_progress_init(&progress, "settings measured", c->cases.n);
    for (size_t i = 0; i < c->cases.n && !failed; i += what->n_cases) {
        struct strait_profile *p = NULL;
        what->cases = cases;
        what->n_cases = c->cases.n - i < GROUP ? c->cases.n - i : GROUP;
        for (size_t k = 0; k < what->n_cases; k++)
            cases[k] = (struct strait_calibration_case){.spec = c->cases.items[i + k]};
        failed = strait_calibrate(&p, what, err) != 0 || merge(&c->profile, p, err) != 0;
        strait_progress_step(&progress, i + what->n_cases);
    }
    strait_progress_release(&progress);
    what->cases = NULL;
    return failed ? -1 : 0;
}

/* --- showing ------------------------------------------------------------------------------ */

static void print_entry(struct strait_table *t, const struct strait_profile_entry *e)
{
    char text[sizeof(e->codec) + STRAIT_SPEC_CHARS], number[STRAIT_NUMBER_CHARS];
    struct strait_codec_spec spec;
    snprintf(text, sizeof(text), "%s%s%s", e->codec, *e->settings ? ":" : "", e->settings);
    if (strait_codec_spec_parse(&spec, text, NULL) == 0) {
        spec.bound = e->bound;
        strait_codec_spec_text(text, &spec);
    }
    strait_table_cell(t, text);
    strait_table_cell(t, strait_tensor_kind_word(e->kind));
    strait_table_cell(t, strait_format_number(number, e->ratio, 4));
    strait_table_cellf(t, "%.0f", e->encode_bytes_per_s / 1e6);
    strait_table_cellf(t, "%.0f to %.0f", e->encode.p10 / 1e6, e->encode.p90 / 1e6);
    strait_table_cellf(t, "%.1f", e->encode_fixed_s * 1e6);
    strait_table_cellf(t, "%.0f", e->decode_bytes_per_s / 1e6);
    strait_table_cellf(t, "%.0f to %.0f", e->decode.p10 / 1e6, e->decode.p90 / 1e6);
    strait_table_cellf(t, "%.1f", e->decode_fixed_s * 1e6);
}

static void print_profile(const struct strait_profile *p)
{
    static const struct {
        const char *title;
        bool numbers;
    } columns[] = {{"codec", false},   {"tensors", false},   {"ratio", true},
                   {"in MB/s", true},  {"p10 to p90", true}, {"fixed us", true},
                   {"out MB/s", true}, {"p10 to p90", true}, {"fixed us", true}};
    struct strait_table *t = strait_table_new();
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        strait_table_column(t, columns[i].title, columns[i].numbers);
        if (i == 1)
            strait_table_key(t);
    }
    for (size_t i = 0; i < p->n_entries; i++) {
        if (i > 0 && strcmp(p->entries[i].codec, p->entries[i - 1].codec) != 0)
            strait_table_rule(t);
        print_entry(t, &p->entries[i]);
    }
    strait_show_table(t);
    printf("\nadding %.0f MB/s, copying %.0f MB/s\n", p->add_bytes_per_s / 1e6,
           p->copy_bytes_per_s / 1e6);
}

/* --- preparing ---------------------------------------------------------------------------- */

static void describe(char machine[TEXT_CHARS], char date[32])
{
    json_t *json = strait_host_json();
    const time_t now = time(NULL);
    struct tm tm;
    const char *cpu = json_string_value(json_object_get(json, "cpu"));
    snprintf(machine, TEXT_CHARS, "one of %lld processors, %.400s",
             (long long)json_integer_value(json_object_get(json, "cores")), cpu ? cpu : "unknown");
    json_decref(json);
    if (!gmtime_r(&now, &tm) || strftime(date, 32, "%Y-%m-%d", &tm) == 0)
        snprintf(date, 32, "undated");
}

static int check(const struct calibrate *c, struct strait_error *err)
{
    if (c->n_repeats > MAX_REPEATS)
        return strait_error_set(err, STRAIT_ERR_USAGE, c->command,
                                "expected at most %d after --repeats, found %ld", MAX_REPEATS,
                                c->n_repeats);
    if (c->append && !c->out)
        return strait_error_set(err, STRAIT_ERR_USAGE, c->command,
                                "expected --out with --append, found none");
    return c->out && !c->append ? strait_file_check_new(c->out, c->force, err) : 0;
}

/* What --append adds to: nothing where there is no such file yet. One profile is of one machine,
 * and its figures are all measured, by one version of the codecs. */
static int load_earlier(struct calibrate *c, const struct strait_calibration *now,
                        struct strait_error *err)
{
    if (!c->append || access(c->out, F_OK) != 0)
        return 0;
    if (strait_profile_load(&c->profile, c->out, err) != 0)
        return -1;
    const struct strait_profile *p = c->profile;
    if (p->stated || strcmp(p->machine, now->machine) != 0 || strcmp(p->version, now->version) != 0)
        return strait_refuse(err, c->out,
                             "expected a profile that strait %s measured on %s, found %s%s on %s",
                             now->version, now->machine, p->stated ? "one that is stated, of " : "",
                             p->version, p->machine);
    return 0;
}

/* Measure, on top of what --append found. */
static int fill_profile(struct calibrate *c, struct strait_error *err)
{
    char machine[TEXT_CHARS], date[32], source[TEXT_CHARS];
    struct strait_calibration_tensor *tensors = tensors_of(c, err);
    describe(machine, date);
    snprintf(source, sizeof(source), "strait %s on %s, one thread", c->command,
             c->set.recorded ? "the recorded tensors" : "files of the user's");
    struct strait_calibration what = {.title = c->title,
                                      .machine = machine,
                                      .date = date,
                                      .version = STRAIT_VERSION,
                                      .source = source,
                                      .tensors = tensors,
                                      .n_tensors = c->set.n + c->n_changed,
                                      .n_repeats = (unsigned)c->n_repeats};
    const int failed = !tensors || check_tensors(tensors, c->set.n, err) != 0 ||
                       load_earlier(c, &what, err) != 0 || measure(c, &what, err) != 0;
    for (size_t i = 0; i < c->n_changed; i++)
        free(c->changed[i]);
    free(c->changed);
    free(tensors);
    return failed ? -1 : 0;
}

static int calibrate_codecs(struct calibrate *c, struct strait_error *err)
{
    if (fill_profile(c, err) != 0 || (c->out && strait_profile_save(c->profile, c->out, err) != 0))
        return -1;
    if (c->json) {
        json_t *profile = strait_profile_json(c->profile);
        strait_command_print_json(profile);
        json_decref(profile);
    } else {
        print_profile(c->profile);
    }
    return 0;
}

/* --- a machine: the profile, and speeds of memory --------------------------------------------- */

static json_t *machine_json(const struct calibrate *c)
{
    const struct strait_profile *p = c->profile;
    char text[2 * TEXT_CHARS];
    snprintf(text, sizeof(text),
             "%s on %s, version %s, median of %ld over memory that no cache holds", p->source,
             p->date, p->version, c->n_repeats);
    return json_pack("{s:s, s:s, s:{s:o, s:o, s:o}, s:{s:s, s:s}}", "schema", "strait-machine/1",
                     "title", c->title, "machine", "add",
                     json_sprintf("%.6g MB/s", 1e-6 * p->add_bytes_per_s), "copy",
                     json_sprintf("%.6g MB/s", 1e-6 * p->copy_bytes_per_s), "profile",
                     strait_profile_json(p), "sources", "add", text, "copy", text);
}

/* The memory as the link of offloading strategies, into the machine and on the screen. */
static int add_link(json_t *file, const struct calibrate *c, struct strait_error *err)
{
    struct strait_gather_speed speed;
    json_t *pairs = json_array(), *sources = json_object_get(file, "sources");
    char source[TEXT_CHARS];
    if (strait_time_gather(&speed, (size_t)c->n_repeats, err) != 0) {
        json_decref(pairs);
        return -1;
    }
    for (size_t i = 0; i < STRAIT_N_GATHER_ROWS; i++)
        json_array_append_new(pairs, json_pack("[f, f]", speed.row_bytes[i], speed.efficiency[i]));
    json_object_set_new(json_object_get(file, "machine"), "link",
                        json_pack("{s:o, s:o, s:b}", "rate",
                                  json_sprintf("%.6g MB/s", 1e-6 * speed.bytes_per_s), "gather",
                                  pairs, "in_memory", 1));
    snprintf(source, sizeof(source), "%s: copies of an eighth of it, in one piece and by rows",
             json_string_value(json_object_get(sources, "copy")));
    json_object_set_new(sources, "link", json_string(source));
    if (c->json)
        return 0;
    printf("\ncopying rows, a drawn eighth of those that no cache holds (in one piece %.0f MB/s)\n",
           speed.bytes_per_s / 1e6);
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "row", true);
    strait_table_column(t, "MB/s", true);
    for (size_t i = 0; i < STRAIT_N_GATHER_ROWS; i++) {
        strait_table_cellf(t, "%.0f B", speed.row_bytes[i]);
        strait_table_cellf(t, "%.0f", speed.efficiency[i] * speed.bytes_per_s / 1e6);
    }
    strait_show_table(t);
    return 0;
}

static int calibrate_host(struct calibrate *c, struct strait_error *err)
{
    if (fill_profile(c, err) != 0)
        return -1;
    if (!c->json)
        print_profile(c->profile);
    json_t *machine = machine_json(c);
    if (c->gathers && add_link(machine, c, err) != 0) {
        json_decref(machine);
        return -1;
    }
    char *text = json_dumps(machine, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    int failed = text ? 0 : strait_error_memory(err, NULL);
    if (!failed && c->out)
        failed = strait_file_write(c->out, c->force, text, strlen(text), "\n", 1, err);
    if (!failed && c->json)
        strait_command_print_json(machine);
    free(text);
    json_decref(machine);
    return failed;
}

/* --- the commands ----------------------------------------------------------------------------- */

static const char codecs_notes[] =
    "TENSORS are .npy or raw float32 files, or a folder with a manifest.json, as\n"
    "strait.record writes it, which knows shapes; without any, the recorded tensors\n"
    "that ship. Bounded codecs are measured over a grid of bounds, between which\n"
    "experiments interpolate. Times are CPU times of one thread, t = fixed + bytes /\n"
    "speed, and p10 to p90 are over the tensors. What error feedback and momentum\n"
    "cost is part of encode. All codecs take about a minute; a quiet machine gives\n"
    "better figures. An experiment's codec names the file: \"profile\": \"here.json\".\n\n"
    "  strait calibrate codecs --out here.json\n"
    "  strait calibrate codecs --codec sz --codec topk:ratio=0.01 --repeats 3\n"
    "  strait calibrate codecs --codec qsgd:levels=31 --out here.json --append\n"
    "  strait calibrate codecs gradients/*.npy --kind gradients --out mine.json\n";
static const char host_notes[] =
    "Writes a machine file: the costs that strait calibrate codecs measures, and how\n"
    "fast this machine adds and copies values. A call takes t = fixed + bytes /\n"
    "speed. An experiment names the file: \"device\": \"./here.json\", or --set\n"
    "/device=./here.json. Its codecs then have the times measured here, unless they\n"
    "name a profile or were not measured.\n"
    "With --gather this machine's memory is the link of offloading strategies: its\n"
    "rate is measured, whole and for rows of 64 B to 64 KiB, and emulations copy.\n\n"
    "  strait calibrate host --out here.json\n"
    "  strait calibrate host --codec none --gather --out memory.json\n"
    "  strait calibrate host --codec sz --codec zstd --out here.json\n"
    "  strait run wan-check --set /device=./here.json\n";

static int run(const struct strait_usage *usage, struct calibrate *c,
               int (*work)(struct calibrate *c, struct strait_error *err), int argc, char **argv)
{
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    bool help;
    struct strait_error err = {0};
    size_t n_words;
    if (!words)
        strait_error_memory(&err, c->command);
    strait_command_begins_again();
    int failed = !words || strait_options_parse(usage, argc, argv, words, (size_t)argc, &n_words,
                                                &help, &err) != 0;
    if (!failed && help)
        strait_options_print(usage, stdout);
    else if (!failed)
        failed = check(c, &err) != 0 ||
                 strait_codec_cases_fill(&c->cases, &c->texts, grids,
                                         sizeof(grids) / sizeof(*grids), &err) != 0 ||
                 strait_tensor_set_load(&c->set, words, n_words, c->kind, &err) != 0 ||
                 work(c, &err) != 0;
    if (!failed && !help)
        strait_codec_cases_left_out(&c->texts);
    strait_tensor_set_release(&c->set);
    strait_codec_cases_release(&c->cases);
    strait_profile_free(c->profile);
    free(c->texts.items);
    free(words);
    return failed ? strait_command_fail(&err) : 0;
}

int strait_calibrate_codecs(int argc, char **argv)
{
    struct calibrate c = {
        .title = "the codecs on this machine", .command = "calibrate codecs", .n_repeats = 5};
    const struct strait_option options[] = {
        {"codec", 0, STRAIT_OPTION_TEXTS, &c.texts, "SPEC",
         "measure this codec; repeatable (default all)"},
        {"kind", 0, STRAIT_OPTION_TEXT, &c.kind, "KIND", "weights, updates or gradients"},
        {"title", 0, STRAIT_OPTION_TEXT, &c.title, "TEXT", "title of the profile"},
        {"out", 'o', STRAIT_OPTION_TEXT, &c.out, "PROFILE.json", "write the profile"},
        {"force", 0, STRAIT_OPTION_FLAG, &c.force, NULL, "replace what --out names"},
        {"append", 0, STRAIT_OPTION_FLAG, &c.append, NULL,
         "keep what --out names; add or renew entries"},
        {"repeats", 0, STRAIT_OPTION_COUNT, &c.n_repeats, "N", "timings a tensor (default 5)"},
        {"json", 0, STRAIT_OPTION_FLAG, &c.json, NULL, "the profile on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {c.command, "[TENSORS...]",
                                       "Measure what the codecs cost and save on this machine.",
                                       STRAIT_OPTIONS(options), codecs_notes};
    return run(&usage, &c, calibrate_codecs, argc, argv);
}

int strait_calibrate_host(int argc, char **argv)
{
    struct calibrate c = {.title = "this machine", .command = "calibrate host", .n_repeats = 5};
    const struct strait_option options[] = {
        {"codec", 0, STRAIT_OPTION_TEXTS, &c.texts, "SPEC",
         "measure this codec; repeatable (default all)"},
        {"gather", 0, STRAIT_OPTION_FLAG, &c.gathers, NULL,
         "also copies of rows: the link of offloading"},
        {"title", 0, STRAIT_OPTION_TEXT, &c.title, "TEXT", "title of the machine"},
        {"out", 'o', STRAIT_OPTION_TEXT, &c.out, "MACHINE.json", "write the machine"},
        {"force", 0, STRAIT_OPTION_FLAG, &c.force, NULL, "replace what --out names"},
        {"repeats", 0, STRAIT_OPTION_COUNT, &c.n_repeats, "N", "timings a tensor (default 5)"},
        {"json", 0, STRAIT_OPTION_FLAG, &c.json, NULL, "the machine on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {c.command, "[TENSORS...]",
                                       "Measure this machine: its codecs and its memory.",
                                       STRAIT_OPTIONS(options), host_notes};
    return run(&usage, &c, calibrate_host, argc, argv);
}
