/* The built program from outside: outputs, exit statuses, bad inputs, interrupted runs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../analysis/store.h"
#include "../analysis/table.h"
#include "suite.h"

enum { OUT_CHARS = 1 << 20, MAX_ARGS = 24 };

/* What one call of the program said. */
struct said {
    int status; /* exit status, or 128 + the signal that ended it */
    char *out, *err;
};

static char program[4096], folder[128];

static void find_program(void)
{
    const char *given = getenv("STRAIT_BIN");
    char self[4000] = "";
    if (given) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(given, program));
        return;
    }
    CU_ASSERT_FATAL(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    snprintf(program, sizeof(program), "%s/../strait", dirname(self));
}

static void set_up(void)
{
    find_program();
    snprintf(folder, sizeof(folder), "/tmp/strait-cli-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char inner[8192];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (unlink(inner) != 0)
            remove_tree(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static void tear_down(void)
{
    remove_tree(folder);
}

/* Start it with its outputs in files of the folder. */
static pid_t start(const char *cwd, const char *const args[])
{
    char out[160], err[160];
    snprintf(out, sizeof(out), "%s/stdout", folder);
    snprintf(err, sizeof(err), "%s/stderr", folder);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    const char *argv[MAX_ARGS + 2] = {program};
    for (int i = 0; i < MAX_ARGS && args[i]; i++)
        argv[i + 1] = args[i];
    if (cwd && chdir(cwd) != 0)
        _exit(126);
    dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(program, (char *const *)(void *)argv);
    _exit(127);
}

static char *read_file(const char *name)
{
    char path[512];
    char *text = calloc(1, OUT_CHARS);
    snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : folder, *name == '/' ? "" : "/",
             name);
    FILE *in = fopen(path, "r");
    CU_ASSERT_FATAL(text && in);
    const size_t n = fread(text, 1, OUT_CHARS - 1, in);
    text[n] = '\0';
    fclose(in);
    return text;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static struct said call(const char *cwd, const char *const args[])
{
    struct said s;
    s.status = wait_for(start(cwd, args));
    s.out = read_file("stdout");
    s.err = read_file("stderr");
    return s;
}
#define CALL(...) call(folder, (const char *const[]){__VA_ARGS__, NULL})

static void forget(struct said *s)
{
    free(s->out);
    free(s->err);
}

static size_t n_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static bool exists(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Two counts of clients, without compression and with; cheap on every backend but emu. */
static const char small[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"small\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"100 Mbps\"}}, \"clients\": 1,"
    " \"vary\": {\"/codec\": [\"none\", {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}}],"
    "            \"/clients\": [1, 4]}}\n";

static void write_small(void)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/small.json", folder);
    FILE *out = fopen(path, "w");
    CU_ASSERT_FATAL(out && fputs(small, out) >= 0);
    fclose(out);
}

/* --- tests -------------------------------------------------------------------------------- */

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
        forget(&h);
    }
    forget(&s);
    s = CALL("--version");
    CU_ASSERT_STRING_EQUAL(s.out, "strait " STRAIT_VERSION "\n");
    forget(&s);
    tear_down();
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
        {"doctor", "now"},
    };
    set_up();
    write_small();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct said s = call(folder, cases[i]);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_EQUAL(n_lines(s.err), 1);
        CU_ASSERT_EQUAL(strncmp(s.err, "strait: ", 8), 0);
        if (s.status != 2 || n_lines(s.err) != 1)
            fprintf(stderr, "%s %s: %d: %s", cases[i][0], cases[i][1], s.status, s.err);
        forget(&s);
    }
    CU_ASSERT_FALSE(exists("results"));
    tear_down();
}

/* Each folder in tests/bad/experiments holds an experiment and the one line that it must give. */
static void test_bad_experiments(void)
{
    static const char root[] = STRAIT_SHARE "/tests/bad/experiments";
    unsigned n = 0;
    set_up();
    DIR *dir = opendir(root);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    char out[160];
    snprintf(out, sizeof(out), "%s/out", folder);
    for (const struct dirent *e; (e = readdir(dir));) {
        char cwd[1024], expected_path[1100];
        if (e->d_name[0] == '.')
            continue;
        snprintf(cwd, sizeof(cwd), "%s/%s", root, e->d_name);
        snprintf(expected_path, sizeof(expected_path), "%s/expected.txt", cwd);
        char *expected = read_file(expected_path);
        const char *const args[] = {"run", "experiment.json", "--out", out, NULL};
        struct said s = call(cwd, args);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.err, expected);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        CU_ASSERT_FALSE(exists("out"));
        if (strcmp(s.err, expected) != 0)
            fprintf(stderr, "%s:\n  expected %s  found    %s", e->d_name, expected, s.err);
        forget(&s);
        free(expected);
        n++;
    }
    closedir(dir);
    CU_ASSERT(n >= 50);
    tear_down();
}

static void test_run(void)
{
    static const char *const backends[] = {"fluid", "sim"};
    set_up();
    write_small();
    for (size_t b = 0; b < 2; b++) {
        struct said s = CALL("run", "small.json", "--on", backends[b]);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "sz 1e-3"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "compression pays"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "4 rows, 4 computed now"));
        forget(&s);
    }
    CU_ASSERT_TRUE(exists("results/small/results.jsonl"));
    struct said s = CALL("run", "small.json", "--on", "sim");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "4 rows, 0 computed now"));
    forget(&s);
    s = CALL("run", "small.json", "--on", "sim", "--fresh");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "4 rows, 4 computed now"));
    forget(&s);
    s = CALL("run", "small.json", "--on", "sim", "--set", "/clients=4", "--out", "other");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "2 rows, 2 computed now"));
    forget(&s);
    tear_down();
}

/* 4 points and one break-even: 5 lines, each a JSON object. */
static void test_json(void)
{
    set_up();
    write_small();
    struct said s = CALL("run", "small.json", "--on", "fluid", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(n_lines(s.out), 5);
    for (const char *line = s.out; *line; line = strchr(line, '\n') + 1) {
        json_t *row = json_loadb(line, (size_t)(strchr(line, '\n') - line), 0, NULL);
        CU_ASSERT_TRUE(json_is_object(row));
        if (strcmp(json_string_value(json_object_get(row, "record")), "row") == 0) {
            double sum_s = 0;
            const char *phase;
            json_t *value;
            json_object_foreach(json_object_get(row, "path_s"), phase, value) sum_s +=
                json_number_value(value);
            CU_ASSERT_DOUBLE_EQUAL(sum_s, json_number_value(json_object_get(row, "round_s")), 1e-9);
        }
        json_decref(row);
    }
    forget(&s);
    tear_down();
}

/* Two backends that agree, and a negative control that must not. */
static void test_compare_folders(void)
{
    set_up();
    write_small();
    struct said s = CALL("run", "small.json", "--on", "fluid", "--out", "a", "--no-break-even");
    forget(&s);
    s = CALL("run", "small.json", "--on", "sim", "--out", "b", "--no-break-even");
    forget(&s);
    s = CALL("run", "small.json", "--on", "fluid", "--out", "c", "--control", "no-ramp",
             "--no-break-even");
    CU_ASSERT_EQUAL(s.status, 0);
    forget(&s);
    s = CALL("compare", "a", "b", "--tolerance", "0.0001 %", "--floor", "1 us");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "4 of 4 pairs within tolerance"));
    forget(&s);
    s = CALL("compare", "c", "b");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "OUTSIDE"));
    forget(&s);
    tear_down();
}

static void test_plot(void)
{
    set_up();
    write_small();
    struct said s = CALL("run", "small.json", "--on", "fluid", "--out", "a");
    forget(&s);
    s = CALL("plot", "a");
    if (s.status == 3) {
        forget(&s);
        tear_down();
        strait_test_skip("gnuplot is not installed");
        return;
    }
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "a/scaling.png\na/scaling.svg\n");
    forget(&s);
    char *png = read_file("a/scaling.png"), *svg = read_file("a/scaling.svg");
    CU_ASSERT_EQUAL(memcmp(png, "\x89PNG", 4), 0);
    /* the header's width and height, big-endian, are 1600 and 1000 */
    CU_ASSERT_EQUAL(memcmp(png + 16, "\0\0\x06\x40\0\0\x03\xe8", 8), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "<svg"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "speed-up over no compression"));
    free(png);
    free(svg);
    tear_down();
}

static void test_check(void)
{
    set_up();
    write_small();
    struct said s = CALL("check", "small.json", "--on", "fluid");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "4 of 4"));
    forget(&s);
    /* 64 clients of a 1.3 GB model need hundreds of GB with real payload */
    s = CALL("check", "small.json", "--on", "emu", "--set", "/clients=64", "--set",
             "/model=bert-large");
    CU_ASSERT_EQUAL(s.status, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "strait: emu: "));
    forget(&s);
    CU_ASSERT_FALSE(exists("results"));
    tear_down();
}

static void test_lists(void)
{
    set_up();
    struct said s = CALL("list", "models");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "gpt2-small"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "124439808")); /* its parameters, as published */
    forget(&s);
    s = CALL("list", "strategies", "dear");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "fixed, bayes"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "fedavg"));
    forget(&s);
    s = CALL("list", "strategies", "deat");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "did you mean \"dear\""));
    forget(&s);
    s = CALL("list", "strategies"); /* no line is wider than a terminal */
    for (const char *at = s.out; *at; at += strcspn(at, "\n") + 1) {
        const char *end = at + strcspn(at, "\n");
        char line[1024];
        snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
        CU_ASSERT(strait_text_width(line) <= 120);
        if (!*end)
            break;
    }
    forget(&s);
    s = CALL("list", "codecs", "--json");
    CU_ASSERT_EQUAL(s.out[0], '{');
    forget(&s);
    tear_down();
}

/* Processes whose command line names our folder: every worker inherits it. */
static int n_left(void)
{
    int n = 0;
    DIR *proc = opendir("/proc");
    for (const struct dirent *e; proc && (e = readdir(proc));) {
        char path[300], text[2048];
        snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
        FILE *in = fopen(path, "r");
        if (!in)
            continue;
        const size_t len = fread(text, 1, sizeof(text) - 1, in);
        fclose(in);
        for (size_t i = 0; i < len; i++)
            text[i] = text[i] ? text[i] : ' ';
        text[len] = '\0';
        n += strstr(text, folder) != NULL;
    }
    if (proc)
        closedir(proc);
    return n;
}

static int n_lines_in(const char *path)
{
    int n = 0, c;
    FILE *in = fopen(path, "r");
    while (in && (c = fgetc(in)) != EOF)
        n += c == '\n';
    if (in)
        fclose(in);
    return n;
}

/* A sweep of 1,000 points is interrupted some rows after its header; what is complete is kept. */
static void interrupt(int signal_number, int expected_status)
{
    char out[160], path[200];
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    set_up();
    write_small();
    snprintf(out, sizeof(out), "%s/out", folder);
    snprintf(path, sizeof(path), "%s/out/results.jsonl", folder);
    char big[160];
    snprintf(big, sizeof(big), "%s/big.json", folder);
    FILE *file = fopen(big, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "%.*s", (int)(strstr(small, "\"vary\"") - small), small);
    fputs("\"vary\": {\"/clients\": [", file);
    for (int i = 1; i <= 500; i++)
        fprintf(file, "%s%d", i > 1 ? ", " : "", 1 + i % 400);
    fputs("], \"/seed\": [1, 2]}}\n", file);
    fclose(file);
    const char *const args[] = {"run", big, "--on", "fluid", "--out", out, "--no-break-even", NULL};
    const pid_t pid = start(folder, args);
    for (int i = 0; i < 1000 && n_lines_in(path) < 20; i++)
        nanosleep(&moment, NULL);
    kill(pid, signal_number);
    CU_ASSERT_EQUAL(wait_for(pid), expected_status);
    for (int i = 0; i < 250 && n_left() > 0; i++)
        nanosleep(&moment, NULL);
    CU_ASSERT_EQUAL(n_left(), 0);
    struct strait_store *store;
    CU_ASSERT_FATAL(strait_store_open(&store, out, true, NULL) == 0); /* the lock is free */
    const size_t n = json_array_size(strait_store_records(store));
    CU_ASSERT(n >= 20);
    CU_ASSERT(n < 1000);
    strait_store_free(store);
    tear_down();
}

static void test_interrupt(void)
{
    interrupt(SIGINT, 1);
    interrupt(SIGTERM, 1);
}

static void test_kill(void)
{
    interrupt(SIGKILL, 128 + SIGKILL);
}

static void test_second_run(void)
{
    set_up();
    write_small();
    struct said s = CALL("run", "small.json", "--on", "fluid", "--out", "a");
    forget(&s);
    char a[160];
    snprintf(a, sizeof(a), "%s/a", folder);
    struct strait_store *store;
    CU_ASSERT_FATAL(strait_store_open(&store, a, true, NULL) == 0);
    s = CALL("run", "small.json", "--on", "fluid", "--out", "a", "--fresh");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_EQUAL(n_lines(s.err), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "another run writes its results there"));
    forget(&s);
    strait_store_free(store);
    tear_down();
}

/* /dev/full takes nothing; a closed pipe is no reason to complain. */
static void test_standard_output(void)
{
    set_up();
    int status;
    for (int closed = 0; closed < 2; closed++) {
        int fds[2];
        CU_ASSERT_FATAL(pipe(fds) == 0);
        close(fds[0]);
        const pid_t pid = fork();
        if (pid == 0) {
            char err[160];
            snprintf(err, sizeof(err), "%s/stderr", folder);
            dup2(closed ? fds[1] : open("/dev/full", O_WRONLY), 1);
            dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
            execl(program, program, "list", (char *)NULL);
            _exit(127);
        }
        close(fds[1]);
        waitpid(pid, &status, 0);
        char *err = read_file("stderr");
        CU_ASSERT_TRUE(WIFEXITED(status));
        CU_ASSERT_EQUAL(WEXITSTATUS(status), 1);
        CU_ASSERT_EQUAL(n_lines(err), closed ? 0 : 1);
        free(err);
    }
    tear_down();
}

static const struct strait_test tests[] = {
    {"every command explains itself", test_help},
    {"a wrong command line is one line and exit 2", test_usage},
    {"each bad experiment gives its one line, exit 2, and nothing is written",
     test_bad_experiments},
    {"a run shows its points, and a rerun computes nothing", test_run},
    {"rows are JSON Lines whose phases sum to the round", test_json},
    {"two backends agree, and a negative control does not", test_compare_folders},
    {"pictures are a PNG of 1600 x 1000 and an SVG", test_plot},
    {"check says what can run here", test_check},
    {"lists name what ships", test_lists},
    {"an interrupted run leaves whole rows, no process and no lock", test_interrupt},
    {"so does a killed one", test_kill},
    {"a second run into the same folder is refused", test_second_run},
    {"a full disk on standard output is an error, a closed pipe is silent", test_standard_output},
};
STRAIT_SUITE("cli", tests);
