/* Programs that nobody here wrote, in a network: ping, iperf3, Open MPI. */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/process.h"
#include "tests/kit/data.h"
#include "tests/kit/judged.h"
#include "tests/kit/program.h"

/* The network for a test: false, with the test skipped, where there can be none. */
static bool up(struct program *p, const char *network, int n_clients)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"title\": \"net\", \"model\": \"cnn\","
             " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 1},"
             " \"codec\": \"none\", \"network\": %s, \"clients\": %d}\n",
             network, n_clients);
    program_set_up(p);
    program_write(p, "net.json", text);
    struct said s = PROGRAM_CALL(p, "net", "up", "net.json");
    if (s.status == 3)
        strait_test_skip(s.err);
    else
        CU_ASSERT_EQUAL(s.status, 0);
    const bool is_up = s.status == 0;
    said_release(&s);
    return is_up;
}

static void down(struct program *p)
{
    struct said s = PROGRAM_CALL(p, "net", "down");
    said_release(&s);
    program_tear_down(p);
}

static bool is_installed(const struct program *p, const char *name)
{
    struct said s = PROGRAM_CALL(p, "net", "exec", "--", name, "--version");
    const bool there = s.status != 127;
    said_release(&s);
    return there;
}

static const char odd[] = "{\"client\": {\"rate\": \"37 Mbps\", \"rtt\": \"73 ms\"},"
                          " \"server\": {\"rate\": \"10 Gbps\"}}";

/* 98 bytes and 24 of overhead take 0.026 ms at 37 Mbps, there and back again 0.053 ms with the
 * server's port: 73.05 ms. Only what comes later than that is the machine's; ping's clock may be
 * slewed against the relay's. */
static void round_trip(void)
{
    struct program p;
    double min_ms = 0;
    bool is_there = up(&p, odd, 1);
    if (is_there && !is_installed(&p, "ping")) {
        strait_test_skip("ping is not installed");
        is_there = false;
    }
    if (is_there) {
        struct said s = PROGRAM_CALL(&p, "net", "exec", "--rank", "client1", "--", "ping", "-n",
                                     "-q", "-c", "11", "-i", "0.1", "server");
        const char *at = strstr(s.out, "min/avg/max/mdev = ");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        sscanf(at, "min/avg/max/mdev = %lf", &min_ms);
        CU_ASSERT_AT_LEAST(min_ms, 0.995 * 73.05);
        if (time_is_judged())
            CU_ASSERT_DOUBLE_EQUAL(min_ms, 73.05, 0.3);
        said_release(&s);
    }
    down(&p);
}

/* By iperf3's own clocks: from the sender's start what the receiver has got; `more` is an option or
 * NULL. At the same time by ours, which began before iperf3 and ended after it. */
static double goodput_mbit_per_s(const struct program *p, const char *more, double *ours)
{
    static const char *const server[] = {"net",    "exec", "--rank", "server", "--",
                                         "iperf3", "-s",   "-1",     NULL};
    const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};
    const pid_t pid = program_start(p, "server", server);
    double mbit_per_s = 0;
    for (int i = 0; i < 600 && mbit_per_s == 0; i++) { /* until the server listens */
        nanosleep(&moment, NULL);
        const struct strait_instant begin = strait_instant_now();
        struct said s = PROGRAM_CALL(p, "net", "exec", "--rank", "client1", "--", "iperf3", "-J",
                                     "-c", "server", "-t", time_is_judged() ? "3" : "1", more);
        const double took_s = strait_instant_now().wall_s - begin.wall_s;
        json_t *all = json_loads(s.out, 0, NULL);
        json_t *end = json_object_get(json_object_get(all, "end"), "sum_received");
        mbit_per_s = json_number_value(json_object_get(end, "bits_per_second")) / 1e6;
        *ours = 8e-6 * json_number_value(json_object_get(end, "bytes")) / took_s;
        json_decref(all);
        said_release(&s);
    }
    if (mbit_per_s == 0)
        kill(pid, SIGTERM);
    CU_ASSERT_EQUAL(program_wait(pid), 0);
    return mbit_per_s;
}

/* Never more than the link carries; in make judged not less either, but for 3 seconds' slow start:
 * 2 %. */
static void check_goodput(const char *network, const char *more, double expected)
{
    struct program p;
    bool is_there = up(&p, network, 1);
    if (is_there && !is_installed(&p, "iperf3")) {
        strait_test_skip("iperf3 is not installed");
        is_there = false;
    }
    if (is_there) {
        double ours = 0;
        const double found = goodput_mbit_per_s(&p, more, &ours);
        fprintf(stderr, "%g Mbit/s, by our clock %g, expected %g\n", found, ours, expected);
        CU_ASSERT(found > 0 && ours > 0);
        CU_ASSERT_AT_MOST(ours, expected);
        if (time_is_judged())
            CU_ASSERT_DOUBLE_EQUAL(found, expected, 0.02 * expected);
    }
    down(&p);
}

/* A segment of 1448 bytes is 1514 + 24 bytes on the wire: 1000 * 1448 / 1538 = 941.5. */
static void gigabit(void)
{
    check_goodput("{\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"10 ms\"},"
                  " \"server\": {\"rate\": \"1 Gbps\"}}",
                  NULL, 1000 * 1448.0 / 1538);
}

/* 37 * 1448 / 1538 = 34.83; downwards 9 * 1448 / 1538 = 8.47. */
static void odd_links(void)
{
    check_goodput(odd, NULL, 37 * 1448.0 / 1538);
    check_goodput("{\"client\": {\"rate\": \"37 Mbps\", \"rtt\": \"20 ms\","
                  "              \"in\": {\"rate\": \"9 Mbps\"}},"
                  " \"server\": {\"rate\": \"10 Gbps\"}}",
                  "-R", 9 * 1448.0 / 1538);
}

/* While iperf3 fills a link of 100 Mbps, top shows the IP packets that arrive: between 94.2
 * (payload alone) and 97.5 (1500 of 1538 bytes), as a train's headers count once. What a sender
 * hands to its own queue comes in bursts. */
static void top(void)
{
    static const char *const server[] = {"net",    "exec", "--rank", "server", "--",
                                         "iperf3", "-s",   "-1",     NULL};
    static const char *const client[] = {
        "net", "exec", "--rank", "client1",
        "--",  "sh",   "-c",     "until iperf3 -c server -t 6; do sleep 0.1; done",
        NULL};
    const struct timespec moment = {.tv_sec = 1};
    struct program p;
    bool is_there = up(&p,
                       "{\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"2 ms\"},"
                       " \"server\": {\"rate\": \"1 Gbps\"}}",
                       1);
    if (is_there && !is_installed(&p, "iperf3")) {
        strait_test_skip("iperf3 is not installed");
        is_there = false;
    }
    if (is_there) {
        double sends = 0, receives = 0;
        const pid_t pid = program_start(&p, "server", server);
        const pid_t other = program_start(&p, "client", client);
        nanosleep(&moment, NULL);
        struct said s = PROGRAM_CALL(&p, "net", "top", "-n", "2", "--interval", "1");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(program_n_lines(s.out), 5); /* what the columns are; two ranks twice */
        const char *second = strstr(s.out, "\n2.");
        CU_ASSERT_PTR_NOT_NULL_FATAL(second);
        CU_ASSERT_EQUAL(sscanf(second, " %*f server %*f %lf %*f client1 %lf", &receives, &sends),
                        2);
        fputs(s.out, stderr);
        if (time_is_judged()) { /* and 20 ms of slack in a second that the machine begins and ends
                                 */
            CU_ASSERT(receives > 94.2 * 0.98 && receives < 97.5 * 1.02);
            CU_ASSERT(sends > 50);
        }
        said_release(&s);
        s = PROGRAM_CALL(&p, "net", "top", "-n", "1", "--json"); /* the server comes first */
        json_t *line = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
        receives = 1e-6 * json_number_value(json_object_get(line, "in_bits_per_s"));
        CU_ASSERT(receives > 0);
        if (time_is_judged())
            CU_ASSERT(receives > 94.2 * 0.98 && receives < 97.5 * 1.02);
        json_decref(line);
        said_release(&s);
        CU_ASSERT_EQUAL(program_wait(other), 0);
        CU_ASSERT_EQUAL(program_wait(pid), 0);
    }
    down(&p);
}

/* The token gains 0 + 1 + 2 + 3 in each of 21 laps: 126 back at rank 0. A lap crosses server to
 * client1 (10 ms), two hops between clients (20 ms each) and client3 to server: 60 ms. */
static void mpi_ring(void)
{
    const char *source = DATA("tests/foreign/ring.c");
    struct program p;
    struct strait_error err = {0};
    char agent[4200], ring[128];
    if (!up(&p,
            "{\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"20 ms\"},"
            " \"server\": {\"rate\": \"1 Gbps\"}}",
            3)) {
        program_tear_down(&p);
        return;
    }
    snprintf(ring, sizeof(ring), "%s/ring", p.folder);
    snprintf(agent, sizeof(agent), "%s net rsh", p.path);
    const char *const compile[] = {"mpicc", "-O1", source, "-o", ring, NULL};
    if (!is_installed(&p, "mpirun") || !is_installed(&p, "mpicc")) {
        strait_test_skip("mpirun or mpicc is not installed (openmpi-bin, libopenmpi-dev)");
    } else {
        CU_ASSERT_EQUAL_FATAL(strait_process_run(NULL, 0, compile, NULL, 60, &err), 0);
        struct said s = PROGRAM_CALL(&p, "net", "exec", "--", "env", "OMPI_ALLOW_RUN_AS_ROOT=1",
                                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun", "--host",
                                     "server,client1,client2,client3", "--mca", "plm_rsh_agent",
                                     agent, "--mca", "mpi_yield_when_idle", "1", ring);
        double lap_s = 0;
        const char *const of_0 = strstr(s.out, "rank 0 on server: token 126, lap ");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "rank 3 on client3: token 126"));
        CU_ASSERT_PTR_NOT_NULL_FATAL(of_0);
        CU_ASSERT_EQUAL(sscanf(of_0, "rank 0 on server: token 126, lap %lf", &lap_s), 1);
        CU_ASSERT(lap_s > 0.060); /* how much more is the processors' matter */
        said_release(&s);
    }
    down(&p);
}

static const struct strait_test tests[] = {
    {"ping sees no less than the round trip of 73 ms", round_trip},
    {"iperf3 sees at most 941 Mbit/s on a gigabit link", gigabit},
    {"iperf3 sees at most 37 Mbps over 73 ms, and 9 Mbps downwards", odd_links},
    {"top shows what a link carries", top},
    {"Open MPI's mpirun starts a ring through the rsh shim", mpi_ring},
};
STRAIT_SUITE_WITH("cli/net/net_foreign", tests, .slow_s = 16, .release = true);
