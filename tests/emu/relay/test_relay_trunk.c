/* The relay of one of several hosts, without devices: nodes 0 and 1 are here, 2 and 3 elsewhere. */
#include "relay_world.h"

enum { N = 4 };
static const double F = FRAME * 8;

struct half {
    struct world w;
    struct strait_emu_trunk trunk;
    int host_of[N];
};

static void half_up(struct half *h, double rate_bits_per_s, double delay_s)
{
    world_init(&h->w, N, rate_bits_per_s, delay_s);
    h->host_of[0] = h->host_of[1] = 0;
    h->host_of[2] = h->host_of[3] = 1;
    h->trunk = (struct strait_emu_trunk){
        .n_hosts = 2, .here = 0, .host_of = h->host_of, .mtu_bytes = 1450};
    h->w.plan.trunk = &h->trunk;
    world_up(&h->w);
}

/* A frame that leaves at 1 s is sent by F / rate, and its delay later at the other host, where the
 * in link is. Counted here is the out link alone. */
static void leaving_crosses_the_own_link(void)
{
    struct half h;
    half_up(&h, 1e8, 0.005);
    send_at(&h.w, 1, 0, 2, 7, MSS);
    const struct arrival a = last_of_all(&h.w);
    CU_ASSERT_EQUAL(a.dst, 2);
    CU_ASSERT_DOUBLE_EQUAL(a.due_s, 1 + F / 1e8 + 0.005, EPS_S);
    CU_ASSERT_EQUAL(out_link(&h.w, 0).n_segments, 1);
    CU_ASSERT_EQUAL(in_link(&h.w, 2).n_segments, 0);
    strait_emu_relay_free(h.w.relay);
}

/* What comes from there at 1 s crosses the in link of its node, and nothing else. */
static void arriving_crosses_the_nodes_link(void)
{
    struct half h;
    half_up(&h, 1e8, 0.005);
    send_at(&h.w, 1, STRAIT_EMU_ELSEWHERE, 1, 7, MSS);
    const struct arrival a = last_of_all(&h.w);
    CU_ASSERT_EQUAL(a.dst, 1);
    CU_ASSERT_DOUBLE_EQUAL(a.due_s, 1 + F / 1e8 + 0.005, EPS_S);
    CU_ASSERT_EQUAL(in_link(&h.w, 1).n_segments, 1);
    strait_emu_relay_free(h.w.relay);
}

/* Two hosts in a row give what one does: packets one at a time, so that none waits for another's
 * tail. 2 frame times and 2 delays. */
static void both_halves_are_the_whole(void)
{
    struct half a, b;
    half_up(&a, 1e8, 0.005);
    half_up(&b, 1e8, 0.005);
    b.trunk.here = 1;
    send_at(&a.w, 1, 0, 2, 7, MSS);
    const struct arrival between = last_of_all(&a.w);
    send_at(&b.w, between.due_s, STRAIT_EMU_ELSEWHERE, 2, 7, MSS);
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&b.w).due_s, 1 + 2 * F / 1e8 + 2 * 0.005, EPS_S);
    strait_emu_relay_free(a.w.relay);
    strait_emu_relay_free(b.w.relay);
}

/* Both within one host as ever; what came here by mistake goes nowhere, or it would go round. */
static void the_rest_is_as_on_one_host(void)
{
    struct half h;
    struct arrival list[2];
    struct strait_emu_relay_report r;
    half_up(&h, 1e8, 0.005);
    send_at(&h.w, 1, 0, 1, 7, MSS);
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&h.w).due_s, 1 + 2 * F / 1e8 + 2 * 0.005, EPS_S);
    send_at(&h.w, 2, STRAIT_EMU_ELSEWHERE, 3, 8, MSS);
    CU_ASSERT_EQUAL(arrivals(&h.w, list, 2, INFINITY), 0);
    strait_emu_relay_totals(&r, h.w.relay);
    CU_ASSERT_EQUAL(r.n_unroutable, 1);
    strait_emu_relay_free(h.w.relay);
}

static const struct strait_test tests[] = {
    {"a packet for another host crosses the sender's link here", leaving_crosses_the_own_link},
    {"a packet from another host crosses its node's link here", arriving_crosses_the_nodes_link},
    {"two hosts in a row delay a packet as one does", both_halves_are_the_whole},
    {"nodes of one host talk as ever, and a stray packet goes nowhere", the_rest_is_as_on_one_host},
};
STRAIT_SUITE("emu/relay/relay_trunk", tests);
