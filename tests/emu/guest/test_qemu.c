/* The guest that counts instructions. With STRAIT_LONG (make qemu-test) it is booted, and what this
 * program finds in there must be the same to the last digit in a second guest, and near what
 * arithmetic and User-Mode Linux in virtual time say. */
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
#include <archive.h>
#include <archive_entry.h>
#include "core/process.h"
#include "emu/guest/guest_archive.h"
#include "emu/host/dilation.h"
#include "emu/guest/qemu.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

enum { LIMIT_S = 900, MESSAGE_BYTES = 4000000 };
static const double GUEST_BYTES = 1024.0 * 1048576;

/* --- outside ------------------------------------------------------------------------------ */

static bool is_possible(void)
{
    struct strait_error err = {0};
    if (IS_SANITIZED) {
        strait_test_skip("under a sanitizer other instructions would be counted");
        return false;
    }
    if (!getenv("STRAIT_LONG")) {
        strait_test_skip("STRAIT_LONG is not set: make qemu-test, minutes");
        return false;
    }
    if (strait_emu_qemu_check(&err) == 0)
        return true;
    strait_test_skip(err.text);
    return false;
}

/* This program's tests whose sentences have these words, in a guest; what it said on stderr. */
static char *said_inside(const char *folder, const char *words)
{
    struct strait_error err = {0};
    char program[PATH_MAX];
    const char *argv[8];
    strait_suite_argv(argv, program, "emu/guest/qemu", &words, 1);
    CU_ASSERT_EQUAL_FATAL(mkdir(folder, 0777), 0);
    const char *const none[] = {NULL};
    const struct strait_emu_uml_plan plan = {.argv = argv,
                                             .folder = "/",
                                             .job = folder,
                                             .read = none,
                                             .write = none,
                                             .memory_bytes = GUEST_BYTES,
                                             .limit_s = LIMIT_S};
    const int status = strait_emu_qemu_run(&plan, &err);
    char *out = folder_text(folder, STRAIT_EMU_UML_OUT);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(strstr(out, " 0 failed") != NULL);
    if (status != 0)
        fprintf(stderr, "%s%s\n", out, err.text);
    free(out);
    char *said = folder_text(folder, STRAIT_EMU_UML_ERR);
    folder_remove(folder);
    return said;
}

/* --- inside ------------------------------------------------------------------------------- */

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src > 0 && dst == 0 && channel == 0;
}

static struct strait_packet *message(void)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        abort();
    p->payload_bytes = MESSAGE_BYTES;
    return p;
}

/* All others send to rank 0 and wait for the acknowledgement: numbers[rank][0]. */
static void upload(struct strait_rank *r)
{
    struct strait_times times;
    if (r->me > 0) {
        r->backend->ops->wait(r, r->backend->ops->send(r, 0, 0, 0, message(), true), &times);
        board_of(r)->numbers[r->me][0] = times.ended_s;
        return;
    }
    for (int i = 1; i < r->run->n_ranks; i++) {
        struct strait_message m;
        r->backend->ops->recv(r, &m, STRAIT_ANY, 0, INFINITY);
        strait_packet_drop(m.packet);
    }
}

/* The last of n messages; every time that was reported is part of the line on stderr. */
static double upload_from(int n, double dilation, double *k)
{
    struct world w;
    struct strait_error err = {0};
    double last_s = 0, sum_s = 0;
    world_init(&w, n + 1, 1e9, 0.050);
    w.network->tcp.congestion = STRAIT_CUBIC;
    w.run.rank_main = upload;
    w.run.uses_stream = is_star;
    w.run.dilation = dilation;
    const int status = strait_emu.run(&w.run, &err);
    if (status != 0)
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    const bool invalid = world_is_invalid(&w);
    CU_ASSERT(!invalid || dilation > 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(w.facts.report, "launcher")), "qemu");
    *k = json_number_value(json_object_get(w.facts.report, "dilation"));
    for (int r = 1; r <= n; r++) {
        last_s = fmax(last_s, w.board->numbers[r][0]);
        sum_s += w.board->numbers[r][0];
    }
    fprintf(stderr, "4 MB from %d at dilation %g: %.9f s, mean %.9f s%s\n", n, *k, last_s,
            sum_s / n, invalid ? ", INVALID" : "");
    world_release(&w);
    return last_s;
}

/* --- tests -------------------------------------------------------------------------------- */

/* Cold connections, round trip 50 ms: 0.452 and 0.486 s in User-Mode Linux in virtual time, see
 * test_virtual for the arithmetic (0.450 and 0.472 s). */
static void uploads(void)
{
    static const struct {
        int n;
        double wanted_s;
    } cases[] = {{1, 0.452}, {4, 0.486}};
    double k;
    char job[] = "/tmp/strait-test-XXXXXX", folder[64];
    if (strait_emu_in_qemu()) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            CU_ASSERT_DOUBLE_EQUAL(upload_from(cases[i].n, 0, &k), cases[i].wanted_s,
                                   0.03 * cases[i].wanted_s);
        return;
    }
    if (!is_possible())
        return;
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    snprintf(folder, sizeof(folder), "%s/job", job);
    char *first = said_inside(folder, "uploads of 1 and"),
         *second = said_inside(folder, "uploads of 1 and");
    fprintf(stderr, "%s", first);
    CU_ASSERT(strstr(first, "4 MB from 4 ") != NULL);
    CU_ASSERT_STRING_EQUAL(first, second);
    if (strcmp(first, second) != 0)
        fprintf(stderr, "%s", second);
    free(first);
    free(second);
    folder_remove(job);
}

/* More of them, at the dilation that is chosen: 0.775 and 2.287 s by arithmetic and in virtual
 * time. */
static void many(void)
{
    static const struct {
        int n;
        double wanted_s;
    } cases[] = {{16, 0.775}, {64, 2.287}};
    double k;
    char job[] = "/tmp/strait-test-XXXXXX", folder[64];
    if (strait_emu_in_qemu()) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            CU_ASSERT_DOUBLE_EQUAL(upload_from(cases[i].n, 0, &k), cases[i].wanted_s,
                                   0.03 * cases[i].wanted_s);
        return;
    }
    if (!is_possible())
        return;
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    snprintf(folder, sizeof(folder), "%s/job", job);
    char *said = said_inside(folder, "uploads of 16");
    fprintf(stderr, "%s", said);
    free(said);
    folder_remove(job);
}

/* The whole command: its results are the same bytes. */
static void a_run(void)
{
    const char *strait = getenv("STRAIT_BIN");
    char results[] = "/tmp/strait-test-XXXXXX", folder[64], *rows[2];
    if (!is_possible())
        return;
    if (!strait) {
        strait_test_skip("STRAIT_BIN is not set");
        return;
    }
    CU_ASSERT_FATAL(mkdtemp(results) != NULL);
    snprintf(folder, sizeof(folder), "%s/r", results);
    static const char codec[] = "/codec={\"name\":\"sz\",\"bound\":{\"range\":1e-3}}";
    const char *const argv[] = {strait,  "run",        "wan-check",
                                "--on",  "emu",        "--launcher",
                                "qemu",  "--timing",   "replay",
                                "--set", "/clients=4", "--set",
                                codec,   "--set",      "/strategy/rounds=1",
                                "--out", folder,       "--no-break-even",
                                NULL};
    for (int i = 0; i < 2; i++) {
        struct strait_error err = {0};
        CU_ASSERT_EQUAL(strait_process_run(NULL, 0, argv, NULL, LIMIT_S, &err), 0);
        rows[i] = folder_text(folder, "results.jsonl");
        fprintf(stderr, "%s", err.text);
        folder_remove(folder);
    }
    CU_ASSERT(strstr(rows[0], "\"valid\":true") != NULL);
    CU_ASSERT_STRING_EQUAL(rows[0], rows[1]);
    free(rows[0]);
    free(rows[1]);
    folder_remove(results);
}

static int wait_for(const char *text, bool some)
{
    int n = folder_n_processes(text, "cmdline");
    for (int i = 0; i < 200 && (n > 0) != some; i++) {
        const struct timespec t = {.tv_nsec = 50000000};
        nanosleep(&t, NULL);
        n = folder_n_processes(text, "cmdline");
    }
    return n;
}

static void limits(void)
{
    char job[] = "/tmp/strait-test-XXXXXX", files[64];
    const char *const argv[] = {"/bin/sleep", "1000000", NULL};
    struct strait_error err = {0};
    struct strait_emu_uml_plan plan = {
        .argv = argv, .folder = "/", .job = job, .memory_bytes = 1e15, .limit_s = 1};
    if (strait_emu_qemu_check(&err) != 0) {
        strait_test_skip(err.text);
        return;
    }
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    snprintf(files, sizeof(files), "%s/files", job);
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT(strstr(err.text, "of memory") != NULL);
    CU_ASSERT(access(files, F_OK) != 0); /* what was packed is gone */
    plan.memory_bytes = 256e6;
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT(strstr(err.text, "expected an end within 1 s, killed it") != NULL);
    plan.limit_s = 60;
    const pid_t parent = fork();
    if (parent == 0) {
        strait_emu_qemu_run(&plan, NULL);
        _exit(0);
    }
    CU_ASSERT(wait_for(files, true) > 0); /* it is named on QEMU's command line */
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    CU_ASSERT_EQUAL(wait_for(files, false), 0);
    plan.job = "/tmp/a,b";
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_qemu_run(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    folder_remove(job);
}

static void missing(void)
{
    struct strait_error err = {0};
    char before[PATH_MAX];
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    CU_ASSERT_EQUAL(strait_emu_qemu_check(&err), -1);
    setenv("PATH", before, 1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST); /* exit status 3 */
    CU_ASSERT_STRING_EQUAL(err.text, "QEMU (qemu-system-x86) is not installed: make qemu");
}

static void refused(void)
{
    const char *strait = getenv("STRAIT_BIN");
    struct strait_error err = {0};
    if (!strait) {
        strait_test_skip("STRAIT_BIN is not set");
        return;
    }
    const char *const live[] = {strait, "run",        "wan-check", "--on",
                                "emu",  "--launcher", "qemu",      NULL},
                      *const both[] = {strait,       "run",  "wan-check", "--on",   "both",
                                       "--launcher", "qemu", "--timing",  "replay", NULL};
    CU_ASSERT_EQUAL(strait_process_run(NULL, 0, live, NULL, 20, &err), 2);
    CU_ASSERT(strstr(err.text, "expected --on emu --timing replay") != NULL);
    CU_ASSERT_EQUAL(strait_process_run(NULL, 0, both, NULL, 20, NULL), 2);
}

/* A folder and in it a link, to a file of 5 bytes beside it: for each a head of 110 bytes, its name
 * with an end, what is in it; names and contents filled up to a multiple of 4. */
static void same_bytes(void)
{
    char folder[] = "/tmp/strait-test-XXXXXX", path[96], there[64], *archives[2];
    struct strait_error err = {0};
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(there, sizeof(there), "%s/d", folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(there, 0777), 0);
    snprintf(path, sizeof(path), "%s/to", there);
    CU_ASSERT_EQUAL_FATAL(symlink("../a", path), 0);
    for (int i = 0; i < 2; i++) {
        struct strait_emu_archive a;
        char file[64];
        snprintf(file, sizeof(file), "%s/a", folder);
        FILE *f = fopen(file, "w"); /* with another time */
        CU_ASSERT_FATAL(f != NULL && fputs("hello", f) >= 0 && fclose(f) == 0);
        snprintf(path, sizeof(path), "%s/archive", folder);
        CU_ASSERT_EQUAL(strait_emu_archive_init(&a, path, &err), 0);
        CU_ASSERT_EQUAL(strait_emu_archive_add_folder(&a, there, 1, &err), 0);
        CU_ASSERT_EQUAL(a.n_seen, 5); /* /tmp, the folder, d, to, a */
        CU_ASSERT_EQUAL(strait_emu_archive_finish(&a, &err), 0);
        /* Names without the first slash: tmp 110 + 4 to 116, the folder 110 + 23 to 136, its d
         * 110 + 25 to 136, its d/to 110 + 28 to 140 and 4, its a 110 + 25 to 136 and 5 to 8, the
         * end 110 + 11 to 124: 116 + 136 + 136 + 144 + 144 + 124 */
        CU_ASSERT_EQUAL(archive_filter_bytes(a.writer, -1), 800);
        strait_emu_archive_release(&a);
        archives[i] = calloc(1, 801);
        f = fopen(path, "r");
        CU_ASSERT_FATAL(f != NULL && fread(archives[i], 1, 801, f) == 800);
        fclose(f);
    }
    CU_ASSERT_EQUAL(memcmp(archives[0], archives[1], 800), 0);
    CU_ASSERT(memmem(archives[0], 800, "hello", 5) != NULL);
    free(archives[0]);
    free(archives[1]);
    struct strait_emu_archive a;
    CU_ASSERT_EQUAL(strait_emu_archive_init(&a, path, &err), 0);
    CU_ASSERT_EQUAL(strait_emu_archive_add(&a, "/nonexistent/x", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "/nonexistent");
    strait_emu_archive_release(&a);
    folder_remove(folder);
}

static const struct strait_test tests[] = {
    {"what is missing is named, with the target that brings it", missing},
    {"a run that would measure work there is refused", refused},
    {"the guest's files are the same bytes whenever they are packed", same_bytes},
    {"memory, time and names have limits, and nothing is left when the parent is killed", limits},
    {"uploads of 1 and 4 clients are the same digits in two guests", uploads},
    {"uploads of 16 and 64 clients are right at the dilation that is chosen", many},
    {"strait run --launcher qemu leaves the same results twice", a_run},
};
STRAIT_SUITE("emu/guest/qemu", tests);
