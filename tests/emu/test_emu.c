#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "emu/judge/net_cpu.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/judged.h"
#include "tests/kit/suite.h"

static bool is_possible(const struct world *w)
{
    struct strait_error err = {.code = STRAIT_OK};
    if (strait_emu.check(&w->run, &err) == 0)
        return true;
    CU_ASSERT(err.code == STRAIT_ERR_HOST);
    strait_test_skip(err.text);
    return false;
}

static int run_world(struct world *w, struct strait_error *err)
{
    *err = (struct strait_error){.code = STRAIT_OK};
    const int rc = strait_emu.run(&w->run, err);
    if (rc != 0)
        printf("    %s: %s\n", err->where, err->text);
    return rc;
}

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return (src == 0 || dst == 0) && channel < 2;
}

static double report_number(const struct world *w, const char *name)
{
    return json_number_value(json_object_get(w->facts.report, name));
}

static void send_sized(struct strait_rank *r, int dst, size_t n_bytes)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        abort();
    p->payload_bytes = n_bytes;
    r->backend->ops->send(r, dst, 0, 0, p, false);
}

/* All others send 400 kB to rank 0, which notes when the last one is there. */
static void upload(struct strait_rank *r)
{
    if (r->me > 0) {
        send_sized(r, 0, 400000);
        return;
    }
    for (int i = 1; i < r->run->n_ranks; i++) {
        struct strait_message m;
        r->backend->ops->recv(r, &m, STRAIT_ANY, 0, INFINITY);
        strait_packet_drop(m.packet);
        board_of(r)->numbers[0][0] = m.arrived_s;
    }
}

/* What was counted at both ends of three connections; and of the times their order: rank 0 returned
 * when all was there, and the run, in real time, took no longer than the whole. */
static void expect_upload_report(const struct world *w, double found_s)
{
    const double sent_bytes = 3 * 400096, run_s = report_number(w, "run_s");
    CU_ASSERT_AT_LEAST(run_s, found_s);
    CU_ASSERT_AT_LEAST(report_number(w, "wall_s"), 2 * run_s - 1e-3);
    CU_ASSERT_EQUAL(report_number(w, "n_measured_jobs"), 0);
    CU_ASSERT_EQUAL(report_number(w, "job_cpu_s"), 0);
    const double net_cpu_s = report_number(w, "net_cpu_s");
    CU_ASSERT(net_cpu_s > 0);
    CU_ASSERT_DOUBLE_EQUAL(report_number(w, "net_cpu_s_per_gbit"), net_cpu_s / (8e-9 * sent_bytes),
                           1e-9);
    /* all ports are alike: one probe of 40 ms, from rank 0 to the first other */
    const json_t *probes = json_object_get(w->facts.report, "probes"),
                 *first = json_array_get(probes, 0);
    CU_ASSERT_EQUAL(json_array_size(probes), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "from")), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "to")), 1);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(first, "expected_s")), 0.04, 1e-3);
    const json_t *interfaces = json_object_get(w->facts.report, "interfaces");
    CU_ASSERT_EQUAL(json_array_size(interfaces), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *one = json_array_get(interfaces, i);
        const double sent = i == 0 ? 0 : 400096;
        CU_ASSERT_EQUAL(json_number_value(json_object_get(one, "sent_bytes")), sent);
        CU_ASSERT_EQUAL(json_number_value(json_object_get(one, "received_bytes")),
                        i == 0 ? sent_bytes : 0);
        CU_ASSERT_AT_LEAST(json_number_value(json_object_get(one, "tx_bytes")), sent);
        CU_ASSERT(json_number_value(json_object_get(one, "rx_bytes")) > 0); /* acknowledgements */
    }
}

static void an_upload_takes_what_tcp_and_the_link_take(void)
{
    struct world w;
    struct strait_error err;
    world_init(&w, 4, 50e6, 0.04);
    w.run.rank_main = upload;
    w.run.uses_stream = is_star;
    w.run.dilation = 2;
    if (is_possible(&w)) {
        CU_ASSERT(run_world(&w, &err) == 0);
        /* C = 50e6 / 8 * 1448 / 1514 = 5.977e6 B/s. Three windows of 14480 B an RTT are less than
         * C RTT = 239 kB for ceil(log2(239/43.4)) = 3 round trips, then the link is full:
         * 4 RTT + (3 * 400096 - 3 * 14480 * 7) / C - RTT / 2 = 0.2899 s. */
        const double expected_s = 0.2899;
        const double found_s = w.board->numbers[0][0];
        CU_ASSERT_AT_LEAST(found_s, 0.95 * expected_s - 0.005);
        if (time_is_judged() && !world_is_invalid(&w))
            CU_ASSERT_AT_MOST(found_s, 1.05 * expected_s + 0.005);
        printf("    expected %.4f s, found %.4f s\n", expected_s, found_s);
        CU_ASSERT(report_number(&w, "dilation") == 2);
        CU_ASSERT(report_number(&w, "sent_bytes") == 3 * 400096);
        const json_t *server = json_array_get(json_object_get(w.facts.report, "interfaces"), 0);
        CU_ASSERT(json_number_value(json_object_get(server, "rx_bytes")) > 3 * 400096);
        CU_ASSERT(json_object_get(w.facts.constants, "congestion") != NULL);
        expect_upload_report(&w, found_s);
    }
    world_release(&w);
}

static void without_the_shaper_a_run_is_invalid(void)
{
    static const char *const controls[] = {"unshaped", "loopback"};
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct strait_error err;
        world_init(&w, 3, 50e6, 0.04);
        w.run.rank_main = upload;
        w.run.uses_stream = is_star;
        w.run.control = controls[i];
        if (is_possible(&w)) {
            CU_ASSERT(run_world(&w, &err) == 0);
            char all[4096] = "";
            for (size_t j = 0; j < json_array_size(w.facts.invalid); j++) {
                strncat(all, json_string_value(json_array_get(w.facts.invalid, j)), 500);
                strcat(all, "\n");
            }
            CU_ASSERT(strstr(all, controls[i]) != NULL);
            CU_ASSERT(strstr(all, "messages were faster than their links") != NULL);
            CU_ASSERT(report_number(&w, "net_cpu_s") > 0); /* the ranks' own: there is no relay */
            CU_ASSERT(i == 1 || strstr(all, "ping from rank 0 to 1") != NULL);
        }
        world_release(&w);
    }
}

static volatile uint64_t sink;

static void burn(void *arg)
{
    uint64_t x = *(const uint64_t *)arg;
    for (int i = 0; i < 4000000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

static void measured_job(struct strait_rank *r)
{
    uint64_t seed = 7;
    const struct strait_job job = {
        .resource = STRAIT_CPU, .n_slots = 1, .cost_s = NAN, .fn = burn, .arg = &seed};
    struct strait_times t[3];
    struct strait_op *ops[3];
    for (int i = 0; i < 3; i++) /* two slots: the third waits for the first */
        ops[i] = r->backend->ops->start(r, &job);
    for (int i = 0; i < 3; i++)
        r->backend->ops->wait(r, ops[i], &t[i]);
    double *n = board_of(r)->numbers[r->me];
    for (int i = 0; i < 3; i++)
        n[i] = t[i].ended_s - t[i].started_s;
    /* the slot that really came free first is not always the one whose job took less CPU time */
    n[3] = fmin(fabs(t[2].started_s - t[0].ended_s), fabs(t[2].started_s - t[1].ended_s));
    n[4] = t[0].started_s;
}

static void measured_work_of_all_ranks_runs_side_by_side_in_virtual_time(void)
{
    struct world w;
    struct strait_error err;
    world_init(&w, 3, 1e9, 0.01);
    w.run.rank_main = measured_job;
    w.run.uses_stream = is_star;
    w.run.measured_cost = true;
    w.run.control = "loopback";
    CU_ASSERT(run_world(&w, &err) == 0);
    /* Three ranks, each two at a time, on the spare processors: k is large enough for the ranks;
     * the two slots of one rank may make its jobs late, which is then slip, not a wrong time. */
    const double k = report_number(&w, "dilation");
    CU_ASSERT(k == 4 || sysconf(_SC_NPROCESSORS_ONLN) > 2);
    CU_ASSERT(report_number(&w, "n_measured_jobs") == 9);
    const double cpu_s = report_number(&w, "job_cpu_s") / 9;
    CU_ASSERT(cpu_s > 0);
    for (int i = 0; i < 3; i++) {
        const double *n = w.board->numbers[i];
        for (int j = 0; j < 3; j++)
            CU_ASSERT(n[j] > 0);
        CU_ASSERT(n[3] < 1e-9); /* begins when a slot is free, to the nanosecond */
        CU_ASSERT(n[4] == 0);   /* however late its thread was */
    }
    world_release(&w);
}

static void wait_for_nobody(struct strait_rank *r)
{
    struct strait_message m;
    if (r->me == 2)
        r->backend->ops->recv(r, &m, 1, 1, INFINITY);
}

static void wait_in_a_lane(struct strait_rank *lane, void *arg)
{
    (void)arg;
    wait_for_nobody(lane);
}

static void join_who_waits(struct strait_rank *r)
{
    if (r->me == 2)
        r->backend->ops->join(r, r->backend->ops->spawn(r, wait_in_a_lane, NULL));
}

/* Trains of 0.25 ms are one segment at 40 Mbps and 20 at 1 Gbps: about as many times the packets
 * for a gigabit, and a part of what each costs. */
static void what_the_network_costs_follows_its_packets(void)
{
    double cost_s[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct strait_error err = {.code = STRAIT_OK};
        world_init(&w, 3, i == 0 ? 40e6 : 1e9, 0.05);
        w.run.real_payload = true;
        if (is_possible(&w)) {
            CU_ASSERT(strait_emu_net_cpu_measure(&cost_s[i], &w.run, &err) == 0);
            printf("    %.3f s of processor time a gigabit\n", cost_s[i]);
        }
        CU_ASSERT(json_object_size(w.facts.report) == 0 && w.run.control == NULL);
        world_release(&w);
    }
    if (time_is_judged())
        CU_ASSERT(cost_s[1] == 0 || cost_s[0] > 2 * cost_s[1]);
}

/* Of a rank, or of a lane and the other that joins it. */
static void a_stall_is_an_error_soon(void)
{
    static void (*const mains[])(struct strait_rank * r) = {wait_for_nobody, join_who_waits};
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct strait_error err;
        world_init(&w, 3, 1e8, 0.01);
        w.run.rank_main = mains[i];
        w.run.control = "loopback";
        CU_ASSERT(run_world(&w, &err) ==
                  -1); /* and not at the deadline of a minute: another text */
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_STRING_EQUAL(err.text,
                               "rank 2 waits for ever for a message from rank 1 on channel 1");
        world_release(&w);
    }
}

static void sleep_long(struct strait_rank *r)
{
    struct strait_message m;
    atomic_store(&board_of(r)->pids[r->me], (int)getpid());
    r->backend->ops->recv(r, &m, STRAIT_ANY, 0, 1000);
}

static void a_run_beyond_its_deadline_is_an_error(void)
{
    struct world w;
    struct strait_error err;
    world_init(&w, 2, 1e8, 0.01);
    w.run.rank_main = sleep_long;
    w.run.control = "loopback";
    w.run.deadline_s = 0.5;
    CU_ASSERT(run_world(&w, &err) == -1);
    CU_ASSERT(strstr(err.text, "within its deadline") != NULL);
    world_release(&w);
}

static void what_cannot_be_is_refused(void)
{
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    world_init(&w, 2, 1e8, 0.05);
    w.run.control = "loopback";
    w.run.dilation = 100; /* 5 s of real time for a round trip */
    CU_ASSERT(strait_emu.check(&w.run, &err) == -1);
    CU_ASSERT(err.code == STRAIT_ERR_INPUT && strstr(err.text, "round trip") != NULL);
    w.run.dilation = 1;
    w.run.real_payload = true;
    w.run.memory_bytes = 1e15;
    err.code = STRAIT_OK;
    CU_ASSERT(strait_emu.check(&w.run, &err) == -1);
    CU_ASSERT(err.code == STRAIT_ERR_HOST && strstr(err.text, "would hold 1e+06 GB") != NULL);
    w.run.real_payload = false;
    w.network->tcp.initial_window_bytes = INFINITY;
    err.code = STRAIT_OK;
    CU_ASSERT(strait_emu.check(&w.run, &err) == -1);
    CU_ASSERT(err.code == STRAIT_ERR_INPUT && strstr(err.text, "initial window") != NULL);
    w.network->tcp.initial_window_bytes = 14480;
    w.run.control = "no-such-control";
    err.code = STRAIT_OK;
    CU_ASSERT(strait_emu.check(&w.run, &err) == -1);
    CU_ASSERT(err.code == STRAIT_ERR_INPUT && strstr(err.text, "no-such-control") != NULL);
    world_release(&w);
}

static void cubic_with_hystart_is_refused_under_dilation(void)
{
    FILE *f = fopen("/sys/module/tcp_cubic/parameters/hystart", "r");
    const int on = f ? fgetc(f) : EOF;
    if (f)
        fclose(f);
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    world_init(&w, 2, 1e8, 0.01);
    w.run.control = "loopback";
    w.network->tcp.congestion = STRAIT_CUBIC;
    w.run.dilation = 1;
    CU_ASSERT(strait_emu.check(&w.run, &err) == 0);
    w.run.dilation = 2;
    if (on == '0') {
        CU_ASSERT(strait_emu.check(&w.run, &err) == 0);
    } else {
        CU_ASSERT(strait_emu.check(&w.run, &err) == -1);
        CU_ASSERT(strstr(err.text, "reno or bbr at dilation 2, found cubic") != NULL);
    }
    world_release(&w);
}

/* How many of these are still there after a minute. */
static int wait_until_gone(const int *pids, int n)
{
    int n_left = n;
    for (int tries = 0; tries < 6000 && n_left > 0; tries++) {
        n_left = 0;
        for (int i = 0; i < n; i++) {
            char name[64];
            n_left += parent_of(pids[i], name, sizeof(name)) >= 0;
        }
        if (n_left > 0)
            usleep(10000);
    }
    return n_left;
}

struct victim {
    const char *process; /* name as the kernel knows it */
    const char *expected;
};

/* Run in a child of the test; its exit status says whether the error is the expected one. */
static int run_and_compare(struct world *w, const char *expected)
{
    struct strait_error err;
    const int rc = run_world(w, &err);
    fflush(stdout);
    return rc == -1 && strstr(err.text, expected) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool wait_for_ranks(const struct world *w)
{
    for (int i = 0; i < 2000; i++) {
        int n = 0;
        for (int j = 0; j < w->run.n_ranks; j++)
            n += atomic_load(&w->board->pids[j]) > 0;
        if (n == w->run.n_ranks)
            return true;
        usleep(10000);
    }
    return false;
}

static void kill_and_compare(const struct victim *v, int signal_number)
{
    struct world w;
    world_init(&w, 3, 1e8, 0.01);
    w.run.rank_main = sleep_long;
    w.run.uses_stream = is_star;
    if (!is_possible(&w)) {
        world_release(&w);
        return;
    }
    const pid_t caller = fork();
    if (caller == 0)
        _exit(run_and_compare(&w, v->expected));
    CU_ASSERT_FATAL(caller > 0);
    CU_ASSERT(wait_for_ranks(&w));
    const int target = descendant_named(caller, v->process);
    CU_ASSERT_FATAL(target > 0);
    kill(target, signal_number);
    int status = 0;
    while (waitpid(caller, &status, 0) < 0 && errno == EINTR)
        ;
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    CU_ASSERT(descendants(getpid(), NULL) == 0);
    world_release(&w);
}

static void a_killed_rank_ends_the_run_with_one_error(void)
{
    static const struct victim v = {"strait-rank-1", "rank 1 was ended by signal 9 (Killed)"};
    kill_and_compare(&v, SIGKILL);
}

static void a_killed_supervisor_ends_the_run_with_one_error(void)
{
    static const struct victim v = {"strait-super",
                                    "the supervisor of the ranks was ended by signal 9"};
    kill_and_compare(&v, SIGKILL);
}

static void a_killed_relay_ends_the_run_with_one_error(void)
{
    static const struct victim v = {"strait-relay", "relay"};
    kill_and_compare(&v, SIGKILL);
}

static void a_killed_launcher_ends_the_run_with_one_error(void)
{
    static const struct victim v = {"strait-launch", "ended from outside"};
    kill_and_compare(&v, SIGKILL);
}

/* A killed or interrupted caller takes all with it. */
static void end_caller(int signal_number)
{
    struct world w;
    world_init(&w, 3, 1e8, 0.01);
    w.run.rank_main = sleep_long;
    w.run.uses_stream = is_star;
    if (!is_possible(&w)) {
        world_release(&w);
        return;
    }
    const pid_t caller = fork();
    if (caller == 0)
        _exit(run_and_compare(&w, "?"));
    CU_ASSERT_FATAL(caller > 0);
    CU_ASSERT(wait_for_ranks(&w));
    int pids[MAX_PROCESSES];
    const int n = descendants(caller, pids);
    CU_ASSERT(n >= 5); /* the caller,  launcher, supervisor, relay, three ranks */
    kill(caller, signal_number);
    int status = 0;
    while (waitpid(caller, &status, 0) < 0 && errno == EINTR)
        ;
    CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == signal_number);
    CU_ASSERT(wait_until_gone(pids, n) == 0);
    world_release(&w);
}

static void nothing_is_left_of_a_killed_caller(void)
{
    end_caller(SIGKILL);
}

static void an_interrupt_ends_everything_and_then_the_caller(void)
{
    end_caller(SIGINT);
    end_caller(SIGTERM);
}

static const struct strait_test tests[] = {
    {"an upload takes what TCP and the link take", an_upload_takes_what_tcp_and_the_link_take},
    {"without the shaper a run is invalid", without_the_shaper_a_run_is_invalid},
    {"measured work of all ranks runs side by side in virtual time",
     measured_work_of_all_ranks_runs_side_by_side_in_virtual_time},
    {"what the network costs follows its packets", what_the_network_costs_follows_its_packets},
    {"a stall is an error soon", a_stall_is_an_error_soon},
    {"a run beyond its deadline is an error", a_run_beyond_its_deadline_is_an_error},
    {"what cannot be is refused", what_cannot_be_is_refused},
    {"cubic with HyStart is refused under dilation", cubic_with_hystart_is_refused_under_dilation},
    {"a killed rank ends the run with one error", a_killed_rank_ends_the_run_with_one_error},
    {"a killed supervisor ends the run with one error",
     a_killed_supervisor_ends_the_run_with_one_error},
    {"a killed relay ends the run with one error", a_killed_relay_ends_the_run_with_one_error},
    {"a killed launcher ends the run with one error",
     a_killed_launcher_ends_the_run_with_one_error},
    {"nothing is left of a killed caller", nothing_is_left_of_a_killed_caller},
    {"an interrupt ends everything and then the caller",
     an_interrupt_ends_everything_and_then_the_caller},
};
STRAIT_SUITE_WITH("emu/emu", tests, .slow_s = 9);
