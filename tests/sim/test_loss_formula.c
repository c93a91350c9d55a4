/* TCP under losses, by arithmetic. */
#include <math.h>
#include "sim/loss_formula.h"
#include "tests/kit/suite.h"

/* 1 % lost, 100 ms: Reno's window is sqrt(1.5 / 0.01) = 12.2474 segments, a segment takes 0.1 /
 * 12.2474 = 8.1650 ms, and time-outs 0.3 s x 3 sqrt(0.00375) x 0.01 x 1.0032 = 0.5529 ms more:
 * 1448 B / 8.7179 ms. CUBIC at 0.01 %, 100 ms: 1.054 x 1000^0.75 = 187.43 segments, more than
 * Reno's 122.47; 0.53353 ms a segment and 0.3 x 3 sqrt(0.0000375) x 0.0001 = 0.00055 ms. */
static void lossy_speeds(void)
{
    struct strait_tcp tcp = {
        .congestion = STRAIT_RENO, .segment_bytes = 1448, .rto_min_s = 0.2, .n_connections = 1};
    CU_ASSERT_DOUBLE_EQUAL(strait_lossy_bytes_per_s(&tcp, 0.01, 0.1), 1448 / 8.7179e-3, 20);
    tcp.congestion = STRAIT_CUBIC;
    CU_ASSERT_DOUBLE_EQUAL(strait_lossy_bytes_per_s(&tcp, 1e-4, 0.1), 1448 / 0.53408e-3, 300);
    tcp.congestion = STRAIT_BBR;
    CU_ASSERT_TRUE(isinf(strait_lossy_bytes_per_s(&tcp, 0.01, 0.1)));
}

/* A server and two clients at 1 Gbps and 100 ms; client 2 loses 1 % each way. */
static struct strait_network *star(void)
{
    const struct strait_link link = {
        .rate_bits_per_s = 1e9, .delay_s = 0.05, .queue_bytes = INFINITY};
    const struct strait_link core = {.rate_bits_per_s = 1e9, .queue_bytes = INFINITY};
    const struct strait_tcp tcp = {.segment_bytes = 1448, .rto_min_s = 0.2, .n_connections = 1};
    struct strait_network *n = strait_network_star(3, core, core, link, link, 24, tcp);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    n->has_server = true;
    n->out[2].loss_ratio = n->in[2].loss_ratio = 0.01;
    return n;
}

/* The lossy client's port carries the formula's payload and the frames around it: 1448 B in 1538 B
 * (14 Ethernet, 40 IP and TCP, 12 time stamps, 24 on the wire). The others stay as they are. */
static void slow_ports(void)
{
    struct strait_network *n = star();
    const double each = strait_lossy_bytes_per_s(&n->tcp, 0.01, 0.1);
    strait_network_slow_by_losses(n);
    for (int r = 0; r < 2; r++) {
        CU_ASSERT_DOUBLE_EQUAL(n->out[r].rate_bits_per_s, 1e9, 1);
        CU_ASSERT_DOUBLE_EQUAL(n->in[r].rate_bits_per_s, 1e9, 1);
    }
    CU_ASSERT_DOUBLE_EQUAL(n->out[2].rate_bits_per_s, 8 * each * 1538 / 1448, 10);
    CU_ASSERT_DOUBLE_EQUAL(n->in[2].rate_bits_per_s, 8 * each * 1538 / 1448, 10);
    CU_ASSERT_FALSE(strait_network_loses(n));
    CU_ASSERT_FALSE(strait_network_by_packets(n));
    strait_network_free(n);
}

/* Two connections carry twice as much; a server that loses itself has one for each client. */
static void more_connections(void)
{
    struct strait_network *n = star();
    const double each = strait_lossy_bytes_per_s(&n->tcp, 0.01, 0.1);
    n->tcp.n_connections = 2;
    n->out[2].loss_ratio = n->in[2].loss_ratio = 0;
    n->out[0].loss_ratio = 0.01; /* what clients receive */
    strait_network_slow_by_losses(n);
    CU_ASSERT_DOUBLE_EQUAL(n->out[0].rate_bits_per_s, 2 * 2 * 8 * each * 1538 / 1448, 40);
    CU_ASSERT_DOUBLE_EQUAL(n->in[1].rate_bits_per_s, 2 * 8 * each * 1538 / 1448, 20);
    CU_ASSERT_DOUBLE_EQUAL(n->out[1].rate_bits_per_s, 1e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(n->in[0].rate_bits_per_s, 1e9, 1);
    strait_network_free(n);
}

static const struct strait_test tests[] = {
    {"a lossy connection is as fast as Padhye's formula and RFC 9438 say", lossy_speeds},
    {"the port of a client that loses is as slow as its connection, others are not", slow_ports},
    {"more connections and more clients carry more", more_connections},
};
STRAIT_SUITE("sim/loss_formula", tests);
