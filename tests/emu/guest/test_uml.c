/* User-Mode Linux in the host's time, Debian's or ours: the kernel's links with real netem, and a
 * run of strait, in one machine that this test boots twice. */
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/process.h"
#include "emu/guest/uml.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/guest.h"
#include "tests/kit/judged.h"

static bool is_there(void)
{
    struct strait_error err = {0};
    if (strait_emu_uml_check(false, &err) == 0)
        return true;
    strait_test_skip(err.text);
    return false;
}

/* Work files, and where this test's program is: both may lie below what the guest covers. */
struct place {
    char job[64], program[PATH_MAX], bin[PATH_MAX], share[PATH_MAX];
    const char *read[3];
};

static void place_init(struct place *p)
{
    strcpy(p->job, "/tmp/strait-test-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(p->job) != NULL);
    const ssize_t n = readlink("/proc/self/exe", p->program, sizeof(p->program) - 1);
    CU_ASSERT_FATAL(n > 0);
    p->program[n] = '\0';
    strcpy(p->bin, p->program);
    *strrchr(p->bin, '/') = '\0';
    p->read[0] = strait_share_path(p->share, sizeof(p->share), "");
    p->read[1] = p->bin;
    p->read[2] = NULL;
}

static int run_inside(const struct place *p, const char *const *argv, double limit_s,
                      struct strait_error *err)
{
    static const char *const none[] = {NULL};
    const struct strait_emu_uml_plan plan = {.argv = argv,
                                             .folder = "/",
                                             .job = p->job,
                                             .read = p->read,
                                             .write = none,
                                             .memory_bytes =
                                                 strait_emu_uml_memory_bytes(false, 9, 1e8, 0),
                                             .limit_s = limit_s};
    return strait_emu_uml_run(&plan, err);
}

/* What of test_kernel_net and test_tamper needs netem: round trips, loss, order under jitter, links
 * that somebody changes. With STRAIT_LONG (make uml) all of them, cold messages of 1 and 4 clients
 * and the rates too. */
static void netem(void)
{
    struct place p;
    struct strait_error err = {0};
    /* both, whatever the first one says */
    static const char commands[] =
        "\"$1\" --here emu/links/kernel_net \"$2\" \"$3\" \"$4\" \"$5\"; "
        "s=$?; \"$1\" --here emu/links/tamper \"$6\" && exit $s",
                      all_commands[] = "\"$1\" --here emu/links/kernel_net; s=$?; "
                                       "\"$1\" --here emu/links/tamper && exit $s";
    if (!guest_boots(false))
        return;
    place_init(&p);
    const bool all = getenv("STRAIT_LONG") != NULL;
    const char *const argv[] = {"sh",
                                "-c",
                                all ? all_commands : commands,
                                "sh",
                                p.program,
                                "stock ping",
                                "loss is counted",
                                "keeps the order",
                                "without netem",
                                "a delay",
                                NULL};
    const int status = run_inside(&p, argv, 240, &err);
    char *out = folder_text(p.job, STRAIT_EMU_UML_OUT),
         *said = folder_text(p.job, STRAIT_EMU_UML_ERR);
    fprintf(stderr, "%s%s", said, status < 0 ? err.text : "");
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0) {
        char *console = folder_text(p.job, STRAIT_EMU_UML_CONSOLE);
        fprintf(stderr, "%s%s", out, console);
        free(console);
    }
    /* only the test of a kernel without netem has nothing to do there */
    CU_ASSERT(strstr(out, " 0 failed, 1 skipped") != NULL);
    CU_ASSERT(strstr(said, "skipped: emu/links/kernel_net: a kernel without netem") != NULL);
    CU_ASSERT(strstr(out, "a delay that is changed, removed or added to is told") != NULL);
    CU_ASSERT(strstr(said, "a delay that is changed, removed or added to") == NULL);
    free(out);
    free(said);
    folder_remove(p.job);
}

/* A copy straight in /tmp, which is another folder in the guest. */
static bool copy_experiment(char path[32])
{
    char text[4096];
    FILE *from = fopen(DATA("experiments/wan-check.json"), "re");
    const size_t n = from ? fread(text, 1, sizeof(text), from) : 0;
    if (from)
        fclose(from);
    strcpy(path, "/tmp/strait-XXXXXX.json");
    const int fd = mkstemps(path, 5);
    const bool done = fd >= 0 && n > 0 && n < sizeof(text) && write(fd, text, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    return done;
}

/* A guest in the host's time is late, stands still or works slowly where the host is busy, and says
 * so; nothing else may be wrong with the row. */
static bool is_disturbed_at_most(const json_t *row)
{
    static const char *const by_a_busy_host[] = {" late", "outside of jobs", "ping from ",
                                                 "stood still", "readings of work"};
    bool only_disturbed = true;
    const json_t *why;
    size_t i;
    json_array_foreach (json_object_get(row, "invalid"), i, why) {
        bool is_known = false;
        for (size_t k = 0; k < sizeof(by_a_busy_host) / sizeof(by_a_busy_host[0]); k++)
            is_known |= strstr(json_string_value(why), by_a_busy_host[k]) != NULL;
        if (!is_known)
            fprintf(stderr, "%s\n", json_string_value(why));
        only_disturbed &= is_known;
    }
    return only_disturbed && json_is_boolean(json_object_get(row, "valid"));
}

static void a_run(void)
{
    struct place p;
    struct strait_error err = {0};
    const char *strait = getenv("STRAIT_BIN");
    char real[PATH_MAX], results[128], experiment[32];
    if (!guest_boots(false))
        return;
    if (!strait || !realpath(strait, real)) {
        strait_test_skip("STRAIT_BIN is not set");
        return;
    }
    place_init(&p);
    snprintf(results, sizeof(results), "%s/r", p.job);
    CU_ASSERT_FATAL(copy_experiment(experiment));
    const char *const argv[] = {real,       "run",
                                experiment, "--on",
                                "emu",      "--launcher",
                                "uml",      "--no-break-even",
                                "--set",    "/clients=2",
                                "--set",    "/codec=none",
                                "--set",    "/strategy/rounds=1",
                                "--out",    results,
                                NULL};
    const int status = strait_process_run(NULL, 0, argv, NULL, 600, &err);
    unlink(experiment);
    fprintf(stderr, "%s\n", err.text);
    char *rows = folder_text(p.job, "r/results.jsonl");
    int n_rows = 0;
    for (char *line = strtok(rows, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL), *report = json_object_get(row, "report"), *probe;
        const char *record = json_string_value(json_object_get(row, "record"));
        if (record && strcmp(record, "row") == 0) {
            n_rows++;
            CU_ASSERT(is_disturbed_at_most(row));
            CU_ASSERT_EQUAL(status, json_is_true(json_object_get(row, "valid")) ? 0 : 1);
            if (time_is_judged())
                CU_ASSERT(json_is_true(json_object_get(row, "valid")));
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(report, "realisation")),
                                   "kernel");
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(report, "launcher")), "uml");
            probe = json_array_get(json_object_get(report, "probes"), 0);
            const double rtt_s = json_number_value(json_object_get(probe, "rtt_s"));
            CU_ASSERT_AT_LEAST(rtt_s, 0.0499); /* netem is never early, ping prints 0.1 ms */
            if (time_is_judged())
                CU_ASSERT_AT_MOST(rtt_s, 0.0503);
            const json_t *kernel = json_object_get(report, "kernel");
            CU_ASSERT(json_is_real(json_object_get(kernel, "late_p99_s"))); /* root is, there */
            CU_ASSERT(json_is_null(json_object_get(kernel, "cpu_s")));
        }
        json_decref(row);
    }
    CU_ASSERT_EQUAL(n_rows, 1);
    free(rows);
    folder_remove(p.job);
}

static void limits(void)
{
    struct place p;
    struct strait_error err = {0};
    const char *const argv[] = {"sleep", "60", NULL};
    if (!is_there())
        return;
    place_init(&p);
    CU_ASSERT_EQUAL(run_inside(&p, argv, 4, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT(strstr(err.text, "expected an end within 4 s, killed it") != NULL);
    /* 512 MiB until 256 MB + 12 MB a rank + 5/4 of the ranks' need are more */
    CU_ASSERT_EQUAL(strait_emu_uml_memory_bytes(false, 9, 0, 0), 512 * 1048576.0);
    CU_ASSERT_EQUAL(strait_emu_uml_memory_bytes(false, 65, 0, 0), 1024 * 1048576.0);   /* 1036 MB */
    CU_ASSERT_EQUAL(strait_emu_uml_memory_bytes(false, 65, 1e9, 0), 4096 * 1048576.0); /* 2286 MB */
    /* in virtual time no fifth is kept free; 20.04 GB are 18.7 GiB */
    CU_ASSERT_EQUAL(strait_emu_uml_memory_bytes(true, 65, 16e9, 3e9), 19 * 1073741824.0);
    const struct strait_emu_uml_plan huge = {
        .argv = argv, .folder = "/", .job = p.job, .memory_bytes = 1e15, .limit_s = 4};
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_uml_run(&huge, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT(strstr(err.text, "of memory") != NULL);
    const struct strait_emu_uml_plan blank = {
        .argv = argv, .folder = "/", .job = "/tmp/a b", .memory_bytes = 5e8, .limit_s = 4};
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_uml_run(&blank, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    folder_remove(p.job);
}

/* tail keeps the last line, which has no end there. */
static void little_memory(void)
{
    static const char *const none[] = {NULL};
    const char *const argv[] = {"tail", "/dev/zero", NULL};
    struct place p;
    struct strait_error err = {0};
    if (!guest_boots(false))
        return;
    place_init(&p);
    const struct strait_emu_uml_plan plan = {.argv = argv,
                                             .folder = "/",
                                             .job = p.job,
                                             .read = p.read,
                                             .write = none,
                                             .memory_bytes = 134217728,
                                             .limit_s = 120};
    CU_ASSERT_EQUAL(strait_emu_uml_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_NOMEM);
    CU_ASSERT(strstr(err.text, "its memory of 0.134 GB ran out") != NULL);
    folder_remove(p.job);
}

static void killed_parent(void)
{
    struct place p;
    const char *const argv[] = {"sleep", "60", NULL};
    if (!is_there())
        return;
    place_init(&p);
    const pid_t parent = fork();
    if (parent == 0) {
        run_inside(&p, argv, 60, NULL);
        _exit(0);
    }
    int n = 0;
    for (int i = 0; i < 100 && n < 3; i++) { /* the kernel and its first processes */
        const struct timespec t = {.tv_nsec = 100000000};
        nanosleep(&t, NULL);
        n = folder_n_processes(p.job, "cmdline");
    }
    CU_ASSERT(n >= 3);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 50 && n > 0; i++) {
        const struct timespec t = {.tv_nsec = 100000000};
        nanosleep(&t, NULL);
        n = folder_n_processes(p.job, "cmdline");
    }
    CU_ASSERT_EQUAL(n, 0);
    folder_remove(p.job);
}

static void missing_package(void)
{
    struct strait_error err = {0};
    char before[PATH_MAX];
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    setenv("STRAIT_VKERNEL", "/nonexistent", 1);
    CU_ASSERT_EQUAL(strait_emu_uml_check(false, &err), -1);
    unsetenv("STRAIT_VKERNEL");
    setenv("PATH", before, 1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST); /* exit status 3 */
    CU_ASSERT_STRING_EQUAL(err.text, "User-Mode Linux is not installed: apt install "
                                     "user-mode-linux kmod, or make vkernel");
}

static const struct strait_test tests[] = {
    {"a missing package is named", missing_package},
    {"what needs netem holds in the guest", netem},
    {"strait run --launcher uml leaves a row of the kernel's links", a_run},
    {"time, memory and names have limits", limits},
    {"a guest whose memory runs out says so", little_memory},
    {"nothing is left when the parent is killed", killed_parent},
};
STRAIT_SUITE_WITH("emu/guest/uml", tests, .slow_s = 50, .release = true);
