/* Whole rows of many small points: all strategies with settings that are not the defaults, odd
 * networks, codecs, live training. tests/golden/rows/NAME.json is an experiment, NAME.BACKEND its
 * rows, one a line, of each field one sum: its numbers times their places, plus a sum of its texts.
 * `make golden-runs` adds those of new points at the end, with CHANGED=1 it writes all anew. What a
 * field is worth is held by closed forms elsewhere; here, that none changes unseen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jansson.h>
#include "cli/kit/command.h"
#include "tests/kit/data.h"
#include "tests/kit/program.h"

/* Sums of the same numbers in another order, logarithms of another C library; live training takes
 * single precision through these. */
static const double TOLERANCE_RATIO = 1e-9, LIVE_RATIO = 1e-6;
enum { MAX_ARGS = 32 };

/* What names the row, or is of this run, machine and program alone. */
static bool is_left_out(const char *key)
{
    static const char *const out[] = {"key",     "point",     "setting_key", "codec_key", "machine",
                                      "profile", "constants", "wall_s",      "labels",    "stored"};
    for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++)
        if (strcmp(key, out[i]) == 0)
            return true;
    return false;
}

/* Numbers below v times their places, from 1 on; texts and keys count by their bytes. */
static double folded(const json_t *v, double *place)
{
    const char *key;
    const json_t *of;
    size_t i;
    double sum = 0;
    if (json_is_object(v)) {
        json_object_foreach ((json_t *)v, key, of)
            sum += folded(of, place);
    } else if (json_is_array(v)) {
        json_array_foreach (v, i, of)
            sum += folded(of, place);
    } else if (json_is_number(v)) {
        sum = json_number_value(v) * ++*place;
    } else if (json_is_string(v)) {
        for (const char *c = json_string_value(v); *c; c++)
            sum += (unsigned char)*c * (double)(c - json_string_value(v) + 1);
        sum *= 1e-6 * ++*place;
    } else {
        sum = (json_is_true(v) ? 1 : json_is_null(v) ? -2 : -1) * ++*place;
    }
    return sum;
}

static json_t *kept_of(const json_t *row)
{
    const char *key;
    const json_t *of;
    json_t *out = json_object();
    json_object_foreach ((json_t *)row, key, of)
        if (!is_left_out(key))
            json_object_set_new(out, key, json_real(folded(of, &(double){0})));
    return out;
}

static void compare(const char *line, size_t at, const json_t *found, bool live)
{
    const char *key;
    const json_t *of;
    json_t *wanted = json_loads(line, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
    CU_ASSERT_EQUAL(json_object_size(found), json_object_size(wanted));
    json_object_foreach (wanted, key, of) {
        const double w = json_number_value(of), f = json_number_value(json_object_get(found, key));
        const bool alike = fabs(f - w) <= (live ? LIVE_RATIO : TOLERANCE_RATIO) * fabs(w);
        if (!alike)
            fprintf(stderr, "line %zu, %s: expected %.17g, found %.17g\n", at, key, w, f);
        CU_ASSERT(alike);
    }
    json_decref(wanted);
}

/* A file of golden lines, one a row. */
struct golden {
    FILE *f;
    char *line;
    size_t cap, n;
    bool writes, all_anew, live;
};

static void golden_open(struct golden *g, const char *name, const char *backend)
{
    char file[256];
    const char *const write = getenv("STRAIT_WRITE_GOLDEN");
    *g = (struct golden){.writes = write != NULL,
                         .all_anew = write && strcmp(write, "all") == 0,
                         .live = strcmp(name, "live") == 0 || strcmp(name, "scored") == 0};
    snprintf(file, sizeof(file), "tests/golden/rows/%s.%s", name, backend);
    g->f = fopen(DATA(file), g->all_anew ? "w" : write ? "r+" : "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(g->f);
}

/* The next rows, one JSON text a line. */
static void golden_rows(struct golden *g, char *rows)
{
    char *rest;
    for (char *at = strtok_r(rows, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest), g->n++) {
        json_t *row = json_loads(at, 0, NULL), *found = kept_of(row);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        if (!g->all_anew && getline(&g->line, &g->cap, g->f) > 0) {
            compare(g->line, g->n + 1, found, g->live);
        } else if (g->writes) {
            fseek(g->f, 0, SEEK_CUR); /* what was read to the end is now written */
            json_dumpf(found, g->f, JSON_COMPACT | JSON_REAL_PRECISION(12));
            fputc('\n', g->f);
        } else {
            CU_FAIL("there are more rows than lines");
        }
        json_decref(found);
        json_decref(row);
    }
}

static void golden_close(struct golden *g)
{
    CU_ASSERT(g->n > 0);
    CU_ASSERT(g->writes || getline(&g->line, &g->cap, g->f) < 0);
    free(g->line);
    CU_ASSERT_EQUAL(fclose(g->f), 0);
}

static void rows_of(const char *name, const char *backend)
{
    struct program p;
    struct golden g;
    char file[256];
    program_set_up(&p);
    strait_test_context("%s on %s", name, backend);
    snprintf(file, sizeof(file), "tests/golden/rows/%s.json", name);
    struct said s = PROGRAM_CALL(&p, "run", DATA(file), "--on", backend, "--json", "-j", "1",
                                 "--no-break-even", "--out", "out");
    CU_ASSERT_EQUAL(s.status, 0);
    golden_open(&g, name, backend);
    golden_rows(&g, s.out);
    golden_close(&g);
    said_release(&s);
    program_tear_down(&p);
}

static void strategies(void)
{
    rows_of("strategies", "fluid");
    rows_of("strategies", "sim");
}

/* Losses, queues, jitter, rates that change and other traffic, under each congestion control. Packets
 * take the same code on both backends: sim's rows of them are those of "networks". */
static void packets(void)
{
    rows_of("packets", "fluid");
    rows_of("noisy", "fluid");
}

static void networks(void)
{
    rows_of("networks", "fluid");
    rows_of("networks", "sim");
}

static void codecs(void)
{
    rows_of("codecs", "fluid");
}

static void live(void)
{
    rows_of("live", "fluid");
    rows_of("scored", "fluid");
}

/* --- single settings ------------------------------------------------------------------------- */

/* In a process of its own, in the folder; text: what it prints, to be freed. */
static char *called(const struct program *p, int (*command)(int, char **), const char *const *args,
                    const json_t *sets)
{
    char *argv[MAX_ARGS] = {NULL}, *text = NULL;
    int argc = 0, status;
    size_t i, len_bytes;
    json_t *set;
    for (; args[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)args[argc];
    json_array_foreach (sets, i, set) {
        argv[argc++] = (char *)(uintptr_t) "--set";
        argv[argc++] = (char *)(uintptr_t)json_string_value(set);
    }
    CU_ASSERT_FATAL(argc < MAX_ARGS);
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        if (chdir(p->folder) != 0 || !freopen("said", "w", stdout) || !freopen("err", "w", stderr))
            _exit(126);
        _exit(strait_command_end(command(argc, argv)));
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    if (status != 0) {
        text = program_read(p, "err");
        fprintf(stderr, "%s", text);
        free(text);
    }
    CU_ASSERT_EQUAL(status, 0);
    text = program_read_bytes(p, "said", &len_bytes);
    return text;
}

/* Text that is one sum in no row: what a command says, line by line. */
static void golden_text(const char *name, char *text, bool writes)
{
    char *line = NULL, *rest, *at = strtok_r(text, "\n", &rest);
    size_t cap = 0, n = 0;
    FILE *f = fopen(DATA(name), writes ? "w" : "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (; at; at = strtok_r(NULL, "\n", &rest), n++) {
        if (writes) {
            fprintf(f, "%s\n", at);
        } else if (getline(&line, &cap, f) > 0) {
            line[strcspn(line, "\n")] = '\0';
            strait_test_context("%s:%zu", name, n + 1);
            CU_ASSERT_STRING_EQUAL(at, line);
        } else {
            CU_FAIL("there is more text than lines");
            break;
        }
    }
    CU_ASSERT(writes || getline(&line, &cap, f) < 0);
    free(line);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

/* One small point with each of many settings. In turn one command more says what it can of it. */
static void settings(void)
{
    struct program p;
    struct golden g;
    char out[32], *text;
    size_t i, len_bytes;
    json_t *sets, *all = json_load_file(DATA("tests/golden/rows/settings.json"), 0, NULL);
    const char
        *const run[] = {"run",   "e.json", "--on",   "fluid", "-j", "1", "--no-break-even",
                        "--out", out,      "--json", NULL},
               *const again[] = {"run", "e.json", "--on", "fluid", "-j", "1", "--out", out, NULL},
               *const check[] = {"check", "e.json", "--on", "fluid", NULL},
               *const why[] = {"why", out, NULL}, *const timeline[] = {"timeline", out, NULL},
               *const compare_both[] = {"compare", out, out, NULL};
    const struct {
        int (*command)(int, char **);
        const char *const *args;
        bool takes_sets;
    } tellers[] = {{strait_command_run, again, true},
                   {strait_command_why, why, false},
                   {strait_command_check, check, true},
                   {strait_command_timeline, timeline, false},
                   {strait_command_compare, compare_both, false}};
    enum { N_TELLERS = sizeof(tellers) / sizeof(tellers[0]) };
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    program_set_up(&p);
    char *base = json_dumps(json_object_get(all, "base"), 0);
    program_write(&p, "e.json", base);
    free(base);
    FILE *told = open_memstream(&text, &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(told);
    golden_open(&g, "settings", "fluid");
    json_array_foreach (json_object_get(all, "settings"), i, sets) {
        snprintf(out, sizeof(out), "out%zu", i);
        strait_test_context("%s", json_string_value(json_array_get(sets, 0)));
        char *said = called(&p, strait_command_run, run, sets);
        golden_rows(&g, said);
        free(said);
        said = called(&p, tellers[i % N_TELLERS].command, tellers[i % N_TELLERS].args,
                      tellers[i % N_TELLERS].takes_sets ? sets : NULL);
        fprintf(told, "== %s: %s\n%s", tellers[i % N_TELLERS].args[0],
                json_string_value(json_array_get(sets, 0)), said);
        free(said);
    }
    fclose(told);
    golden_text("tests/golden/rows/settings.txt", text, g.writes);
    golden_close(&g);
    free(text);
    json_decref(all);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"rows of all strategies with other settings are what they were", strategies},
    {"rows of odd networks are what they were", networks},
    {"rows of networks that are simulated packet by packet stay as they are", packets},
    {"rows of codecs are what they were", codecs},
    {"rows of trained points are what they were", live},
    {"rows of single settings, and what commands say of them, are what they were", settings},
};
STRAIT_SUITE_WITH("campaign/golden_rows", tests, .slow_s = 4, .release = true);
