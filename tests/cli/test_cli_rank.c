/* strait rank under mpirun: what it sends and sums is what a simulation says, and what is refused
 * is one line of rank 0. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/process.h"
#include "mpi/world.h"
#include "tests/kit/links/mpi_world.h"
#include "tests/kit/program.h"

/* Three strategies without a server and one with, on three ranks. */
static const char trains[] =
    "{\"schema\":\"strait-experiment/1\",\"seed\":5,\"clients\":3,\"training\":{\"task\":"
    "\"quadratic\",\"lr\":0.2},\"strategy\":{\"name\":\"bsp\",\"rounds\":3},\"network\":{"
    "\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 Gbps\"}},\"vary\":"
    "{\"/strategy\":[{\"name\":\"bsp\",\"rounds\":3},{\"name\":\"dear\",\"rounds\":3},"
    "{\"name\":\"ps\",\"rounds\":3}]}}";
static const char serves[] =
    "{\"schema\":\"strait-experiment/1\",\"seed\":5,\"clients\":2,\"training\":{\"task\":"
    "\"quadratic\",\"lr\":0.2},\"strategy\":{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":2},"
    "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},\"network\":{"
    "\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 Gbps\"}}}";

/* mpirun of this; its exit status. What it says of itself stands anywhere on stderr. */
static int launch(const struct program *p, struct said *s, const char *n, const char *const args[])
{
    const char *argv[2 * MPIRUN_MAX_ARGS];
    char out[128], err[128];
    size_t at = mpirun_argv(argv, n);
    for (size_t i = 0; args[i]; i++)
        argv[at++] = args[i];
    argv[at] = NULL;
    snprintf(out, sizeof(out), "%s/launch.out", p->folder);
    snprintf(err, sizeof(err), "%s/launch.err", p->folder);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        if (freopen(out, "w", stdout) && freopen(err, "w", stderr))
            execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    CU_ASSERT_FATAL(pid > 0);
    *s = (struct said){.status = program_wait(pid)};
    s->out = program_read(p, "launch.out");
    s->err = program_read(p, "launch.err");
    CU_ASSERT_FATAL(s->out && s->err);
    return s->status;
}
#define LAUNCH(p, s, n, ...) launch(p, s, n, (const char *const[]){__VA_ARGS__, NULL})

/* One line of strait, which has these words. */
static void expect_line(struct said *s, const char *first, const char *second)
{
    const char *line = strstr(s->err, "strait: ");
    CU_ASSERT_EQUAL(s->status, 2);
    CU_ASSERT_FATAL(line != NULL);
    CU_ASSERT_PTR_NULL(strstr(line + 1, "strait: "));
    CU_ASSERT_CONTAINS(line, first);
    CU_ASSERT_CONTAINS(line, second);
    said_release(s);
}

/* False: the test is skipped. */
static bool set_up(struct program *p)
{
    char why[256];
    const bool works = mpirun_works(why, sizeof(why));
    if (!works)
        strait_test_skip(why);
    else
        program_set_up(p);
    return works;
}

static const char *file_of(char path[128], const struct program *p, const char *name)
{
    snprintf(path, 128, "%s/%s", p->folder, name);
    return path;
}

static json_t *line_of(const char **at)
{
    json_t *row = json_loads(*at, JSON_DISABLE_EOF_CHECK, NULL);
    const char *end = strchr(*at, '\n');
    *at = end ? end + 1 : "";
    return row;
}

/* Rows of both in the order of the points: equal bytes, equal losses to the last bit. */
static void expect_same(const char *simulated, const char *measured, int n)
{
    for (int i = 0; i < n; i++) {
        json_t *a = line_of(&simulated), *b = line_of(&measured);
        CU_ASSERT_FATAL(a && b);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(a, "backend")), "sim");
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(b, "backend")), "mpi");
        CU_ASSERT(json_equal(json_object_get(a, "strategy"), json_object_get(b, "strategy")));
        CU_ASSERT(json_equal(json_object_get(a, "bytes"), json_object_get(b, "bytes")));
        const json_t *x = json_object_get(a, "training"), *y = json_object_get(b, "training");
        CU_ASSERT(json_equal(json_object_get(x, "loss"), json_object_get(y, "loss")));
        CU_ASSERT_EQUAL(json_array_size(json_object_get(y, "loss")), 3);
        CU_ASSERT(json_is_object(json_object_get(json_object_get(b, "report"), "clock")));
        json_decref(a);
        json_decref(b);
    }
}

static void same_bytes_and_sums(void)
{
    struct program p;
    struct said m;
    char path[128];
    if (!set_up(&p))
        return;
    program_write(&p, "trains.json", trains);
    program_write(&p, "serves.json", serves);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "trains.json" : "serves.json";
        struct said s =
            PROGRAM_CALL(&p, "run", name, "--json", "--no-break-even", "--out", "sim", "--fresh");
        CU_ASSERT_EQUAL(s.status, 0);
        char folder[128];
        file_of(folder, &p, "mpi");
        CU_ASSERT_EQUAL(
            LAUNCH(&p, &m, "3", p.path, "rank", file_of(path, &p, name), "--json", "--out", folder),
            0);
        expect_same(s.out, m.out, i == 0 ? 3 : 1);
        said_release(&m);
        said_release(&s);
    }
    program_tear_down(&p);
}

/* Two points: one that ends soon, and one of hours, in which a rank is lost. */
static const char long_one[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,\"strategy\":{\"name\":"
    "\"bsp\",\"rounds\":1},\"network\":{\"client\":{\"rate\":\"1 Gbps\"}},\"vary\":{\"/strategy/"
    "rounds\":[1,1000000]}}";

/* Rank 1 is killed as soon as the first point's row is a whole line of the file. All ends, the row
 * is kept, and is not measured again. */
static void killed_rank(void)
{
    struct program p;
    struct said m;
    char path[128], folder[128], script[1024 + 4096];
    if (!set_up(&p))
        return;
    program_write(&p, "e.json", long_one);
    file_of(path, &p, "e.json");
    file_of(folder, &p, "out");
    snprintf(script, sizeof(script),
             "rows=%s/results.jsonl; (until [ -f $rows ] && head -n $(wc -l <$rows) $rows | "
             "grep -q '\"record\": *\"row\"'; do sleep 0.1; done; kill -KILL $$) & "
             "exec %s rank %s --timing replay --out %s",
             folder, p.path, path, folder);
    LAUNCH(&p, &m, "1", p.path, "rank", path, "--timing", "replay", "--out", folder, ":", "-n", "1",
           "sh", "-c", script);
    CU_ASSERT_NOT_EQUAL(m.status, 0);
    said_release(&m);
    CU_ASSERT_EQUAL(LAUNCH(&p, &m, "2", p.path, "rank", path, "--timing", "replay", "--out", folder,
                           "--set", "/strategy/rounds=1"),
                    0);
    CU_ASSERT_CONTAINS(m.err, "1 row, 0 computed now");
    said_release(&m);
    program_tear_down(&p);
}

/* The other ranks' clocks stand 1000 s after rank 0's, by a time namespace. */
static void clocks_are_measured(void)
{
    static const char *const unshare[] = {"unshare", "-T",   "--monotonic", "1000",
                                          "--fork",  "true", NULL};
    struct program p;
    struct said m;
    struct strait_error err = {0};
    char path[128], folder[128];
    if (strait_process_run(NULL, 0, unshare, NULL, 20, &err) != 0) {
        strait_test_skip("no time namespaces here (unshare -T)");
        return;
    }
    if (!set_up(&p))
        return;
    program_write(&p, "e.json", serves);
    file_of(path, &p, "e.json");
    file_of(folder, &p, "mpi");
    LAUNCH(&p, &m, "1", p.path, "rank", path, "--json", "--out", folder, ":", "-n", "2", "unshare",
           "-T", "--monotonic", "1000", "--fork", p.path, "rank", path, "--out", folder, "--json");
    CU_ASSERT_EQUAL(m.status, 0);
    json_t *row = json_loads(m.out, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *clock = json_object_get(json_object_get(row, "report"), "clock");
    CU_ASSERT(json_number_value(json_object_get(clock, "error_s")) > 0);
    /* transfers are from a post by one clock to an arrival by another */
    const double transfer_s =
        json_number_value(json_object_get(json_object_get(row, "path_s"), "transfer"));
    CU_ASSERT(transfer_s < 500);
    CU_ASSERT(json_number_value(json_object_get(row, "total_s")) < 500);
    json_decref(row);
    said_release(&m);
    program_tear_down(&p);
}

/* What rank 0 says, whoever found it. */
static void refused(void)
{
    struct program p;
    struct said m;
    char path[128], other[128], program[128], module[4096 + 32];
    if (!set_up(&p))
        return;
    program_write(&p, "e.json", trains);
    program_write(&p, "other.json", serves);
    file_of(path, &p, "e.json");
    file_of(other, &p, "other.json");
    LAUNCH(&p, &m, "2", p.path, "rank", path);
    expect_line(&m, "strait: expected 3 processes, one for each rank (mpirun -n 3), found 2\n", "");
    LAUNCH(&p, &m, "1", p.path, "rank", path, ":", "-n", "1", p.path, "rank", other);
    expect_line(&m, "strait: expected the same experiment on all machines, found ",
                "other.json, as rank 1 on ");
    LAUNCH(&p, &m, "1", p.path, "rank", path, ":", "-n", "1", p.path, "rank", "no.json");
    expect_line(&m, "strait: rank 1 on ", ": no.json: ");
    /* A program with one byte more behind its end is another one. */
    char command[2 * 4096 + 512];
    strait_mpi_module_path(module, sizeof(module));
    file_of(program, &p, "strait");
    snprintf(command, sizeof(command), "cp %s %s && printf x >>%s && cp %s %s", p.path, program,
             program, module, p.folder);
    CU_ASSERT_EQUAL(system(command), 0);
    setenv("STRAIT_SHARE", ".", 1);
    LAUNCH(&p, &m, "1", p.path, "rank", path, ":", "-n", "1", program, "rank", path);
    unsetenv("STRAIT_SHARE");
    expect_line(&m, "strait: expected the same program on all machines, found ", " as rank 1 on ");
    program_tear_down(&p);
}

static void without_a_launcher(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json", trains);
    struct said s = PROGRAM_CALL(&p, "rank", "e.json");
    CU_ASSERT_EQUAL(s.status, 3);
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    CU_ASSERT_CONTAINS(s.err, "strait: expected ");
    said_release(&s);
    s = PROGRAM_CALL(&p, "rank", "e.json", "--timing", "serial");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(
        s.err, "strait: rank: expected live or replay after --timing, found \"serial\"\n");
    said_release(&s);
    program_tear_down(&p);
}

/* Six points and three without a codec, of a simulation. */
static const char sweeps[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"strategy\":{\"name\":\"fedavg\","
    "\"rounds\":3},\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},\"network\":{\"client\":{"
    "\"rate\":\"100 Mbps\",\"rtt\":\"10 ms\"},\"server\":{\"rate\":\"1 Gbps\"}},\"clients\":2,"
    "\"vary\":{\"/clients\":[2,4,8],\"/codec/bound/range\":[1e-2,1e-3]}}";

/* Rows without what depends on when and where they were computed. */
static void expect_same_rows(const char *a_text, const char *b_text, int n)
{
    for (int i = 0; i < n; i++) {
        json_t *a = line_of(&a_text), *b = line_of(&b_text);
        CU_ASSERT_FATAL(a && b);
        json_object_del(a, "wall_s");
        json_object_del(b, "wall_s");
        CU_ASSERT(json_equal(a, b));
        json_decref(a);
        json_decref(b);
    }
    CU_ASSERT_STRING_EQUAL(a_text, "");
    CU_ASSERT_STRING_EQUAL(b_text, "");
}

static void sweep_is_run(void)
{
    static const char *const numbers[] = {"1", "3"};
    struct program p;
    struct said m;
    char path[128], folder[128];
    if (!set_up(&p))
        return;
    program_write(&p, "e.json", sweeps);
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--json", "--no-break-even", "--out", "run");
    CU_ASSERT_EQUAL(s.status, 0);
    for (int i = 0; i < 2; i++) {
        file_of(folder, &p, numbers[i]);
        CU_ASSERT_EQUAL(LAUNCH(&p, &m, numbers[i], p.path, "sweep", file_of(path, &p, "e.json"),
                               "--json", "--out", folder),
                        0);
        expect_same_rows(s.out, m.out, 9);
        CU_ASSERT_CONTAINS(m.err, "9 rows, 9 computed now");
        said_release(&m);
    }
    said_release(&s);
    s = PROGRAM_CALL(&p, "run", "e.json", "--out", "3");
    CU_ASSERT_CONTAINS(s.err, "9 rows, 0 computed now");
    said_release(&s);
    program_tear_down(&p);
}

/* A machine that has another experiment, or lacks what this one names. */
static void sweep_refuses(void)
{
    static const char other_model[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"layers.csv\",\"strategy\":\"fedavg\","
        "\"network\":{\"client\":{\"rate\":\"1 Gbps\"},\"server\":{\"rate\":\"1 Gbps\"}},"
        "\"clients\":2}";
    struct program p;
    struct said m;
    char path[128], other[128];
    if (!set_up(&p))
        return;
    program_write(&p, "e.json", sweeps);
    program_write(&p, "other.json", other_model);
    file_of(path, &p, "e.json");
    file_of(other, &p, "other.json");
    LAUNCH(&p, &m, "1", p.path, "sweep", path, ":", "-n", "1", p.path, "sweep", path, "--set",
           "/seed=2");
    expect_line(&m, "strait: expected the same experiment on all machines, found ",
                "as rank 1 on ");
    LAUNCH(&p, &m, "1", p.path, "sweep", path, ":", "-n", "1", p.path, "sweep", other);
    expect_line(&m, "strait: rank 1 on ", "/other.json#/model: layers.csv: ");
    LAUNCH(&p, &m, "2", p.path, "sweep", path, "--on", "emu");
    expect_line(&m, "strait: sweep: expected sim or fluid after --on", ", found \"emu\"\n");
    program_tear_down(&p);
}

/* Figures are the machine's; here: that they are there, and that the file is one. */
static void links_become_a_network(void)
{
    struct program p;
    struct said m;
    char path[128];
    if (!set_up(&p))
        return;
    program_write(&p, "e.json", trains);
    CU_ASSERT_EQUAL(LAUNCH(&p, &m, "2", p.path, "calibrate", "net", "--on", "mpi", "--out",
                           file_of(path, &p, "links.json")),
                    0);
    CU_ASSERT_CONTAINS(m.out, "round trip");
    CU_ASSERT_PTR_NULL(strstr(m.out, "loss"));
    said_release(&m);
    char *text = program_read(&p, "links.json");
    json_t *file = json_loads(text ? text : "", 0, NULL);
    const json_t *measured = json_object_get(file, "measured");
    CU_ASSERT_EQUAL(
        json_integer_value(json_object_get(json_object_get(measured, "rtt"), "readings")), 41);
    CU_ASSERT(json_number_value(json_object_get(
                  json_object_get(json_object_get(measured, "out"), "rate"), "value")) > 0);
    const json_t *collective = json_object_get(measured, "collective");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(collective, "readings")), 5);
    CU_ASSERT(json_number_value(json_object_get(collective, "value")) > 0);
    CU_ASSERT_CONTAINS(text, "strait calibrate net --on mpi, 2 ranks, ");
    json_decref(file);
    free(text);
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--set",
                                 "/network=./links.json", "--no-break-even");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    s = PROGRAM_CALL(&p, "calibrate", "net", "--on", "mpi", "server:5300");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: calibrate net: expected --on mpi without HOST:PORT and "
                                  "--listen, found \"server:5300\"\n");
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"strategies on three ranks send and sum what a simulation says", same_bytes_and_sums},
    {"a rank that is killed ends the run, and what was measured is kept", killed_rank},
    {"clocks that are 1000 s apart are measured and do not matter", clocks_are_measured},
    {"too few ranks, other experiments and other programs are one line", refused},
    {"a sweep by one process or three has the rows of a run", sweep_is_run},
    {"a sweep refuses machines with other plans, and what is measured", sweep_refuses},
    {"links that MPI measures become a network that an experiment names", links_become_a_network},
    {"without a launcher it says how to start", without_a_launcher},
};
STRAIT_SUITE_WITH("cli/cli_rank", tests, .slow_s = 37, .release = true);
