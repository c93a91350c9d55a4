/* HyStart by hand: when the acknowledgements of one round end slow start (Linux tcp_cubic.c,
 * hystart_update), with a window of 20 segments and a path of 50 ms. */
#include <math.h>
#include "sim/packets/tcp_parts.h"
#include "tests/kit/suite.h"

static const double RTT_S = 0.05, BEGIN_S = 10;

static struct strait_connection connection(double cwnd)
{
    struct strait_connection c = {.congestion = STRAIT_CUBIC,
                                  .segment_bytes = 1448,
                                  .cwnd = cwnd,
                                  .ssthresh = INFINITY,
                                  .srtt_s = RTT_S,
                                  .una = 1,
                                  .nxt = 2};
    strait_cubic_reset(&c); /* the round ends with what is sent so far: segment 2 */
    c.hystart.is_on = true;
    c.una = 3;
    c.nxt = 1000;
    return c;
}

/* How many acknowledgements, each gap_s after the one before, it takes; 0: more than 300. */
static int n_until_found(struct strait_connection *c, double gap_s, double rtt_s)
{
    for (int i = 0; i < 300; i++) {
        strait_cubic_acked(c, rtt_s, BEGIN_S + i * gap_s);
        if (c->hystart.found) {
            CU_ASSERT_EQUAL(c->ssthresh, c->cwnd);
            return i + 1;
        }
        CU_ASSERT_EQUAL(c->ssthresh, INFINITY);
    }
    return 0;
}

/* Half of the round trip and of the millisecond for which super-packets hold acknowledgements back:
 * 25.5 ms. Acknowledgements each millisecond reach them with the 27th, 26 ms after the first; each
 * 1.9 ms with the 15th, at 26.6 ms; at more than 2 ms apart they are no train. A window of 20,000
 * paces 2 x 20,000 segments in 50 ms, 256 KiB of them in 226 us: 25.113 ms, so that of one each 0.1
 * ms the 253rd is enough. */
static void trains(void)
{
    struct strait_connection c = connection(20);
    CU_ASSERT_EQUAL(n_until_found(&c, 1e-3, RTT_S), 27);
    c = connection(20);
    CU_ASSERT_EQUAL(n_until_found(&c, 1.9e-3, RTT_S), 15);
    c = connection(20);
    CU_ASSERT_EQUAL(n_until_found(&c, 2.1e-3, RTT_S), 0);
    c = connection(20000);
    CU_ASSERT_EQUAL(n_until_found(&c, 1e-4, RTT_S), 253);
}

/* The least of nine round trips above the least of all by more than an eighth of it, 6.25 ms; of a
 * path of 10 ms by more than 4 ms, of one of 200 ms by more than 16 ms. */
static void delays(void)
{
    static const struct {
        double least_s, rtt_s;
        int n;
    } cases[] = {{RTT_S, 0.0564, 9}, {RTT_S, 0.0561, 0}, {0.010, 0.0141, 9},
                 {0.010, 0.0139, 0}, {0.200, 0.2161, 9}, {0.200, 0.2159, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_connection c = connection(20);
        c.hystart.least_s = cases[i].least_s;
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(n_until_found(&c, 3e-3, cases[i].rtt_s), cases[i].n);
    }
    strait_test_context(NULL);
}

/* Windows below 16 are left alone, and so is one that has left slow start. */
static void not_then(void)
{
    struct strait_connection c = connection(15);
    CU_ASSERT_EQUAL(n_until_found(&c, 1e-3, RTT_S), 0);
    c = connection(16);
    CU_ASSERT_EQUAL(n_until_found(&c, 1e-3, RTT_S), 27);
    c.cwnd = 30; /* grown since */
    strait_cubic_acked(&c, RTT_S, BEGIN_S + 1);
    CU_ASSERT_EQUAL(c.ssthresh, 16);
    c = connection(20);
    c.ssthresh = 20;
    for (int i = 0; i < 100; i++)
        strait_cubic_acked(&c, RTT_S, BEGIN_S + i * 1e-3);
    CU_ASSERT_EQUAL(c.hystart.found, false);
}

static const struct strait_test tests[] = {
    {"a train of acknowledgements as long as half a round trip ends slow start", trains},
    {"round trips that grow end slow start", delays},
    {"small windows and those beyond slow start are left alone", not_then},
};
STRAIT_SUITE("sim/packets/hystart", tests);
