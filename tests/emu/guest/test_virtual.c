/* The guest in virtual time. Each test boots it and runs itself again in there: what it finds must
 * hold at dilation 1 although this machine has fewer processors than the run has ranks, and beside
 * two programs that never pause. With STRAIT_LONG (make vtest) all settings and links. */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/process.h"
#include "emu/guest/uml.h"
#include "emu/host/dilation.h"
#include "process/dilated_clock.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/guest.h"
#include "tests/kit/links/uploads.h"

enum { TEXT_BYTES = 1 << 20, LIMIT_S = 300, N_NEIGHBOURS = 2 };

/* --- outside ------------------------------------------------------------------------------ */

static pid_t neighbour(void)
{
    const pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    for (volatile unsigned n = 0;;)
        n++;
}

static bool is_long(void)
{
    return getenv("STRAIT_LONG") != NULL;
}

/* The tests of that suite whose sentences have these words, in the guest. */
static void run_inside_with(double memory_bytes, const char *words, const char *suite,
                            int n_neighbours)
{
    static const char *const longer[] = {"STRAIT_LONG=yes", NULL};
    struct strait_error err = {0};
    char job[] = "/tmp/strait-test-XXXXXX", program[PATH_MAX], bin[PATH_MAX];
    const char *argv[8];
    pid_t neighbours[N_NEIGHBOURS];
    if (!guest_boots(true))
        return;
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    strait_suite_argv(argv, program, suite, &words, 1);
    strcpy(bin, program);
    *strrchr(bin, '/') = '\0';
    const char *const read[] = {DATA(""), bin, NULL}, *const none[] = {NULL};
    const struct strait_emu_uml_plan plan = {.virtual_time = true,
                                             .argv = argv,
                                             .folder = "/",
                                             .job = job,
                                             .read = read,
                                             .write = none,
                                             .setenv = is_long() ? longer : NULL,
                                             .memory_bytes = memory_bytes,
                                             .limit_s = LIMIT_S};
    for (int i = 0; i < n_neighbours; i++)
        neighbours[i] = neighbour();
    const int status = strait_emu_uml_run(&plan, &err);
    for (int i = 0; i < n_neighbours; i++) {
        kill(neighbours[i], SIGKILL);
        waitpid(neighbours[i], NULL, 0);
    }
    char *out = folder_text(job, STRAIT_EMU_UML_OUT), *said = folder_text(job, STRAIT_EMU_UML_ERR);
    fprintf(stderr, "%s%s%s", out, said, status < 0 ? err.text : "");
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(strstr(out, " 0 failed") != NULL);
    free(out);
    free(said);
    folder_remove(job);
}

static void run_inside(const char *words, const char *suite, int n_neighbours)
{
    run_inside_with(strait_emu_uml_memory_bytes(true, 65, 1e9, 0), words, suite, n_neighbours);
}

/* --- inside ------------------------------------------------------------------------------- */

static double run_valid_s(struct world *w)
{
    struct strait_error err = {0};
    const double found_s = upload_run_s(w, &err);
    if (isnan(found_s))
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    CU_ASSERT_FATAL(isfinite(found_s));
    CU_ASSERT_FALSE(world_is_invalid(w));
    CU_ASSERT_EQUAL(json_number_value(json_object_get(w->facts.report, "dilation")), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(w->facts.report, "launcher")), "vuml");
    return found_s;
}

/* Cold connections, round trip 50 ms, queues that never drop. A message that is shorter than the
 * window needs takes n* + 1 round trips, n* = ceil(log2(C RTT / (N W0))),
 * and then the rest, C = 119.55 MB/s, W0 = 14480 B:
 * N = 1: ceil(log2(4e6 / W0 + 1)) = 9 round trips and done, 0.450 s;
 * N = 4: n* = 7, 8 x 0.050 + (16e6 - 57920 x 127) / C = 0.472 s;
 * N = 16: n* = 5, 6 x 0.050 + (64e6 - 231680 x 31) / C = 0.775 s;
 * N = 64: n* = 3, 4 x 0.050 + (256e6 - 926720 x 7) / C = 2.287 s.
 * N = 1 on S connections: as in test_connections, and half a round trip more for the
 * acknowledgement: 0.3624 and 0.2648 s with 4 and 16. */
static void uploads(void)
{
    const struct {
        int n;
        unsigned n_connections;
        double wanted_s;
    } cases[] = {{1, 1, 0.450}, {1, 4, 0.3624}, {1, 16, 0.2648},
                 {4, 1, 0.472}, {16, 1, 0.775}, {64, 1, 2.287}};
    if (!strait_emu_in_virtual_time()) {
        run_inside("uploads of 1", "emu/guest/virtual", 0);
        return;
    }
    const size_t n_cases = is_long() ? sizeof(cases) / sizeof(cases[0]) : 4;
    for (size_t i = 0; i < n_cases; i++) {
        struct world w;
        upload_world(&w, cases[i].n, 0.050, false);
        w.network->tcp.congestion = STRAIT_CUBIC;
        w.network->tcp.n_connections = cases[i].n_connections;
        const double last_s = run_valid_s(&w);
        fprintf(stderr, "4 MB from %d on %u connections: %.4f s, by arithmetic %.4f (%+.1f %%)\n",
                cases[i].n, cases[i].n_connections, last_s, cases[i].wanted_s,
                100 * (last_s / cases[i].wanted_s - 1));
        CU_ASSERT(fabs(last_s / cases[i].wanted_s - 1) < 0.05);
        world_release(&w);
    }
}

/* 16 clients work for 200 ms at once, on a machine that could do so after 1.6 s at the earliest,
 * and then fill the server's port: 0.2 + 64e6 / 119.55e6 = 0.7354 s, on Ethernet 0.2 + 64e6 /
 * 117.69e6 = 0.7438 s; less the credit of an idle tbf. */
static void burners(void)
{
    if (!strait_emu_in_virtual_time()) {
        run_inside("work of 200 ms", "emu/guest/virtual", N_NEIGHBOURS);
        return;
    }
    for (int ethernet = 0; ethernet < (is_long() ? 2 : 1); ethernet++) {
        struct world w;
        upload_world(&w, 16, 0, true);
        w.network->overhead_bytes = ethernet ? 24 : 0;
        const double found_s = run_valid_s(&w);
        const double wanted_s =
            0.2 + 16.0 * UPLOAD_BYTES / upload_goodput(w.network->overhead_bytes);
        const double credit_s = json_number_value(json_object_get(w.facts.report, "credit_s"));
        fprintf(stderr, "16 times 200 ms and 4 MB: %.4f s, by arithmetic %.4f less at most %.4f\n",
                found_s, wanted_s, credit_s);
        CU_ASSERT(credit_s > 0 && credit_s < 0.001);
        CU_ASSERT(fabs(found_s / (wanted_s - credit_s) - 1) < 0.01);
        world_release(&w);
    }
}

static int64_t read_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Of 500 reads at most two are paid for, with 256 ns each, and the clock has steps of as many:
 * below 1 us, where all of them would cost 128 us. Who waits for the clock still sees it move. */
static void clock_reads(void)
{
    if (!strait_emu_in_virtual_time()) {
        run_inside("reading the clock", "emu/guest/virtual", 0);
        return;
    }
    const struct timespec moment = {.tv_nsec = 1000};
    nanosleep(&moment, NULL);
    const int64_t before_ns = read_clock_ns();
    for (int i = 0; i < 498; i++)
        read_clock_ns();
    const int64_t took_ns = read_clock_ns() - before_ns;
    fprintf(stderr, "500 reads took %lld ns\n", (long long)took_ns);
    CU_ASSERT(took_ns >= 0 && took_ns < 1000);
    int n_reads = 0;
    while (read_clock_ns() - before_ns < 20000 && n_reads < 1000000)
        n_reads++;
    CU_ASSERT(n_reads < 1000000);
}

enum { N_PIECES = 10, PIECE_BYTES = 200000 };

static void nothing(void *arg)
{
    (void)arg;
}

/* Clients send pieces one after another, rank 0 works on each as soon as it is there. */
static void work_on_arrival(struct strait_rank *r)
{
    const struct strait_job job = {
        .resource = STRAIT_CPU, .n_slots = 1, .cost_s = 1e-6, .fn = nothing};
    struct strait_times times;
    for (int i = 0; i < N_PIECES && r->me > 0; i++) {
        struct strait_packet *p = strait_packet_new(0);
        if (!p)
            abort(); /* a test without memory proves nothing */
        p->payload_bytes = PIECE_BYTES;
        r->backend->ops->wait(r, r->backend->ops->send(r, 0, 0, i, p, true), &times);
    }
    for (int i = 0; i < N_PIECES * (r->run->n_ranks - 1) && r->me == 0; i++) {
        struct strait_message m;
        r->backend->ops->recv(r, &m, STRAIT_ANY, 0, INFINITY);
        strait_packet_drop(m.packet);
        r->backend->ops->wait(r, r->backend->ops->start(r, &job), &times);
    }
}

/* A message whose first half closes a gap has arrived then, not when its second half came: the work
 * on it would be late before it begins. Of 40 messages of 139 segments at 3 % about 5 end so. */
static void gaps(void)
{
    struct world w;
    if (!strait_emu_in_virtual_time()) {
        run_inside("lost packets", "emu/guest/virtual", 0);
        return;
    }
    upload_world(&w, 4, 0.010, false);
    w.run.rank_main = work_on_arrival;
    for (int i = 1; i <= 4; i++)
        w.network->out[i].loss_ratio = 0.03;
    run_valid_s(&w);
    const json_t *report = w.facts.report;
    fprintf(stderr, "%.0f segments sent again, jobs %.1f ms late\n",
            json_number_value(json_object_get(report, "tcp_retransmits")),
            1e3 * json_number_value(json_object_get(report, "slip_sum_s")));
    CU_ASSERT(json_number_value(json_object_get(report, "tcp_retransmits")) > 40);
    /* 40 jobs of 1 us, on a clock with steps of 256 ns; a gap is closed after 10 ms */
    CU_ASSERT(json_number_value(json_object_get(report, "slip_sum_s")) < 1e-4);
    world_release(&w);
}

/* Rank 1 takes memory until there is none, and leaves the kernel a processor to see to that. */
static void take_all(struct strait_rank *r)
{
    enum { STEP_BYTES = 16 << 20 };
    strait_proc_be_ordinary();
    while (r->me == 1) {
        char *more = malloc(STEP_BYTES);
        if (!more)
            abort(); /* the kernel promises more than there is */
        memset(more, 1, STEP_BYTES);
    }
}

static void no_memory(void)
{
    struct world w;
    struct strait_error err = {0};
    if (!strait_emu_in_virtual_time()) { /* a machine of its own: this one has others to kill */
        run_inside_with(512 << 20, "says that memory ran out", "emu/guest/virtual", 0);
        return;
    }
    FILE *f = fopen("/proc/sys/vm/panic_on_oom", "we"); /* guests end of it, as a rule */
    CU_ASSERT_FATAL(f && fputs("0", f) >= 0 && fclose(f) == 0);
    upload_world(&w, 2, 0.010, false);
    w.run.rank_main = take_all;
    w.run.allocated_bytes = 2.5e9;
    CU_ASSERT_EQUAL(strait_emu.run(&w.run, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_NOMEM);
    CU_ASSERT_STRING_EQUAL(err.text, "memory ran out and the kernel killed rank 1: 2.5 GB were "
                                     "expected to suffice for all ranks");
    world_release(&w);
}

static double round_s_of(const json_t *row)
{
    return json_number_value(json_object_get(row, "round_s"));
}

/* Of a run with --on both in virtual time: the last predicted and the last emulated round. */
struct both {
    double predicted_s, emulated_s;
    int n_emulated;
};

static struct both run_both(const char *const argv[])
{
    struct both b = {0};
    struct strait_error err = {0};
    char *text = calloc(1, TEXT_BYTES);
    CU_ASSERT_EQUAL(strait_process_run(text, TEXT_BYTES, argv, NULL, LIMIT_S, &err), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL), *report = json_object_get(row, "report");
        const char *backend = json_string_value(json_object_get(row, "backend"));
        if (backend && strcmp(backend, "sim") == 0)
            b.predicted_s = round_s_of(row);
        if (backend && strcmp(backend, "emu") == 0) {
            b.emulated_s = round_s_of(row);
            b.n_emulated++;
            CU_ASSERT(json_is_true(json_object_get(row, "valid")));
            CU_ASSERT_EQUAL(json_number_value(json_object_get(report, "dilation")), 1);
        }
        json_decref(row);
    }
    fprintf(stderr, "%spredicted %.4f s, emulated %.4f s\n", err.text, b.predicted_s, b.emulated_s);
    CU_ASSERT(b.predicted_s > 0 && fabs(b.emulated_s / b.predicted_s - 1) < 0.05);
    free(text);
    return b;
}

/* The program; NULL: the test is skipped. */
static const char *program_for_long(void)
{
    const char *strait = getenv("STRAIT_BIN");
    if (!is_long() || !strait) {
        strait_test_skip("STRAIT_LONG and STRAIT_BIN are not set: make vtest");
        return NULL;
    }
    return guest_boots(true) ? strait : NULL;
}

/* Predicted and emulated in guests: the first calibrates, the third emulates the repeat and shows
 * the rows of all. */
static void a_run(void)
{
    char job[] = "/tmp/strait-test-XXXXXX";
    const char *strait = program_for_long();
    if (!strait)
        return;
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    const char *const argv[] = {strait,       "run",   "wan-check",   "--on",   "both",
                                "--out",      job,     "--launcher",  "vuml",   "--set",
                                "/clients=8", "--set", "/codec=none", "--json", "--no-break-even",
                                "--repeats",  "2",     NULL};
    CU_ASSERT_EQUAL(run_both(argv).n_emulated, 2);
    folder_remove(job);
}

/* A model of 4 MB, 33.46 Mbit in frames, to one client and back, whose link has 40 Mbps for half a
 * second, 10 for the next and then 80: down it takes 0.5 + 0.5 + (33.46 - 20 - 5) / 80 = 1.106 s,
 * up 0.418 s, and beyond that the round trip and slow start. */
static void changing_rates(void)
{
    static const char experiment[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":{\"params\":\"1 M\",\"step\":\"1 ms\"},"
        "\"clients\":1,\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1},"
        "\"codec\":\"none\",\"network\":{\"overhead\":\"0 B\",\"client\":{\"rtt\":\"20 "
        "ms\",\"rate\":["
        "{\"at\":\"0 s\",\"rate\":\"40 Mbps\"},{\"at\":\"0.5 s\",\"rate\":\"10 Mbps\"},"
        "{\"at\":\"1 s\",\"rate\":\"80 Mbps\"}]},\"server\":{\"rate\":\"1 Gbps\"}}}";
    char job[] = "/tmp/strait-test-XXXXXX", file[64], out[64];
    const char *strait = program_for_long();
    if (!strait)
        return;
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    snprintf(file, sizeof(file), "%s/e.json", job);
    snprintf(out, sizeof(out), "%s/out", job);
    FILE *f = fopen(file, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(experiment, f);
    CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
    static const char *const realisations[] = {"relay", "kernel"};
    for (size_t i = 0; i < 2; i++) {
        const char *const argv[] = {
            strait,       "run",  file,     "--on",    "both",          "--out",         out,
            "--launcher", "vuml", "--json", "--fresh", "--realisation", realisations[i], NULL};
        const struct both b = run_both(argv);
        CU_ASSERT_AT_LEAST(b.emulated_s, 1.106 + 0.418);
        CU_ASSERT_AT_MOST(b.emulated_s, 1.106 + 0.418 + 0.25);
    }
    folder_remove(job);
}

/* 4 MB are 2763 frames of 1514 bytes, 33.47 Mbit. 40 Mbps carry 16 in 0.4 s, 10 Mbps 4 in the next
 * 0.4 s, 80 Mbps the rest in 0.168 s: 0.968 s and a round trip of 2 ms. 40 and 80 Mbps in turn, 50
 * ms each, carry 6 Mbit in 0.1 s: 30 in 0.5 s, 2 in 50 ms, and the rest at 80 Mbps in 18 ms: 0.568
 * s. A window that grows from 14480 B fills 80 Mbps and 2 ms, 20 kB, at once. */
static void kernel_rates(void)
{
    static const double once_s[] = {0, 0.4, 0.8}, once_bps[] = {40e6, 10e6, 80e6},
                        turn_s[] = {0, 0.05}, turn_bps[] = {40e6, 80e6},
                        wanted_s[] = {0.968, 0.568};
    if (!strait_emu_in_virtual_time()) {
        run_inside("kernel changes rates", "emu/guest/virtual", 0);
        return;
    }
    for (int turn = 0; turn < 2; turn++) {
        struct world w;
        upload_world(&w, 1, 0.002, false);
        w.run.realisation = "kernel";
        w.network->schedules = turn ? strait_schedule_new(2, turn_s, turn_bps, 0.1)
                                    : strait_schedule_new(3, once_s, once_bps, INFINITY);
        CU_ASSERT_PTR_NOT_NULL_FATAL(w.network->schedules);
        w.network->out[1].schedule = w.network->schedules;
        w.network->out[1].rate_bits_per_s = 80e6;
        const double found_s = run_valid_s(&w);
        fprintf(stderr, "4 MB at changing rates: %.4f s, by arithmetic %.4f\n", found_s,
                wanted_s[turn]);
        CU_ASSERT_AT_LEAST(found_s, 0.99 * wanted_s[turn]);
        CU_ASSERT_AT_MOST(found_s, 1.02 * wanted_s[turn] + 0.002);
        world_release(&w);
    }
}

/* Four strategies in two sites: links that only the relay makes, which nobody asks for. */
static void sites(void)
{
    char job[] = "/tmp/strait-test-XXXXXX", *text = calloc(1, TEXT_BYTES);
    const char *strait = getenv("STRAIT_BIN");
    struct strait_error err = {0};
    int n_rows = 0;
    if (!is_long() || !strait) {
        strait_test_skip("STRAIT_LONG and STRAIT_BIN are not set: make vtest");
        free(text);
        return;
    }
    if (!guest_boots(true)) {
        free(text);
        return;
    }
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    const char *const argv[] = {
        strait,        "run",    "two-sites",       "--on",       "emu",   "--out",      job,
        "--launcher",  "vuml",   "--set",           "/clients=4", "--set", "/model=cnn", "--set",
        "/codec=none", "--json", "--no-break-even", NULL};
    CU_ASSERT_EQUAL(strait_process_run(text, TEXT_BYTES, argv, NULL, LIMIT_S, &err), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL), *report = json_object_get(row, "report");
        const char *by = json_string_value(json_object_get(report, "realisation"));
        n_rows += by != NULL;
        CU_ASSERT(!by || (strcmp(by, "relay") == 0 && json_is_true(json_object_get(row, "valid"))));
        json_decref(row);
    }
    CU_ASSERT_EQUAL(n_rows, 4);
    folder_remove(job);
    free(text);
}

/* Round trips of 50 and 73 ms; with STRAIT_LONG rates, loss, jitter, full queues, 1100 namespaces.
 */
static void links(void)
{
    run_inside(is_long() ? "" : "stock ping", "emu/links/kernel_net", 0);
}

static const struct strait_test tests[] = {
    {"uploads of 1, 4, 16 and 64 clients take what TCP and the link take", uploads},
    {"work of 200 ms on 16 clients and their uploads do not disturb each other", burners},
    {"reading the clock costs no time there", clock_reads},
    {"work on messages with lost packets begins when they are complete", gaps},
    {"a rank that the kernel killed says that memory ran out", no_memory},
    {"the kernel's links hold there", links},
    {"prediction and emulation of a run agree there", a_run},
    {"rates that change do so there", changing_rates},
    {"the kernel changes rates at their times", kernel_rates},
    {"sites get the relay's links there", sites},
};
STRAIT_SUITE_WITH("emu/guest/virtual", tests, .slow_s = 74, .release = true);
