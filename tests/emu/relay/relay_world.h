/* The relay for tests: packets in at a stated time, deliveries out with theirs. */
#pragma once
#include <math.h>
#include <string.h>
#include "emu/links/net_plan.h"
#include "emu/relay/relay.h"
#include "tests/kit/suite.h"
#include "tcp_packet.h"

enum { FRAME = 1514, MAX_NODES = 16 };
static const double EPS_S = 1e-11; /* doubles of some seconds hold 1e-15 */

struct world {
    struct strait_link out[MAX_NODES], in[MAX_NODES];
    struct strait_emu_net_plan plan;
    struct strait_emu_relay *relay;
};

/* All links alike; change what a test needs before world_up. */
static inline void world_init(struct world *w, int n_nodes, double rate_bits_per_s, double delay_s)
{
    *w = (struct world){.plan = {.n_nodes = n_nodes, .seed = 1}};
    for (int i = 0; i < n_nodes; i++)
        w->out[i] = w->in[i] =
            (struct strait_link){.rate_bits_per_s = rate_bits_per_s, .delay_s = delay_s};
    w->plan.out = w->out;
    w->plan.in = w->in;
}

static inline void world_up(struct world *w)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_emu_net_plan_check(&w->plan, &err), 0);
    w->relay = strait_emu_relay_new(&w->plan, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->relay);
}

static inline void send_at(struct world *w, double at_s, int src, int dst, uint32_t seq,
                           size_t payload_bytes)
{
    static unsigned char bytes[STRAIT_EMU_PACKET_CAP_BYTES];
    const size_t n = tcp_packet(bytes, src, dst, seq, payload_bytes, TH_ACK);
    strait_emu_relay_offer(w->relay, at_s, src, bytes, n);
}

static inline struct strait_emu_link_report out_link(const struct world *w, int node)
{
    return strait_emu_relay_link(w->relay, 2 * node, INFINITY);
}

static inline struct strait_emu_link_report in_link(const struct world *w, int node)
{
    return strait_emu_relay_link(w->relay, 2 * node + 1, INFINITY);
}

struct arrival {
    double due_s;
    int dst;
    uint32_t seq;
    size_t payload_bytes;
};

/* Take everything that is due by until_s. */
static inline size_t arrivals(struct world *w, struct arrival *list, size_t cap, double until_s)
{
    struct strait_emu_delivery d;
    size_t n = 0;
    while (strait_emu_relay_take(w->relay, until_s, &d)) {
        CU_ASSERT_FATAL(n < cap);
        uint32_t seq;
        memcpy(&seq, d.bytes + 34, 4);
        list[n++] = (struct arrival){d.due_s, d.dst, ntohl(seq), d.len_bytes - 10 - HEADERS};
        strait_emu_relay_done(w->relay, &d);
    }
    return n;
}

static inline struct arrival last_of_all(struct world *w)
{
    static struct arrival list[4096];
    const size_t n = arrivals(w, list, 4096, INFINITY);
    CU_ASSERT_FATAL(n > 0);
    return list[n - 1];
}
