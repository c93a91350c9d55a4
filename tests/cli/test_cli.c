/* The built program from outside: outputs, exit statuses, bad inputs. */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/store.h"
#include "analysis/table.h"
#include "tests/kit/data.h"
#include "tests/kit/program.h"

enum { MAX_ARGS = 12 };

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

/* Two counts of clients, without compression and with; cheap on every backend but emu. */
static const char small[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"small\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"100 Mbps\"}}, \"clients\": 1,"
    " \"vary\": {\"/codec\": [\"none\", {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}}],"
    "            \"/clients\": [1, 4]}}\n";

static void set_up(void)
{
    program_set_up(&program);
    program_write(&program, "small.json", small);
}

/* How it ends, and parts of what it prints and of what it complains about. */
static void expect(int status, const char *out, const char *err, const char *const args[])
{
    struct said s = program_call(&program, args);
    const bool good = s.status == status && strstr(s.out, out) && strstr(s.err, err);
    CU_ASSERT_TRUE(good);
    if (!good)
        fprintf(stderr, "%s %s: %d: %s%s", args[0], args[1], s.status, s.out, s.err);
    said_release(&s);
}
#define EXPECT(status, out, err, ...)                                                              \
    expect(status, out, err, (const char *const[]){__VA_ARGS__, NULL})

/* --- tests -------------------------------------------------------------------------------- */

/* Most commands need no SimGrid, which brings thirty libraries: 22 of the 29 ms of processor time
 * that any command took. LD_TRACE_LOADED_OBJECTS (ld.so(8)) lists what the loader would load. */
static void test_libraries(void)
{
    set_up();
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    struct said s = CALL("--version");
    unsetenv("LD_TRACE_LOADED_OBJECTS");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "libjansson"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "libsimgrid"));
    said_release(&s);
    program_tear_down(&program);
}

static void test_help(void)
{
    static const char *const commands[] = {"run",  "check", "list",  "compare",
                                           "plot", "net",   "doctor"};
    set_up();
    struct said s = CALL("--help");
    CU_ASSERT_EQUAL(s.status, 0);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        struct said h = CALL(commands[i], "--help");
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, commands[i]));
        CU_ASSERT_EQUAL(h.status, 0);
        CU_ASSERT_EQUAL(strncmp(h.out, "usage: strait ", 14), 0);
        CU_ASSERT_STRING_EQUAL(h.err, "");
        said_release(&h);
    }
    said_release(&s);
    s = CALL("--version");
    CU_ASSERT_EQUAL(
        strncmp(s.out, "strait " STRAIT_VERSION " (commit ", strlen("strait " STRAIT_VERSION) + 9),
        0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, " build, SimGrid 3."));
    /* make notes "0.1.0 COMMIT" beside the program, which may be installed elsewhere */
    char beside[sizeof(program.path) + 8], commit[300] = "";
    snprintf(beside, sizeof(beside), "%s", program.path);
    strcpy(strrchr(beside, '/'), "/commit");
    FILE *f = fopen(beside, "re");
    if (f && fgets(commit, sizeof(commit), f)) {
        commit[strcspn(commit, "\n")] = '\0';
        /* of the last build, which may have left the program out */
        const bool is_unknown = strstr(s.out, "(commit unknown, ") != NULL;
        CU_ASSERT_EQUAL(is_unknown, commit[strcspn(commit, " ")] == '\0' ||
                                        commit[strcspn(commit, " ") + 1] == '\0');
    }
    if (f)
        fclose(f);
    said_release(&s);
    program_tear_down(&program);
}

static void test_usage(void)
{
    static const char *const cases[][MAX_ARGS] = {
        {"rum"},
        {"run"},
        {"run", "small.json", "more"},
        {"run", "small.json", "--ot", "x"},
        {"run", "small.json", "--on", "simm"},
        {"run", "small.json", "--out"},
        {"run", "small.json", "-j", "0"},
        {"run", "small.json", "-j", "two"},
        {"run", "small.json", "--dilation", "0.5"},
        {"run", "small.json", "--json=yes"},
        {"run", "small.json", "--repeats", "3"},
        {"run", "small.json", "--tolerance", "5 %"},
        {"run", "small.json", "--on", "both", "--floor", "5"},
        {"run", "small.json", "--set", "clients=8"},
        {"run", "small.json", "--set", "/clients=eight"},
        {"run", "nowhere.json"},
        {"run", "no-such-experiment"},
        {"check"},
        {"check", "small.json", "--on", "smi"},
        {"list", "codec"},
        {"compare"},
        {"compare", "nowhere"},
        {"compare", "nowhere", "--tolerance", "10"},
        {"plot"},
        {"plot", "nowhere"},
        {"plot", "nowhere", "--out", "x.jpg"},
        {"plot", "nowhere", "--y", "round_s"},
        {"plot", "nowhere", "--kind", "pie"},
        {"plot", "nowhere", "--log", "z"},
        {"plot", "nowhere", "--style", "paper", "--columns", "3"},
        {"plot", "nowhere", "--columns", "1"},
        {"doctor", "now"},
    };
    set_up();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s = program_call(&program, cases[i]);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        CU_ASSERT_EQUAL(strncmp(s.err, "strait: ", 8), 0);
        if (s.status != 2 || program_n_lines(s.err) != 1)
            fprintf(stderr, "%s %s: %d: %s", cases[i][0], cases[i][1], s.status, s.err);
        said_release(&s);
    }
    CU_ASSERT_FALSE(program_has(&program, "results"));
    program_tear_down(&program);
}

/* Each folder in tests/bad/experiments holds an experiment and the one line that it must give. */
static void test_bad_experiments(void)
{
    const char *root = DATA("tests/bad/experiments");
    unsigned n = 0;
    set_up();
    DIR *dir = opendir(root);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    char out[160], cwd[1024], expected_path[1100];
    snprintf(out, sizeof(out), "%s/out", program.folder);
    program.cwd = cwd;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(cwd, sizeof(cwd), "%s/%s", root, e->d_name);
        snprintf(expected_path, sizeof(expected_path), "%s/expected.txt", cwd);
        char *expected = program_read(&program, expected_path);
        struct said s = CALL("run", "experiment.json", "--out", out);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.err, expected);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_FALSE(program_has(&program, "out"));
        if (strcmp(s.err, expected) != 0)
            fprintf(stderr, "%s:\n  expected %s  found    %s", e->d_name, expected, s.err);
        said_release(&s);
        free(expected);
        n++;
    }
    closedir(dir);
    CU_ASSERT(n >= 50);
    program_tear_down(&program);
}

static void test_run(void)
{
    static const char *const backends[] = {"fluid", "sim"};
    set_up();
    for (size_t b = 0; b < 2; b++) {
        struct said s = CALL("run", "small.json", "--on", backends[b]);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "sz 1e-3"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "compression pays"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "4 rows, 4 computed now"));
        said_release(&s);
    }
    CU_ASSERT_TRUE(program_has(&program, "results/small/results.jsonl"));
    EXPECT(0, "", "4 rows, 0 computed now", "run", "small.json", "--on", "sim");
    EXPECT(0, "", "4 rows, 4 computed now", "run", "small.json", "--on", "sim", "--fresh");
    EXPECT(0, "", "2 rows, 2 computed now", "run", "small.json", "--on", "sim", "--set",
           "/clients=4", "--out", "other");
    program_tear_down(&program);
}

/* 4 points and one break-even: 5 lines, each a JSON object. */
static void test_json(void)
{
    set_up();
    struct said s = CALL("run", "small.json", "--on", "fluid", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 5);
    for (const char *line = s.out; *line; line = strchr(line, '\n') + 1) {
        json_t *row = json_loadb(line, (size_t)(strchr(line, '\n') - line), 0, NULL);
        CU_ASSERT_TRUE(json_is_object(row));
        if (strcmp(json_string_value(json_object_get(row, "record")), "row") == 0) {
            double sum_s = 0;
            const char *phase;
            json_t *value;
            json_object_foreach (json_object_get(row, "path_s"), phase, value)
                sum_s += json_number_value(value);
            CU_ASSERT_DOUBLE_EQUAL(sum_s, json_number_value(json_object_get(row, "round_s")), 1e-9);
        }
        json_decref(row);
    }
    said_release(&s);
    program_tear_down(&program);
}

/* Two backends that agree, and a negative control that must not. */
static void test_compare_folders(void)
{
    set_up();
    EXPECT(0, "", "", "run", "small.json", "--on", "fluid", "--out", "a", "--no-break-even");
    EXPECT(0, "", "", "run", "small.json", "--on", "sim", "--out", "b", "--no-break-even");
    EXPECT(0, "", "", "run", "small.json", "--on", "fluid", "--out", "c", "--control", "no-ramp",
           "--no-break-even");
    EXPECT(0, "4 of 4 pairs within tolerance", "", "compare", "a", "b", "--tolerance", "0.0001 %",
           "--floor", "1 us");
    EXPECT(1, "OUTSIDE", "", "compare", "c", "b");
    program_tear_down(&program);
}

static void test_plot(void)
{
    set_up();
    EXPECT(0, "", "", "run", "small.json", "--on", "fluid", "--out", "a");
    struct said s = CALL("plot", "a");
    if (s.status == 3) {
        said_release(&s);
        program_tear_down(&program);
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "a/scaling.png\na/scaling.svg\n");
    said_release(&s);
    char *png = program_read(&program, "a/scaling.png"),
         *svg = program_read(&program, "a/scaling.svg");
    CU_ASSERT_EQUAL(memcmp(png, "\x89PNG", 4), 0);
    /* the header's width and height, big-endian, are 1600 and 1000 */
    CU_ASSERT_EQUAL(memcmp(png + 16, "\0\0\x06\x40\0\0\x03\xe8", 8), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "<svg"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "speed-up over no compression"));
    free(png);
    free(svg);
    /* 7.5 inches of 144 dots high, 13.333 wide */
    EXPECT(0, "q.png", "", "plot", "a", "--y", "/round_s", "--style", "slides", "--out", "q.png");
    png = program_read(&program, "q.png");
    CU_ASSERT_EQUAL(memcmp(png + 16, "\0\0\x07\x80\0\0\x04\x38", 8), 0);
    free(png);
    EXPECT(0, "q.pdf", "", "plot", "a", "--kind", "phases", "--out", "q.pdf", "--style", "paper");
    EXPECT(2, "", "did you mean \"/round_s\"", "plot", "a", "--y", "/roun_s");
    program_tear_down(&program);
}

static void test_check(void)
{
    set_up();
    EXPECT(0, "4 of 4", "", "check", "small.json", "--on", "fluid");
    /* 64 clients of a 1.3 GB model need hundreds of GB with real payload */
    EXPECT(3, "", "strait: emu: ", "check", "small.json", "--on", "emu", "--set", "/clients=64",
           "--set", "/model=bert-large");
    CU_ASSERT_FALSE(program_has(&program, "results"));
    program_tear_down(&program);
}

static void test_lists(void)
{
    set_up();
    struct said s = CALL("list", "models");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "gpt2-small"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "124439808")); /* its parameters, as published */
    said_release(&s);
    s = CALL("list", "strategies", "dear");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "fixed, bayes"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "fedavg"));
    CU_ASSERT_CONTAINS(s.out, "\n  trains  yes\n");
    said_release(&s);
    s = CALL("list", "strategies", "kvfull");
    CU_ASSERT_CONTAINS(s.out, "\n  trains  no\n");
    said_release(&s);
    EXPECT(2, "", "did you mean \"dear\"", "list", "strategies", "deat");
    s = CALL("list", "strategies"); /* no line is wider than a terminal */
    for (const char *at = s.out; *at; at += strcspn(at, "\n") + 1) {
        const char *end = at + strcspn(at, "\n");
        char line[1024];
        snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
        CU_ASSERT(strait_text_width(line) <= 120);
        if (!*end)
            break;
    }
    said_release(&s);
    s = CALL("list", "tasks");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "dataset-fashion-mnist"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "condition"));
    said_release(&s);
    s = CALL("list", "codecs", "--json");
    CU_ASSERT_EQUAL(s.out[0], '{');
    said_release(&s);
    s = CALL("list", "codecs"); /* without bounds and parameters, and with some */
    CU_ASSERT_CONTAINS(s.out,
                       "\nnone          lossless       no             -                 -     ");
    CU_ASSERT_CONTAINS(s.out,
                       "\nlz4           lossless       no             -                 level=1, "
                       "shuffle=byte ");
    said_release(&s);
    program_tear_down(&program);
}

/* Every file that ships in these folders is listed by the name that experiments give it. */
static void test_shipped_lists(void)
{
    static const struct {
        const char *list, *folder, *ending;
        bool named; /* the bare name is enough */
    } lists[] = {{"models", "experiments/models", ".csv", false},
                 {"networks", "experiments/networks", ".json", true},
                 {"machines", "experiments/machines", ".json", true},
                 {"plans", "experiments/plans", ".json", true},
                 {"profiles", "codecs/profiles", ".json", true},
                 {"profiles", "experiments/profiles", ".json", false}};
    set_up();
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char path[4096], want[512];
        int n = 0;
        struct said s = CALL("list", lists[i].list, "--json");
        CU_ASSERT_EQUAL(s.status, 0);
        snprintf(path, sizeof(path), "%s", DATA(lists[i].folder));
        DIR *dir = opendir(path);
        CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
        for (const struct dirent *e; (e = readdir(dir));) {
            const char *end = strrchr(e->d_name, '.');
            if (!end || strcmp(end, lists[i].ending) != 0)
                continue;
            snprintf(want, sizeof(want), "\"name\":\"%s%s%.*s\"",
                     lists[i].named ? "" : lists[i].folder, lists[i].named ? "" : "/",
                     lists[i].named ? (int)(end - e->d_name) : 255, e->d_name);
            CU_ASSERT_PTR_NOT_NULL(strstr(s.out, want));
            n++;
        }
        CU_ASSERT(n > 0);
        closedir(dir);
        said_release(&s);
    }
    EXPECT(2, "", "profiles, traces, experiments or plans", "list", "machine");
    program_tear_down(&program);
}

static void test_second_run(void)
{
    set_up();
    char a[160];
    EXPECT(0, "", "", "run", "small.json", "--on", "fluid", "--out", "a");
    snprintf(a, sizeof(a), "%s/a", program.folder);
    struct strait_store *store;
    CU_ASSERT_FATAL(strait_store_open(&store, a, true, NULL) == 0);
    struct said s = CALL("run", "small.json", "--on", "fluid", "--out", "a", "--fresh");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "another run writes its results there"));
    said_release(&s);
    strait_store_free(store);
    program_tear_down(&program);
}

/* /dev/full takes nothing; a closed pipe is no reason to complain. */
static void test_standard_output(void)
{
    static const char *const args[] = {"list", NULL};
    set_up();
    for (int closed = 0; closed < 2; closed++) {
        char path[160];
        int fds[2];
        snprintf(path, sizeof(path), "%s/list.err", program.folder);
        CU_ASSERT_FATAL(pipe(fds) == 0);
        close(fds[0]);
        const pid_t pid = fork();
        if (pid == 0) {
            dup2(closed ? fds[1] : open("/dev/full", O_WRONLY), 1);
            dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
            program_exec(&program, args);
        }
        close(fds[1]);
        CU_ASSERT_EQUAL(program_wait(pid), 1);
        char *err = program_read(&program, "list.err");
        CU_ASSERT_EQUAL(program_n_lines(err), closed ? 0 : 1);
        free(err);
    }
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"every command explains itself", test_help},
    {"no command waits for SimGrid before it simulates", test_libraries},
    {"a wrong command line is one line and exit 2", test_usage},
    {"each bad experiment gives its one line, exit 2, and nothing is written",
     test_bad_experiments},
    {"a run shows its points, and a rerun computes nothing", test_run},
    {"rows are JSON Lines whose phases sum to the round", test_json},
    {"two backends agree, and a negative control does not", test_compare_folders},
    {"pictures are a PNG of 1600 x 1000 and an SVG", test_plot},
    {"check says what can run here", test_check},
    {"lists name what ships", test_lists},
    {"whatever ships is listed by the name that experiments give it", test_shipped_lists},
    {"a second run into the same folder is refused", test_second_run},
    {"a full disk on standard output is an error, a closed pipe is silent", test_standard_output},
};
STRAIT_SUITE("cli/cli", tests);
