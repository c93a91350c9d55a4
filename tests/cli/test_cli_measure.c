/* strait codec list and bench, and strait calibrate, from outside. */
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "codecs/profile/profile.h"
#include "tests/kit/data.h"
#include "tests/kit/program.h"
#include "tests/kit/tensor_kinds.h"

enum { N = 6000 };

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static void set_up(void)
{
    static float weights[N];
    program_set_up(&program);
    make_tensor(weights, N, TENSOR_WEIGHTS, 1);
    program_write_bytes(&program, "weights.f32", weights, sizeof(weights));
}

static bool is_table_line(const char *line, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == '\n');
}

static void lists(void)
{
    size_t n, n_objects = 0;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    set_up();
    struct said json = CALL("codec", "list", "--json"), table = CALL("codec", "list");
    struct said same = CALL("list", "codecs", "--json");
    CU_ASSERT_STRING_EQUAL(json.out, same.out);
    CU_ASSERT_EQUAL(program_n_lines(json.out), n);
    for (char *line = strtok(json.out, "\n"); line; line = strtok(NULL, "\n"), n_objects++) {
        json_t *row = json_loads(line, 0, NULL);
        const struct strait_codec_ops *ops = codecs[n_objects];
        CU_ASSERT_TRUE_FATAL(json_is_object(row));
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "name")), ops->name);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "parameters")), ops->n_params);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "collectives")), ops->add ? 5 : 4);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(row, "available")),
                        !strait_codec_unavailable(ops));
        json_decref(row);
    }
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (const char *line = table.out; line && *line; line = strchr(line, '\n')) {
            line += *line == '\n';
            found = found || is_table_line(line, codecs[i]->name);
        }
        CU_ASSERT(found);
        struct said one = CALL("codec", "list", codecs[i]->name);
        CU_ASSERT_EQUAL(one.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(one.out, codecs[i]->source));
        for (unsigned k = 0; k < codecs[i]->n_params; k++)
            CU_ASSERT_PTR_NOT_NULL(strstr(one.out, codecs[i]->params[k].name));
        said_release(&one);
    }
    said_release(&json);
    said_release(&same);
    said_release(&table);
    program_tear_down(&program);
}

/* No line of the table is wider than 120 columns; "\xe2" begins the three bytes of a rule's dash.
 */
static void narrow(void)
{
    set_up();
    struct said table = CALL("codec", "list");
    for (char *line = strtok(table.out, "\n"); line; line = strtok(NULL, "\n"))
        CU_ASSERT(strncmp(line, "\xe2", 1) == 0 ? strlen(line) <= 3 * 120 : strlen(line) <= 120);
    said_release(&table);
    program_tear_down(&program);
}

/* none against none is 1. 6,000 normal weights span about 7.5 of their deviation: a step of 0.02 of
 * that leaves log2(sqrt(2 pi e) / 0.15) = 4.8 bits, and 32 / 4.8 is 6.7. */
static void bench(void)
{
    set_up();
    struct said s = CALL("codec", "bench", "weights.f32", "--codec", "none", "--codec",
                         "sz:range=0.01", "--against", "none", "--repeats", "1", "--json");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 2);
    for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL), *against = json_object_get(row, "against");
        const bool none = strcmp(json_string_value(json_object_get(row, "codec")), "none") == 0;
        const double ratio = json_number_value(json_object_get(row, "ratio"));
        const double error = json_number_value(json_object_get(row, "error_over_bound"));
        CU_ASSERT_EQUAL(json_number_value(json_object_get(row, "raw_bytes")), 4 * N);
        CU_ASSERT(none ? ratio == 1 : ratio > 5 && ratio < 8 && error > 0.5 && error <= 1);
        CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(against, "ratio")), ratio, 1e-12);
        CU_ASSERT(json_number_value(json_object_get(row, "encode_bytes_per_s")) > 0);
        json_decref(row);
    }
    said_release(&s);
    s = CALL("codec", "bench", "--codec", "none", "--kind", "updates", "--repeats", "1");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "updates"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "gradients"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "recorded tensors"));
    said_release(&s);
    /* as a table: none against itself is 1 in each column */
    s = CALL("codec", "bench", "weights.f32", "--codec", "none", "--codec", "sz:range=0.01",
             "--against", "none", "--repeats", "1");
    CU_ASSERT_EQUAL(s.status, 0);
    const char *line = strstr(s.out, "\nnone "), *title = strstr(s.out, "ratio/none");
    CU_ASSERT_FATAL(line && title);
    char last[3][16] = {"", "", ""}, more[16];
    CU_ASSERT_EQUAL(sscanf(title, "ratio/none %15s %15s", last[0], last[1]), 2);
    CU_ASSERT_STRING_EQUAL(last[0], "in");
    CU_ASSERT_STRING_EQUAL(last[1], "out");
    CU_ASSERT_EQUAL(sscanf(line, " none %*s %*s %*s %*s %*s %*s %15s %15s %15s %15s", last[0],
                           last[1], last[2], more) >= 3,
                    true);
    CU_ASSERT_STRING_EQUAL(last[0], "1.000");
    CU_ASSERT_STRING_EQUAL(last[1], "1.00");
    CU_ASSERT_STRING_EQUAL(last[2], "1.00");
    said_release(&s);
    /* where the table continues below, its rows keep their names: codec and kind of tensor */
    setenv("COLUMNS", "60", 1);
    s = CALL("codec", "bench", "--codec", "none", "--against", "none", "--repeats", "1");
    unsetenv("COLUMNS");
    const char *const below = strstr(s.out, "\ncodec  tensors  ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(below);
    CU_ASSERT_CONTAINS(below, "\nnone   weights  ");
    CU_ASSERT_CONTAINS(below, "\n       updates  ");
    said_release(&s);
    /* sz without a bound is measured at three, and so is its reference */
    s = CALL("codec", "bench", "weights.f32", "--codec", "sz", "--against", "zfp", "--repeats", "1",
             "--json");
    CU_ASSERT_EQUAL(program_n_lines(s.out), 6);
    said_release(&s);
    program_tear_down(&program);
}

static void calibrate(void)
{
    struct strait_profile *p = NULL;
    struct strait_error err = {0};
    char path[160];
    set_up();
    struct said s = CALL("calibrate", "codecs", "weights.f32", "weights.f32", "--codec", "zstd",
                         "--codec", "sz:range=1e-3", "--codec", "sz:abs=1e-3", "--kind", "weights",
                         "--title", "mine", "--out", "mine.json", "--repeats", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "sz:range=1e-3"));
    CU_ASSERT_STRING_EQUAL(s.err, "");
    said_release(&s);
    snprintf(path, sizeof(path), "%s/mine.json", program.folder);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, path, &err), 0);
    CU_ASSERT_STRING_EQUAL(p->title, "mine");
    CU_ASSERT_EQUAL(p->n_entries, 6); /* three settings, each for weights and for any */
    for (size_t i = 0; i < p->n_entries; i++) {
        CU_ASSERT_STRING_EQUAL(p->entries[i].codec, i < 2 ? "zstd" : "sz");
        CU_ASSERT_STRING_EQUAL(p->entries[i].kind, i % 2 == 0 ? "param" : "any");
        CU_ASSERT(p->entries[i].ratio > 1);
    }
    strait_profile_free(p);
    program_tear_down(&program);
}

/* A recorder's folder: 64 x 32 values, of which PowerSGD sends two factors of 4 (64 + 32) and a few
 * bytes; without a shape it would send all of them. */
static void folder(void)
{
    struct strait_profile *p = NULL;
    struct strait_error err = {0};
    char path[160];
    float x[64 * 32];
    static const char manifest[] =
        "{\"format\": \"raw float32 little-endian, C order\", \"tensors\": [{\"file\": \"g.f32\","
        "\"model\": \"m\", \"layer\": \"fc.weight\", \"kind\": \"grad\", \"step\": 1,"
        "\"shape\": [64, 32], \"dtype\": \"f32le\", \"n\": 2048, \"min\": -50, \"max\": 50,"
        "\"rms\": 29, \"zeros\": 20}]}";
    set_up();
    for (int i = 0; i < 64 * 32; i++)
        x[i] = (float)((i * 37) % 101) - 50;
    snprintf(path, sizeof(path), "%s/tensors", program.folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    program_write_bytes(&program, "tensors/g.f32", x, sizeof(x));
    program_write_bytes(&program, "tensors/manifest.json", manifest, strlen(manifest));
    struct said s = CALL("calibrate", "codecs", "tensors", "--codec", "powersgd:rank=4", "--out",
                         "mine.json", "--repeats", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    snprintf(path, sizeof(path), "%s/mine.json", program.folder);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(p->n_entries, 2);
    CU_ASSERT_DOUBLE_EQUAL(p->entries[0].ratio, 64.0 * 32 / (4 * (64 + 32)), 0.3);
    CU_ASSERT_STRING_EQUAL(p->entries[0].kind, "grad");
    strait_profile_free(p);
    program_tear_down(&program);
}

/* A machine's file: read as a profile, and named by an experiment, whose codec takes its times from
 * there: 1 B/s encodes nothing in an hour. */
static void host(void)
{
    char path[160];
    set_up();
    struct said s = CALL("calibrate", "host", "weights.f32", "--codec", "zstd", "--title", "mine",
                         "--out", "mine.json", "--repeats", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "adding");
    said_release(&s);
    snprintf(path, sizeof(path), "%s/mine.json", program.folder);
    json_t *machine = json_load_file(path, 0, NULL);
    json_t *profile = json_object_get(json_object_get(machine, "machine"), "profile");
    CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(machine, "title")), "mine");
    struct strait_profile *p = NULL;
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, path, NULL), 0);
    CU_ASSERT_EQUAL(p->n_entries, 1); /* files of no kind are of any */
    strait_profile_free(p);
    size_t i;
    json_t *entry;
    json_array_foreach (json_object_get(profile, "entries"), i, entry)
        json_object_set_new(entry, "encode", json_pack("{s:s}", "speed", "1 B/s"));
    CU_ASSERT_EQUAL(json_dump_file(machine, path, 0), 0);
    json_decref(machine);
    s = CALL("run", "wan-check", "--set", "/device=./mine.json", "--set", "/codec=zstd", "--set",
             "/clients=2", "--on", "fluid", "--no-break-even", "--json", "--out", "slow");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    json_t *row = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
    CU_ASSERT(json_number_value(json_object_get(row, "round_s")) > 3600);
    json_decref(row);
    said_release(&s);
    program_tear_down(&program);
}

/* The memory as a link: rows of 64 B to 64 KiB, twice as long each, none faster than one piece. */
static void gathered(void)
{
    set_up();
    struct said s = CALL("calibrate", "host", "weights.f32", "--codec", "none", "--gather",
                         "--json", "--repeats", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    json_t *file = json_loads(s.out, 0, NULL), *pair;
    const json_t *link = json_object_get(json_object_get(file, "machine"), "link");
    const json_t *pairs = json_object_get(link, "gather");
    size_t i;
    CU_ASSERT_TRUE(json_is_true(json_object_get(link, "in_memory")));
    CU_ASSERT_PTR_NOT_NULL(strstr(json_string_value(json_object_get(link, "rate")), " MB/s"));
    CU_ASSERT_EQUAL(json_array_size(pairs), 11);
    json_array_foreach (pairs, i, pair) {
        const double share = json_number_value(json_array_get(pair, 1));
        CU_ASSERT_EQUAL(json_number_value(json_array_get(pair, 0)), (double)(64u << i));
        CU_ASSERT(share > 0 && share <= 1);
    }
    CU_ASSERT_PTR_NOT_NULL(
        strstr(json_string_value(json_object_get(json_object_get(file, "sources"), "link")),
               "median of 1 over memory that no cache holds: copies of an eighth of it"));
    json_decref(file);
    said_release(&s);
    program_tear_down(&program);
}

static size_t n_entries(const char *name)
{
    struct strait_profile *p = NULL;
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", program.folder, name);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, path, NULL), 0);
    const size_t n = p->n_entries;
    strait_profile_free(p);
    return n;
}

/* Each setting has an entry for weights and one for any. Bound 0 is read back. */
static void append(void)
{
    static const struct {
        const char *codec;
        size_t n_entries;
    } steps[] = {{"fp16", 2}, {"sz:abs=0", 4}, {"fp16", 4}, {"sz:abs=1e-3", 6}};
    set_up();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct said s =
            CALL("calibrate", "codecs", "weights.f32", "--codec", steps[i].codec, "--kind",
                 "weights", "--out", "mine.json", "--append", "--repeats", "1");
        CU_ASSERT_EQUAL(s.status, 0);
        said_release(&s);
        CU_ASSERT_EQUAL(n_entries("mine.json"), steps[i].n_entries);
    }
    struct said s = CALL("calibrate", "codecs", "weights.f32", "--append");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "expected --out with --append"));
    said_release(&s);
    char *shipped = program_read(&program, DATA("codecs/profiles/sz3-class.json"));
    program_write(&program, "stated.json", shipped);
    free(shipped);
    s = CALL("calibrate", "codecs", "weights.f32", "--codec", "fp16", "--out", "stated.json",
             "--append");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "one that is stated"));
    said_release(&s);
    program_tear_down(&program);
}

/* Whether a profile that ships has the codec. */
static bool ships_costs(const char *codec)
{
    char entry[64], path[1200];
    bool has = false;
    snprintf(entry, sizeof(entry), "\"codec\": \"%s\"", codec);
    DIR *dir = opendir(DATA("codecs/profiles"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *e; !has && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", DATA("codecs/profiles"), e->d_name);
        char *text = program_read(&program, path);
        has = strstr(text, entry) != NULL;
        free(text);
    }
    closedir(dir);
    return has;
}

/* Its picture: recorded accuracies at the bytes, once for all rates, or at the times of each rate.
 * The script is written before gnuplot is looked for. */
static void draw_tradeoff(void)
{
    static const struct {
        const char *x, *title, *none; /* no compression: 423,464 bytes a client and round */
        bool log;
        int n_panels;
    } cases[] = {{"bytes", "'MB that a client uploads a round'", "\n0.423464 85.9 ", true, 1},
                 {"time", "'time of a round (s)'", " 85.9 ", false, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("--x %s", cases[i].x);
        struct said s = CALL("plot", "results", "--x", cases[i].x, "--out", "picture.png");
        said_release(&s);
        char *script = program_read(&program, "picture.gp");
        CU_ASSERT_CONTAINS(script, "'recorded final accuracy (%)'");
        CU_ASSERT_CONTAINS(script, cases[i].none);
        CU_ASSERT_EQUAL(strstr(script, "set logscale x") != NULL, cases[i].log);
        int n_panels = 0;
        for (const char *at = script; (at = strstr(at, cases[i].title)); at++)
            n_panels++;
        CU_ASSERT_EQUAL(n_panels, cases[i].n_panels);
        free(script);
    }
}

/* Every codec whose costs ship and that needs no library of the user's has a line, and each rate a
 * column with somebody on the front. */
static void tradeoff(void)
{
    size_t n, n_lines = 0;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    set_up();
    struct said s =
        CALL("run", "tradeoff", "--on", "fluid", "--out", "results", "--profile", "default");
    CU_ASSERT_EQUAL(s.status, 0);
    for (size_t i = 0; i < n; i++) {
        bool has = codecs[i]->unavailable || !ships_costs(codecs[i]->name);
        n_lines += !has;
        for (const char *line = s.out; line && !has; line = strchr(line, '\n')) {
            line += *line == '\n';
            has = is_table_line(line, codecs[i]->name);
        }
        if (!has)
            printf("no line for %s\n", codecs[i]->name);
        CU_ASSERT(has);
    }
    CU_ASSERT(n_lines >= 33);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "round, client rate 100 Mbps"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "round, client rate 1 Gbps"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "round, client rate 10 Gbps"));
    /* recorded: none .8590 (curves/README.md), quicker by sz at 1e-2 and as accurate to .0001 */
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, " 85.90 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, " *"));
    said_release(&s);
    draw_tradeoff();
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"the trade-off table has every codec whose costs ship at every rate", tradeoff},
    {"the list names every codec, as JSON and as a table", lists},
    {"the table fits 120 columns", narrow},
    {"a benchmark gives ratios, errors and a reference", bench},
    {"a calibration is a profile that loads", calibrate},
    {"memory as a link has rows of eleven lengths", gathered},
    {"a folder with a manifest is measured by its shapes", folder},
    {"a machine is measured, and its codecs' times are taken", host},
    {"a profile is appended to", append},
};
STRAIT_SUITE("cli/cli_measure", tests);
