/* What counters, probes and shapers of the links say against a run. */
#include <math.h>
#include <string.h>
#include "court.h"

static void losses_that_nobody_ordered_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.softnet_drops = 3;
    expect(&c, "backlog dropped 3 packets");
    c.e.softnet_drops = 0;
    c.e.relay.n_write_failures = 1;
    expect(&c, "1 refused by devices");
    c.e.relay.n_write_failures = 0;
    c.links[4].n_queue_drops = 7; /* in[1]; its queue is unlimited */
    expect(&c, "7 segments were dropped at a queue of rank 1");
    c.w.network->in[1].queue_bytes = 1e6;
    expect(&c, NULL);
    c.counters[5].rx_dropped = 2;
    expect(&c, "the interface of rank 2 dropped 2 packets");
    court_close(&c);
}

static void drops_between_sites_that_nobody_ordered_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    struct strait_link ports[2] = {{.queue_bytes = INFINITY}, {.queue_bytes = 1e6}};
    struct strait_emu_link_report between[2] = {{.n_queue_drops = 0}, {.n_queue_drops = 4}};
    c.w.network->n_sites = 1;
    c.w.network->site_out = ports;
    c.w.network->site_in = ports + 1;
    c.e.relay.between = between;
    c.e.relay.n_between = 2;
    int site[3] = {0, 0, 0};
    c.w.network->site = site;
    expect(&c, NULL); /* link 1 has a queue of that length */
    between[0].n_queue_drops = 5;
    expect(&c, "5 segments were dropped at a queue between sites that is not modelled");
    c.w.network->site_out = c.w.network->site_in = NULL;
    c.w.network->site = NULL;
    court_close(&c);
}

static void links_that_somebody_changed_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.relay.n_changed = 2;
    strcpy(c.e.relay.change, "the in link of node 1: asked for tbf 1, found 0");
    expect(&c, "the shaping of 2 links was changed during the run, expected none: "
               "the in link of node 1: asked for tbf 1, found 0");
    court_close(&c);
}

static void a_delay_that_is_off_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    /* 2 % of 40 ms and 0.3 ms / 4: 0.875 ms to either side */
    c.e.probes[0].rtt_s = 0.0408;
    expect(&c, NULL);
    c.e.probes[0].rtt_s = 0.0409;
    expect(&c, "ping from rank 0 to 2 took 40.900 ms");
    c.e.probes[0].rtt_s = 0.0391;
    expect(&c, "took 39.100 ms");
    c.e.probes[0].rtt_s = NAN;
    expect(&c, "ping from rank 0 to 2");
    court_close(&c);
}

static void bytes_that_no_interface_saw_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[0].bytes_sent = 1000;
    c.counters[3].tx_bytes = 999;
    expect(&c, "the interface of rank 0 carried 999 and 0 bytes, expected at least 1000 out");
    c.counters[3].tx_bytes = 1100;
    expect(&c, NULL);
    c.shared->ranks[2].bytes_received = 500;
    c.counters[5].rx_bytes = 499;
    expect(&c,
           "the interface of rank 2 carried 0 and 499 bytes, expected at least 0 out and 500 in");
    c.w.run.ends_with_rank_0 = true; /* sent bytes may be left behind, received ones were there */
    c.shared->ranks[1].bytes_sent = 1000;
    expect(&c, "the interface of rank 2 carried 0 and 499 bytes");
    c.counters[5].rx_bytes = 500;
    expect(&c, NULL);
    court_close(&c);
}

/* Each direction counts its own. */
static void drops_of_each_direction(void)
{
    struct court c;
    court_open(&c);
    c.e.relay.out[1].n_queue_drops = 5;
    expect(&c, "5 segments were dropped at a queue of rank 1 that is not modelled");
    c.e.relay.out[1].n_queue_drops = 0;
    c.e.relay.in[1].n_queue_drops = 7;
    expect(&c, "7 segments were dropped at a queue of rank 1 that is not modelled");
    c.w.network->in[1].queue_bytes = 1000; /* a modelled queue may */
    expect(&c, NULL);
    court_close(&c);
}

static void links_without_shapers_are_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.shaped = false;
    expect(&c, "the links were not shaped: control \"?\"");
    c.w.run.control = "unshaped";
    expect(&c, "the links were not shaped: control \"unshaped\"");
    court_close(&c);
}

/* What a relay loses for lack of memory; the kernel's links have neither count. */
static void a_relay_without_memory_is_a_sign(void)
{
    struct court c;
    court_open(&c);
    c.e.relay.n_memory_drops = 2;
    expect(&c, "0 refused by devices, 2 for lack of memory");
    c.e.realisation = STRAIT_EMU_KERNEL;
    expect(&c, NULL);
    court_close(&c);
}

/* What counters said before the run is not its own; each direction counts. */
static void what_was_dropped_before_does_not_count(void)
{
    struct court c;
    court_open(&c);
    for (int i = 0; i < 3; i++) {
        c.counters[i].tx_dropped = c.counters[3 + i].tx_dropped = 5;
        c.counters[i].rx_dropped = c.counters[3 + i].rx_dropped = 7;
        c.counters[i].tx_bytes = c.counters[3 + i].tx_bytes = 100;
        c.counters[i].rx_bytes = c.counters[3 + i].rx_bytes = 100;
    }
    expect(&c, NULL);
    c.counters[4].tx_dropped = 6;
    expect(&c, "the interface of rank 1 dropped 1 packets");
    c.counters[4].tx_dropped = 5;
    c.shared->ranks[2].bytes_received = 50;
    expect(&c, "the interface of rank 2 carried 0 and 0 bytes, expected at least 0 out and 50 in");
    c.counters[5].rx_bytes = 150;
    expect(&c, NULL);
    c.links[1].n_queue_drops = 3; /* out[1]; its queue is unlimited */
    expect(&c, "3 segments were dropped at a queue of rank 1");
    c.e.before = NULL; /* nobody counted: nothing of the links is known */
    expect(&c, NULL);
    court_close(&c);
}

/* Who is cut off may leave bytes with its kernel that were counted as sent; what was received was
 * on the wire all the same. */
static void who_is_cut_off_has_not_sent_all(void)
{
    struct court c;
    court_open(&c);
    c.shared->ranks[1].bytes_sent = 1000;
    c.counters[4].tx_bytes = 400;
    expect(&c, "the interface of rank 1 carried 400 and 0 bytes, expected at least 1000 out");
    c.w.run.ends_with_rank_0 = true;
    expect(&c, NULL);
    c.shared->ranks[0].bytes_received = 1000;
    c.counters[3].rx_bytes = 999;
    expect(&c, "the interface of rank 0 carried 0 and 999 bytes");
    c.counters[3].rx_bytes = 1000;
    expect(&c, NULL);
    court_close(&c);
}

/* 40 ms, 2 ms of jitter out and back: 2 % of 40 ms, 0.3 ms / 4 and 4 ms to either side. */
static void jitter_is_allowed_for(void)
{
    struct court c;
    court_open(&c);
    c.w.network->out[0].jitter_s = c.w.network->in[0].jitter_s = 0.002;
    c.e.probes[0].rtt_s = 0.0448;
    expect(&c, NULL);
    c.e.probes[0].rtt_s = 0.0449;
    expect(&c, "ping from rank 0 to 2 took 44.900 ms, expected 40.000 ms");
    court_close(&c);
}

/* A ping is 98 bytes with its Ethernet header, and 24 around it; here each of its four hops, two
 * out and two back, takes 976 bits / 1 Gbps; the round trip is 40 ms. */
static void a_ping_takes_its_bytes(void)
{
    struct world w;
    world_init(&w, 3, 1e9, 0.04);
    const double bits = 8 * (98 + w.network->overhead_bytes);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_expected_ping_s(w.network, 0, 2), 0.04 + 4 * bits / 1e9,
                           1e-12);
    w.network->in[2].rate_bits_per_s = 1e6; /* on the way there alone */
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_expected_ping_s(w.network, 0, 2),
                           0.04 + 3 * bits / 1e9 + bits / 1e6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_expected_ping_s(w.network, 2, 0),
                           0.04 + 3 * bits / 1e9 + bits / 1e6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_expected_ping_s(w.network, 0, 1), 0.04 + 4 * bits / 1e9,
                           1e-12);
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"losses that nobody ordered are a sign", losses_that_nobody_ordered_are_a_sign},
    {"drops between sites that nobody ordered are a sign",
     drops_between_sites_that_nobody_ordered_are_a_sign},
    {"links that somebody changed are a sign", links_that_somebody_changed_are_a_sign},
    {"a delay that is off is a sign", a_delay_that_is_off_is_a_sign},
    {"bytes that no interface saw are a sign", bytes_that_no_interface_saw_are_a_sign},
    {"each direction of a link counts its own drops", drops_of_each_direction},
    {"links without shapers are a sign", links_without_shapers_are_a_sign},
    {"what a relay drops for lack of memory is a sign", a_relay_without_memory_is_a_sign},
    {"what counters said before the run does not count", what_was_dropped_before_does_not_count},
    {"who is cut off need not have sent all, but what was received came",
     who_is_cut_off_has_not_sent_all},
    {"a probe may be off by the jitter of its path", jitter_is_allowed_for},
    {"a ping takes its bytes on every hop, there and back", a_ping_takes_its_bytes},
};
STRAIT_SUITE("emu/judge/link_evidence", tests);
