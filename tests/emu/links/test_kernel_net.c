/* Links shaped by the kernel. Rates are tbf's and work on every kernel that has it; what needs
 * netem is skipped where that is missing, and runs in User-Mode Linux (test_uml). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "emu/host/dilation.h"
#include "tests/kit/judged.h"
#include "tests/kit/links/net_transfer.h"

static void kernel_world(struct world *w, int n_nodes, double rate_bits_per_s, double rtt_s)
{
    world_init(w, n_nodes, rate_bits_per_s, rtt_s);
    w->plan.realisation = STRAIT_EMU_KERNEL;
}

static void bulk_gets_the_rate(void)
{
    const struct {
        double rate_bits_per_s, overhead_bytes;
        size_t n_bytes;
    } cases[] = {{37e6, 0, 2000000}, {1e8, 24, 6000000}, {1e9, 0, 60000000}, {1e9, 24, 60000000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        kernel_world(&w, 2, cases[i].rate_bits_per_s, 0);
        w.plan.overhead_bytes = cases[i].overhead_bytes;
        if (!world_up(&w))
            return;
        CU_ASSERT_EQUAL(strait_emu_net_realisation(w.net), STRAIT_EMU_KERNEL);
        CU_ASSERT(goodput_is(w.net, 1, 0, cases[i].rate_bits_per_s, 1514 + cases[i].overhead_bytes,
                             cases[i].n_bytes));
        strait_emu_net_free(w.net);
    }
}

static void directions_differ(void)
{
    struct world w;
    kernel_world(&w, 3, 1e9, 0);
    w.out[1].rate_bits_per_s = 37e6;
    w.in[1].rate_bits_per_s = 211e6;
    w.out[2].rate_bits_per_s = INFINITY;
    w.in[2].rate_bits_per_s = 11e6;
    if (!world_up(&w))
        return;
    CU_ASSERT(goodput_is(w.net, 1, 0, 37e6, 1514, 1800000));
    CU_ASSERT(goodput_is(w.net, 0, 1, 211e6, 1514, 9000000));
    CU_ASSERT(goodput_is(w.net, 1, 2, 11e6, 1514, 600000));
    CU_ASSERT(goodput_is(w.net, 2, 0, 1e9, 1514, 60000000)); /* the server's port */
    strait_emu_net_free(w.net);
}

static void eight_into_one(void)
{
    struct world w;
    struct flow flows[8];
    kernel_world(&w, 9, 1e9, 0);
    if (!world_up(&w))
        return;
    for (int i = 0; i < 8; i++)
        flows[i] = flow_open(w.net, i + 1, 0);
    CU_ASSERT(eight_fill_one(w.net, flows));
    for (int i = 0; i < 8; i++)
        flow_close(flows[i]);
    strait_emu_net_free(w.net);
}

static void counters_see_the_bytes(void)
{
    enum { BYTES = 3000000 };
    struct world w;
    kernel_world(&w, 3, 1e9, 0);
    if (!world_up(&w))
        return;
    const struct flow f = flow_open(w.net, 2, 0);
    transfer(w.net, &f, 1, BYTES);
    flow_close(f);
    struct strait_emu_counters client, server;
    struct strait_emu_relay_report r;
    CU_ASSERT_TRUE(counters_settle(&client, 2, &server, 0, w.net));
    CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w.net, true, NULL), 0);
    CU_ASSERT(client.tx_bytes > BYTES);
    CU_ASSERT_EQUAL(client.tx_dropped + server.tx_dropped + server.rx_dropped, 0);
    CU_ASSERT_EQUAL(r.realisation, STRAIT_EMU_KERNEL);
    /* 3e6 / 1448 = 2072 segments, each with 66 bytes; SYN, ACK, FIN and a short end beside them */
    CU_ASSERT(r.out[2].n_segments >= 2072 && r.out[2].n_segments < 2100);
    CU_ASSERT(r.out[2].wire_bytes >= BYTES + 2072 * 66 &&
              r.out[2].wire_bytes < BYTES + 2100 * 66 + 200);
    CU_ASSERT_EQUAL(r.in[0].wire_bytes, r.out[2].wire_bytes);
    CU_ASSERT_EQUAL(r.out[1].wire_bytes, 0);
    CU_ASSERT_EQUAL(r.out[2].backlog_bytes, 0);
    CU_ASSERT_EQUAL(r.out[2].queue_peak_bytes, STRAIT_EMU_UNKNOWN);
    CU_ASSERT(isnan(r.cpu_s));
    CU_ASSERT_EQUAL(r.realtime, !isnan(r.late_p99_s)); /* its sentinel's, where one is allowed */
    strait_emu_relay_report_release(&r);
    CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w.net, false, NULL), 0);
    CU_ASSERT_EQUAL(r.out[2].wire_bytes + r.n_delivered, 0);
    strait_emu_relay_report_release(&r);
    strait_emu_net_free(w.net);
}

/* 400 datagrams of 142 bytes on the wire into a port whose queue has room for 50 of them: those
 * beside the burst of two large frames (21) are dropped, and every one is accounted for. At 20 kbps
 * one leaves each 57 ms: a machine that takes four seconds to send them sees 70 more pass. */
static void full_queue_drops(void)
{
    enum { N = 400, EACH = 142 };
    struct world w;
    kernel_world(&w, 2, 1e9, 0);
    w.in[0].rate_bits_per_s = 20e3;
    w.in[0].queue_bytes = 50 * EACH;
    if (!world_up(&w))
        return;
    const struct sockaddr_in a = address_of(0);
    const int tx = socket_inside(w.net, 1, SOCK_DGRAM), rx = socket_inside(w.net, 0, SOCK_DGRAM);
    CU_ASSERT_EQUAL_FATAL(bind(rx, (const struct sockaddr *)&a, sizeof(a)), 0);
    CU_ASSERT_EQUAL_FATAL(connect(tx, (const struct sockaddr *)&a, sizeof(a)), 0);
    const char bytes[100] = {0};
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL_FATAL(send(tx, bytes, sizeof(bytes), 0), (ssize_t)sizeof(bytes));
    sleep_ms(20); /* in virtual time they were sent at once: the kernel has them in hand yet */
    struct strait_emu_relay_report r;
    CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w.net, false, NULL), 0);
    CU_ASSERT_AT_MOST(r.in[0].backlog_bytes, 50 * EACH);
    CU_ASSERT_EQUAL(r.in[0].n_segments + r.in[0].n_queue_drops + r.in[0].backlog_bytes / EACH, N);
    CU_ASSERT_AT_LEAST(r.in[0].n_segments, 10);
    CU_ASSERT_AT_LEAST(r.in[0].n_queue_drops, 200);
    CU_ASSERT_AT_MOST(r.in[0].n_queue_drops, N - 50); /* all that the queue has room for */
    CU_ASSERT_EQUAL(r.in[0].wire_bytes, r.in[0].n_segments * EACH);
    CU_ASSERT_EQUAL(r.in[0].n_loss_drops + r.out[1].n_queue_drops, 0);
    strait_emu_relay_report_release(&r);
    close(rx);
    close(tx);
    strait_emu_net_free(w.net);
}

/* Every node's shapers are read back before up returns; here the last reaches the first. */
static void many_nodes(void)
{
    const int counts[] = {65, 256, 1100}; /* a bridge would end at 1024 ports */
    for (size_t c = 0; c < 3; c++) {
        const int n = counts[c];
        struct strait_link *links = calloc(2 * (size_t)n, sizeof(*links));
        struct world w = {
            .plan = {
                .n_nodes = n, .out = links, .in = links + n, .realisation = STRAIT_EMU_KERNEL}};
        for (int i = 0; i < 2 * n; i++)
            links[i].rate_bits_per_s = 1e8 + i;
        double rtt_s = 1, began_s = now_s();
        const bool up = world_up(&w);
        const double up_s = now_s() - began_s;
        fprintf(stderr, "%d nodes up in %.3f s", n, up_s);
        if (getenv("STRAIT_LONG") && !strait_emu_in_uml() && n <= 256) /* make judged */
            CU_ASSERT(up_s < 1);
        if (up) {
            CU_ASSERT_EQUAL(strait_emu_net_ping(&rtt_s, NULL, w.net, n - 1, 0, 2, NULL), 0);
            if (time_is_judged())
                CU_ASSERT_AT_MOST(rtt_s, 0.1); /* nobody has to ask for addresses */
            began_s = now_s();
            strait_emu_net_free(w.net);
            fprintf(stderr, ", ping %.3f ms, down in %.3f s", 1e3 * rtt_s, now_s() - began_s);
        }
        fprintf(stderr, "\n");
        free(links);
    }
}

/* --- what needs netem --------------------------------------------------------------------- */

static void netem_is_asked_for(void)
{
    struct world w;
    struct strait_error err = {0};
    kernel_world(&w, 2, 1e9, 0.050);
    if (geteuid() != 0 && strait_emu_launch_userns(&err) != 0) {
        strait_test_skip(err.text);
        return;
    }
    if (strait_emu_net_up(&w.net, &w.plan, &err) == 0) {
        strait_emu_net_free(w.net);
        strait_test_skip("this kernel has netem");
        return;
    }
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT(strstr(err.text, "sch_netem") != NULL);
    CU_ASSERT_PTR_NULL(w.net);
}

static void ping_sees_the_delay(void)
{
    const struct {
        double rtt_s, dilation;
    } cases[] = {{0.050, 1}, {0.073, 1}, {0.050, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        kernel_world(&w, 2, 1e9, cases[i].rtt_s);
        w.plan.dilation = cases[i].dilation;
        if (!world_up(&w))
            return;
        CU_ASSERT(rtt_is(w.net, 1, 0, cases[i].rtt_s)); /* the idle tbf takes no time */
        strait_emu_net_free(w.net);
    }
}

static void loss_is_binomial(void)
{
    enum { N = 5000 };
    for (int in = 0; in < 2; in++) {
        struct world w;
        kernel_world(&w, 2, 1e9, 0.002);
        (in ? w.in : w.out)[in ? 0 : 1].loss_ratio = 0.01;
        w.out[1].rate_bits_per_s = 5e6; /* paces the datagrams */
        if (!world_up(&w))
            return;
        const struct sockaddr_in a = address_of(0);
        const int rx = socket_inside(w.net, 0, SOCK_DGRAM),
                  tx = socket_inside(w.net, 1, SOCK_DGRAM);
        CU_ASSERT_EQUAL_FATAL(bind(rx, (const struct sockaddr *)&a, sizeof(a)), 0);
        CU_ASSERT_EQUAL_FATAL(connect(tx, (const struct sockaddr *)&a, sizeof(a)), 0);
        const char bytes[100] = {0};
        struct strait_emu_relay_report r = {0};
        struct strait_emu_counters c = {0};
        uint64_t lost = 0;
        for (int i = 0; i < N; i++)
            CU_ASSERT_EQUAL_FATAL(send(tx, bytes, sizeof(bytes), 0), (ssize_t)sizeof(bytes));
        for (int i = 0; i < 1200 && c.rx_packets + lost < N; i++) {
            sleep_ms(50);
            CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w.net, false, NULL), 0);
            CU_ASSERT_EQUAL_FATAL(strait_emu_net_counters(&c, w.net, 0, NULL), 0);
            lost = in ? r.in[0].n_loss_drops : r.out[1].n_loss_drops;
            CU_ASSERT_EQUAL(r.in[0].n_loss_drops + r.out[1].n_loss_drops, lost);
            strait_emu_relay_report_release(&r);
        }
        fprintf(stderr, "%d of %d lost, 50 expected\n", (int)lost, N);
        CU_ASSERT_EQUAL(c.rx_packets + lost, N);
        /* standard deviation sqrt(5000 x 0.01 x 0.99) = 7.0; four of them */
        CU_ASSERT(lost > 22 && lost < 78);
        close(rx);
        close(tx);
        strait_emu_net_free(w.net);
    }
}

/* Loss is drawn for each segment also of a bulk transfer: of 4 MB / 1448 = 2763 segments 1 % or 28,
 * standard deviation 5.2. Super-packets of 20 segments would lose 1.4 of 138. */
static void segments_are_lost_alone(void)
{
    for (int in = 0; in < 2; in++) {
        struct world w;
        kernel_world(&w, 2, 1e9, 0.002);
        (in ? w.in : w.out)[in ? 0 : 1].loss_ratio = 0.01;
        if (!world_up(&w))
            return;
        const struct flow f = flow_open(w.net, 1, 0);
        struct strait_emu_relay_report r;
        transfer(w.net, &f, 1, 4000000);
        CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, w.net, false, NULL), 0);
        const uint64_t lost = in ? r.in[0].n_loss_drops : r.out[1].n_loss_drops;
        fprintf(stderr, "%d segments lost, 28 expected\n", (int)lost);
        CU_ASSERT(lost > 6 && lost < 50);
        strait_emu_relay_report_release(&r);
        flow_close(f);
        strait_emu_net_free(w.net);
    }
}

static void jitter_keeps_the_order(void)
{
    enum { N = 2000 };
    struct world w;
    kernel_world(&w, 2, 1e9, 0.040);
    w.out[1].jitter_s = 0.010;
    w.out[1].rate_bits_per_s = 20e6; /* a datagram each 57 us */
    if (!world_up(&w))
        return;
    const struct sockaddr_in a = address_of(0);
    const int rx = socket_inside(w.net, 0, SOCK_DGRAM), tx = socket_inside(w.net, 1, SOCK_DGRAM);
    const int room = 4 << 20;
    const struct timeval patience = {.tv_sec = 2};
    setsockopt(rx, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    CU_ASSERT_EQUAL_FATAL(bind(rx, (const struct sockaddr *)&a, sizeof(a)), 0);
    CU_ASSERT_EQUAL_FATAL(connect(tx, (const struct sockaddr *)&a, sizeof(a)), 0);
    int numbers[25] = {0}, last = -1, n_disorder = 0, n_got = 0;
    for (int i = 0; i < N; i++) {
        numbers[0] = i;
        CU_ASSERT_EQUAL_FATAL(send(tx, numbers, sizeof(numbers), 0), (ssize_t)sizeof(numbers));
        if (i % 20 == 19)
            sleep_ms(1);
    }
    while (n_got < N && recv(rx, numbers, sizeof(numbers), 0) == (ssize_t)sizeof(numbers)) {
        n_disorder += numbers[0] < last;
        last = numbers[0];
        n_got++;
    }
    CU_ASSERT_EQUAL(n_got, N);
    CU_ASSERT_EQUAL(n_disorder, 0);
    close(rx);
    close(tx);
    /* 40 ms and twice 10: pings spread, which a path without jitter does not */
    double min_s, median_s;
    CU_ASSERT_EQUAL(strait_emu_net_ping(&min_s, &median_s, w.net, 1, 0, 31, NULL), 0);
    fprintf(stderr, "jitter: ping min %.3f ms, median %.3f\n", 1e3 * min_s, 1e3 * median_s);
    CU_ASSERT_AT_LEAST(min_s, 0.030);
    CU_ASSERT_AT_LEAST(median_s, min_s + 0.001);
    if (time_is_judged()) {
        CU_ASSERT_AT_MOST(min_s, 0.038);
        CU_ASSERT_AT_MOST(median_s, 0.048);
    }
    strait_emu_net_free(w.net);
}

/* 4 MB from each of N clients on fresh connections, 1 Gbps, RTT 50 ms: a message that is shorter
 * than the window needs takes n* + 1 round trips, n* = ceil(log2(C RTT / (N W0))), and then the
 * rest; C = 119.55 MB/s, W0 = 14480 B.
 * N = 1: 9 round trips and done, 0.450 s.
 * N = 4: n* = ceil(log2(5.98e6 / 57920)) = 7; 8 x 0.050 + (16e6 - 57920 x 127) / C = 0.472 s. */
static void cold_messages(void)
{
    const struct {
        int n;
        double wanted_s, dilation;
    } cases[] = {{1, 0.450, 1}, {4, 0.472, 2}};
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        struct flow flows[4];
        double best_s = INFINITY; /* other load on this machine only adds */
        const int n = cases[i].n;
        kernel_world(&w, n + 1, 1e9, 0.050);
        w.plan.window_bytes = 12.5e6;
        w.plan.dilation = cases[i].dilation;
        if (!world_up(&w))
            return;
        for (int t = 0; t < (time_is_judged() ? 3 : 1); t++) {
            for (int f = 0; f < n; f++)
                flows[f] = flow_open(w.net, f + 1, 0);
            best_s = fmin(best_s, transfer(w.net, flows, (size_t)n, 4000000).all_s);
            for (int f = 0; f < n; f++)
                flow_close(flows[f]);
        }
        fprintf(stderr, "cold 4 MB from %d at dilation %g: %.4f s, by arithmetic %.3f\n", n,
                cases[i].dilation, best_s, cases[i].wanted_s);
        CU_ASSERT_AT_LEAST(best_s, 0.95 * cases[i].wanted_s);
        if (time_is_judged())
            CU_ASSERT_AT_MOST(best_s, 1.05 * cases[i].wanted_s);
        strait_emu_net_free(w.net);
    }
}

static void unshaped_fails(void)
{
    struct world w;
    kernel_world(&w, 2, 1e8, 0.050);
    w.plan.unshaped = true;
    if (!world_up(&w))
        return;
    CU_ASSERT_FALSE(rtt_is(w.net, 1, 0, 0.050));
    if (time_is_judged())
        CU_ASSERT_FALSE(goodput_is(w.net, 1, 0, 1e8, 1514, 6000000));
    strait_emu_net_free(w.net);
}

static const struct strait_test tests[] = {
    {"a bulk transfer gets the planned rate less the headers, with and without overhead",
     bulk_gets_the_rate},
    {"each direction of each node has its own rate", directions_differ},
    {"eight clients fill one port exactly", eight_into_one},
    {"the shapers' own counters see every segment", counters_see_the_bytes},
    {"what a full queue drops is counted", full_queue_drops},
    {"65, 256 and 1100 namespaces stand and reach each other", many_nodes},
    {"a kernel without netem is named where delay is asked for", netem_is_asked_for},
    {"stock ping sees the planned round trip", ping_sees_the_delay},
    {"loss is counted and lies in its binomial interval, out and in", loss_is_binomial},
    {"a bulk transfer loses segments, not super-packets", segments_are_lost_alone},
    {"jitter spreads the delay and keeps the order", jitter_keeps_the_order},
    {"cold messages take the round trips of slow start and the shared link", cold_messages},
    {"the same checks fail without shaping", unshaped_fails},
};
STRAIT_SUITE_WITH("emu/links/kernel_net", tests, .slow_s = 7, .release = true);
