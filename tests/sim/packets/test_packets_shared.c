/* TCP packet by packet, of several streams: what they share, and how they hinder each other. */
#include "packet_world.h"

/* Connections carry parts at the same time: with S of them windows are S times as large. 100 KB are
 * 7 first windows, 3 round trips; in four parts of 25 KB two, and one with 16 of 6.25 KB. */
static void connections(void)
{
    static const unsigned n[] = {1, 4, 16};
    static const double trips[] = {2.5, 1.5, 0.5}; /* the last half is the way there */
    for (size_t i = 0; i < 3; i++) {
        const struct setting s = {STRAIT_RENO, RATE, RTT_S, .seed = 1};
        struct world w = {.network = network_of(&s, 1)};
        w.network->tcp.n_connections = n[i];
        w.packets = strait_packets_new(w.network, 1, true);
        w.pipe = strait_packets_open(w.packets, 1, 0, 0, 0);
        CU_ASSERT_DOUBLE_EQUAL(send(&w, 0, 1e5), trips[i] * RTT_S, 2e-3);
        close_world(&w);
    }
}

/* Five senders at once into a server's port: what the kernel's TCP took in virtual time with
 * 1.57 MB each at 110 Mbps and 43 ms, 1.44 s for the slower half of a round and 0.63 s for the
 * downloads, is a single draw; here the mean of ten is within a third of it, and senders end apart,
 * which equal shares would not. */
static void several(void)
{
    double sum_s = 0, spread_s = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        const struct setting s = {STRAIT_RENO, 1.1e8, 0.043, .seed = seed};
        struct strait_network *n = network_of(&s, 5);
        struct strait_pipe *pipes[5], *arrived;
        double first_s = 0, last_s = 0;
        n->in[0].queue_bytes = 296e3;
        struct strait_packets *w = strait_packets_new(n, seed, true);
        for (int i = 0; i < 5; i++)
            pipes[i] = strait_packets_open(w, i + 1, 0, 0, 0);
        for (double at_s = 0; at_s < 5; at_s += 4) /* the second one is warm */
            for (int i = 0; i < 5; i++)
                CU_ASSERT_EQUAL(strait_pipe_post(pipes[i], NULL, at_s, 1.57e6), 0);
        for (int i = 0; i < 10; i++) {
            last_s = strait_packets_run(w, INFINITY, &arrived) - 4;
            first_s = i == 5 ? last_s : first_s;
        }
        sum_s += last_s;
        spread_s += last_s - first_s;
        strait_packets_free(w);
        strait_network_free(n);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum_s / 10, 1.44, 0.48);
    CU_ASSERT(spread_s / 10 > 0.2);
}

/* Acknowledgements share the way back with data: where that is full they wait in its queue, and the
 * windows of slow start come later. 200 KB are 4 windows; alone 3.5 round trips, and beside 25 MB
 * the other way, which queue before the sender's 100 Mbps, some wait behind all of them. */
static void both_ways(void)
{
    double took_s[2];
    for (int busy = 0; busy < 2; busy++) {
        const struct setting s = {STRAIT_RENO, 1e8, 0.02, .seed = 1};
        struct world w = {.network = network_of(&s, 1)};
        w.network->out[0].rate_bits_per_s = w.network->in[0].rate_bits_per_s = 1e9;
        w.packets = strait_packets_new(w.network, 1, true);
        w.pipe = strait_packets_open(w.packets, 1, 0, 0, 0);
        struct strait_pipe *back = strait_packets_open(w.packets, 0, 1, 0, 0), *arrived;
        if (busy)
            CU_ASSERT_EQUAL(strait_pipe_post(back, NULL, 0, 25e6), 0);
        CU_ASSERT_EQUAL(strait_pipe_post(w.pipe, NULL, 1, 2e5), 0);
        do /* at most two arrive */
            took_s[busy] = strait_packets_run(w.packets, INFINITY, &arrived) - 1;
        while (arrived && arrived != w.pipe);
        CU_ASSERT_PTR_EQUAL(arrived, w.pipe);
        close_world(&w);
    }
    CU_ASSERT_DOUBLE_EQUAL(took_s[0], 3.5 * 0.02, 0.02);
    CU_ASSERT(took_s[1] > took_s[0] + 2 * 0.02);
}

/* Two streams of one host from rank `src`, to dst[0] and dst[1]. */
static struct world open_two(struct strait_pipe *pipes[2], const struct setting *s, int src,
                             const int dst[2])
{
    struct world w = {.network = network_of(s, 2)};
    w.packets = strait_packets_new(w.network, s->seed, true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w.packets);
    for (int i = 0; i < 2; i++) {
        pipes[i] = strait_packets_open(w.packets, src, dst[i], 0, 0);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pipes[i]);
    }
    return w;
}

/* 400 KB to each of two at once, windows open: 276 segments and 352 bytes. A turn of 128 KB ends
 * with the segment in which it is used up, after two writes of 90. So the first message's last byte
 * leaves behind 180 segments of its own, 180 of the other and its last 96.2; the other's behind
 * all. Written one after the other the first would leave behind 276. */
static void turns(void)
{
    const struct setting s = {STRAIT_RENO, RATE, RTT_S, .keeps_window = true, .seed = 1};
    struct strait_pipe *pipes[2], *arrived;
    struct world w = open_two(pipes, &s, 1, (const int[]){0, 2});
    double now_s = 0, took_s[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        w.pipe = pipes[i];
        now_s += send(&w, now_s, 4e6) + RTT_S;
    }
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(strait_pipe_post(pipes[i], NULL, now_s, 4e5), 0);
    for (int i = 0; i < 2; i++) {
        const double there_s = strait_packets_run(w.packets, INFINITY, &arrived);
        took_s[arrived == pipes[1]] = there_s - now_s;
    }
    const double last = 352 + HEADER, full = SEGMENT + HEADER, byte_s = 8 / RATE;
    CU_ASSERT_DOUBLE_EQUAL(took_s[0], (456 * full + 2 * last) * byte_s + RTT_S / 2, 2e-5);
    CU_ASSERT_DOUBLE_EQUAL(took_s[1], (552 * full + 3 * last) * byte_s + RTT_S, 2e-5);
    close_world(&w);
}

/* A long message fills its host's port of 10 Mbps, which has no delay: in it wait two packets, one
 * being sent (Linux tcp_small_queue_check). One segment to another host waits for these, and not
 * for the window of 80 that is under way. */
static void own_port(void)
{
    const struct setting s = {STRAIT_RENO, 1e7, RTT_S, .keeps_window = true, .seed = 1};
    const double packet_s = (SEGMENT + HEADER) * 8 / 1e7;
    struct strait_pipe *pipes[2], *arrived;
    struct world w = open_two(pipes, &s, 0, (const int[]){1, 2});
    double most_s = 0, now_s = 1.5;
    CU_ASSERT_EQUAL(strait_pipe_post(pipes[0], NULL, 0, 1e7), 0);
    for (int i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(strait_pipe_post(pipes[1], NULL, now_s, SEGMENT), 0);
        const double there_s = strait_packets_run(w.packets, INFINITY, &arrived);
        CU_ASSERT_PTR_EQUAL(arrived, pipes[1]);
        most_s = fmax(most_s, there_s - now_s - RTT_S / 2 - 2 * packet_s);
        now_s = there_s + 0.0137;
    }
    CU_ASSERT(most_s > packet_s && most_s < 2.01 * packet_s);
    close_world(&w);
}

/* Two streams of a pair over its one connection: an answer waits behind the data. */
static void shares(void)
{
    struct world w = open_world(&(struct setting){STRAIT_RENO, RATE, RTT_S, .seed = 1});
    struct strait_pipe *arrived;
    int data, answer;
    CU_ASSERT_EQUAL(strait_pipe_post(w.pipe, &data, 0, 1e6), 0);
    CU_ASSERT_EQUAL(strait_pipe_post(w.pipe, &answer, 0, 1), 0);
    const double data_s = strait_packets_run(w.packets, INFINITY, &arrived);
    CU_ASSERT_PTR_EQUAL(strait_pipe_owner(arrived), &data);
    const double answer_s = strait_packets_run(w.packets, INFINITY, &arrived);
    CU_ASSERT_PTR_EQUAL(strait_pipe_owner(arrived), &answer);
    CU_ASSERT(answer_s >= data_s);
    close_world(&w);
}

static const struct strait_test tests[] = {
    {"messages of two owners over one connection arrive in the order of their posts", shares},
    {"parallel connections multiply the window", connections},
    {"a full queue hits senders unequally", several},
    {"acknowledgements wait behind data", both_ways},
    {"streams of a host write in turns", turns},
    {"two packets of a stream wait in its host's port", own_port},
};
STRAIT_SUITE("sim/packets/packets_shared", tests);
