/* Replays against arithmetic: messages, computing units, dependencies and every collective. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

/* Payload bytes/s of a port of 100 Mbps with 24 bytes beyond a frame, and one way of 20 ms there
 * and back at each of its two ends. Every message has a frame of 96 bytes. */
static const double RATE = 100e6 / 8 * 1448 / 1538, DELAY_S = 0.02;
enum { FRAME = 96 };

static const struct strait_backend *const simulated[] = {&strait_fluid, &strait_sim};

static double message_s(double bytes)
{
    return (bytes + FRAME) / RATE + DELAY_S;
}

/* Run a trace, written to a file of its own, of n ranks. */
static struct strait_outcome run(const char *trace, int n, const char *strategy,
                                 const struct strait_backend *backend, bool real)
{
    char path[] = "/tmp/strait-replay-XXXXXX", text[1024];
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, trace, strlen(trace)) == (ssize_t)strlen(trace));
    close(fd);
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"trace\":\"%s\",\"clients\":%d,"
             "\"strategy\":{\"name\":\"replay\"%s},\"network\":{\"overhead\":\"24 B\","
             "\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
             "\"server\":{\"rate\":\"100 Mbps\"},\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             path, n, strategy);
    struct strait_outcome o =
        strait_outcome_of(text, json_object(), "default", backend,
                          (struct strait_trial_options){.real_payload = real, .every_round = true});
    unlink(path);
    return o;
}

static void expect_s(const char *trace, int n, const char *strategy, double expected_s)
{
    for (size_t i = 0; i < 2; i++) {
        struct strait_outcome o = run(trace, n, strategy, simulated[i], false);
        strait_test_context("%s on %s", trace, simulated[i]->name);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected_s, 1e-9);
        strait_outcome_free(&o);
    }
}

/* Around the ring of tests/data/ring.goal in LogGOPS' terms: o = 0, g = 0, L = 20 ms, G = 1 / RATE,
 * and calc of 1 and 2 ms. Ranks 1 and 2 tell rank 0 in a frame that they have ended, at once after
 * their message was posted: rank 1's shares its port with the message, rank 2's follows it there
 * and then, so each costs one frame. */
static void ring(void)
{
    static const char goal[] =
        "num_ranks 3\n"
        "rank 0 {\nl1: calc 1000000\nl2: send 1000000b to 1 tag 7\nl3: recv 1000000b from 2 tag 7\n"
        "l2 requires l1\n}\n"
        "rank 1 {\nl1: recv 1000000b from 0 tag 7\nl2: calc 2000000 cpu 1\n"
        "l3: send 1000000b to 2 tag 7\nl2 requires l1\nl3 requires l2\n}\n"
        "rank 2 {\nl1: recv 1000000b from 1 tag 7\nl2: send 1000000b to 0 tag 7\n"
        "l2 requires l1\n}\n";
    expect_s(goal, 3, "", 0.003 + 3 * message_s(1e6) + 2 * FRAME / RATE);
}

/* One rank: two streams of a CPU at once (3 and 5 ms), then what waits for both (1 ms); on one
 * stream one after the other; what may begin with another begins with it. */
static void units(void)
{
    expect_s("num_ranks 1\nrank 0 {\na: calc 3000000 cpu 0\nb: calc 5000000 cpu 1\n"
             "c: calc 1000000\nc requires a\nc requires b\n}\n",
             1, "", 0.006);
    expect_s("num_ranks 1\nrank 0 {\na: calc 3000000\nb: calc 5000000\n}\n", 1, "", 0.008);
    expect_s("num_ranks 1\nrank 0 {\na: calc 3000000 cpu 0\nb: calc 5000000 cpu 1\n"
             "b irequires a\n}\n",
             1, "", 0.005);
    expect_s("0 init\n0 sleep 0.5\n0 compute 1e6\n", 1, ",\"speed\":1e9", 0.501);
}

/* n rounds are n traces: rank 0 waits each time for rank 1's word, one empty message. */
static void rounds(void)
{
    expect_s("0 init\n1 init\n0 compute 2e6\n1 compute 5e6\n", 2, ",\"speed\":1e9",
             0.005 + message_s(0));
    expect_s("0 init\n1 init\n0 compute 2e6\n1 compute 5e6\n", 2, ",\"speed\":1e9,\"rounds\":3",
             0.015 + message_s(0));
}

/* Both ranks do it; rank 0 then hears from rank 1. b: 300 kB and more. */
static void expect_collective(const char *action, int n, double expected_s)
{
    char trace[2048] = "";
    for (int i = 0; i < n; i++)
        snprintf(trace + strlen(trace), sizeof(trace) - strlen(trace), "%d init\n%d %s\n", i, i,
                 action);
    strait_test_context("%s of %d", action, n);
    expect_s(trace, n, "", expected_s);
}

/* Where all ranks end at the same time t, rank 0 knows at t + a frame of each other rank through
 * its port. */
static double heard_s(double t, int n)
{
    return t + (n - 1) * FRAME / RATE + DELAY_S;
}

/* n = 4, 1.2 MB: of each collective its steps on equal ports, as replay_collectives.c says them. */
static void collectives(void)
{
    const double b = 1.2e6;
    expect_collective("allgather 1200000 1200000", 4, heard_s(3 * message_s(b), 4));
    /* shares of 0.3 MB to three others at once, through one port */
    expect_collective("alltoall 300000 300000", 4,
                      heard_s(3 * (b / 4 + FRAME) / RATE + DELAY_S, 4));
    expect_collective("barrier", 4, heard_s(2 * message_s(0), 4));
    /* from rank 1: all three shares leave its port together; rank 0 then waits for three frames */
    expect_collective("scatter 300000 300000 1", 4,
                      heard_s(3 * (b / 4 + FRAME) / RATE + DELAY_S, 4));
}

/* Real payload: what is sent is the same, message by message. */
static void same_when_real(void)
{
    static const char trace[] =
        "0 init\n1 init\n2 init\n0 allreduce 30000 0\n1 allreduce 30000 0\n2 allreduce 30000 0\n"
        "0 bcast 5000 1\n1 bcast 5000 1\n2 bcast 5000 1\n0 reduce 5000 0 2\n1 reduce 5000 0 2\n"
        "2 reduce 5000 0 2\n0 gather 10 10 1\n1 gather 10 10 1\n2 gather 10 10 1\n"
        "0 reducescatter 4 4 4 0\n1 reducescatter 4 4 4 0\n2 reducescatter 4 4 4 0\n"
        "0 sendRecv 9 1 9 2\n1 sendRecv 9 2 9 0\n2 sendRecv 9 0 9 1\n";
    struct strait_outcome sized = run(trace, 3, "", &strait_fluid, false),
                          real = run(trace, 3, "", &strait_fluid, true);
    CU_ASSERT_EQUAL(sized.payload_bytes, real.payload_bytes);
    CU_ASSERT_EQUAL(sized.n_messages, real.n_messages);
    /* ring: 2 x 2 x 30000; tree: 2 x 5000 each; gather 2 x 10; scatter of sums: 2 x 12; 3 x 9 */
    CU_ASSERT_EQUAL(sized.payload_bytes, 120000 + 10000 + 10000 + 20 + 24 + 27);
    CU_ASSERT_DOUBLE_EQUAL(sized.total_s, real.total_s, 1e-12);
    strait_outcome_free(&sized);
    strait_outcome_free(&real);
}

static void refused(void)
{
    static const struct {
        const char *strategy, *error;
        int clients;
    } cases[] = {
        {"{\"name\":\"replay\",\"speed\":1e9}",
         "#/clients: expected 3 clients, the ranks of the "
         "trace, found 4",
         4},
        {"{\"name\":\"replay\"}", "#/strategy/speed: expected operations a second", 3},
        {"{\"name\":\"bsp\"}", "#/trace: expected the strategy replay beside a trace, found bsp",
         3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_experiment *e;
        struct strait_error err = {0};
        char text[512], found[1024];
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"trace\":\"experiments/traces/"
                 "data-parallel.ti\",\"clients\":%d,\"strategy\":%s,\"network\":{\"client\":"
                 "{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 Gbps\"}}}",
                 cases[i].clients, cases[i].strategy);
        json_t *json = json_loads(text, 0, NULL);
        CU_ASSERT_EQUAL(strait_experiment_read(&e, "x.json", json, &err), -1);
        snprintf(found, sizeof(found), "%s: %s", err.where, err.text);
        CU_ASSERT_CONTAINS(found, cases[i].error);
        json_decref(json);
    }
}

static const struct strait_test tests[] = {
    {"a ring of messages takes what LogGOPS says it takes", ring},
    {"computing units, dependencies and the clock take their times", units},
    {"rounds follow one another", rounds},
    {"collectives take their steps", collectives},
    {"real payload is as many bytes in as many messages", same_when_real},
    {"other clients, no speed and another strategy are refused", refused},
};
STRAIT_SUITE("workloads/train/replay/replay", tests);
