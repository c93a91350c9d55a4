/* One sender or more and a server, whose messages are sent packet by packet. */
#pragma once
#include "sim/packets/packets.h"
#include <math.h>
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

static const double RATE = 1e9, RTT_S = 0.05, SEGMENT = 1448, HEADER = 66;

/* One sender and its server; only the sender's way out has loss, jitter or a queue. */
struct setting {
    enum strait_congestion congestion;
    double rate, rtt_s, loss_ratio, jitter_s, queue_bytes, window_bytes; /* 0: no limit */
    bool keeps_window, hystart;
    uint64_t seed;
};

static inline struct strait_network *network_of(const struct setting *s, int n_senders)
{
    const struct strait_link fast = {.rate_bits_per_s = s->rate, .queue_bytes = INFINITY};
    struct strait_link out = fast, in = fast;
    struct strait_tcp tcp = strait_rig_tcp();
    tcp.congestion = s->congestion;
    tcp.window_bytes = s->window_bytes > 0 ? s->window_bytes : INFINITY;
    tcp.hystart = s->hystart;
    tcp.slow_start_after_idle = !s->keeps_window;
    out.delay_s = in.delay_s = s->rtt_s / 2;
    out.loss_ratio = s->loss_ratio;
    out.jitter_s = s->jitter_s;
    if (s->queue_bytes > 0)
        out.queue_bytes = s->queue_bytes;
    struct strait_network *n = strait_network_star(n_senders + 1, fast, fast, out, in, 0, tcp);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    return n;
}

struct world {
    struct strait_network *network;
    struct strait_packets *packets;
    struct strait_pipe *pipe;
};

static inline struct world open_world(const struct setting *s)
{
    struct world w = {.network = network_of(s, 1)};
    w.packets = strait_packets_new(w.network, s->seed, true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w.packets);
    w.pipe = strait_packets_open(w.packets, 1, 0, 0, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w.pipe);
    return w;
}

static inline void close_world(struct world *w)
{
    strait_packets_free(w->packets);
    strait_network_free(w->network);
}

/* How long a message takes that is posted at that moment. */
static inline double send(struct world *w, double at_s, double bytes)
{
    struct strait_pipe *arrived;
    CU_ASSERT_EQUAL_FATAL(strait_pipe_post(w->pipe, NULL, at_s, bytes), 0);
    const double there_s = strait_packets_run(w->packets, INFINITY, &arrived);
    CU_ASSERT_PTR_EQUAL(arrived, w->pipe);
    return there_s - at_s;
}

static inline double goodput(double rate)
{
    return rate / 8 * SEGMENT / (SEGMENT + HEADER);
}
