/* Numbers of packets against those counted here by hand, and what a relay loses against what a
 * prediction loses. */
#include "emu/relay/relay_flows.h"

#include "relay_world.h"
#include "sim/packets/packets.h"
#include "tests/kit/rig.h"

struct segment {
    int src, dst;
    uint16_t from, to;
    uint32_t seq, ack;
    size_t payload_bytes;
    uint8_t flags;
    const char *text; /* in the payload */
    size_t text_at;
};

static struct segment tcp(int src, int dst, uint16_t from, uint16_t to, uint32_t seq, uint32_t ack,
                          size_t payload_bytes, uint8_t flags)
{
    return (struct segment){src, dst, from, to, seq, ack, payload_bytes, flags, NULL, 0};
}

static size_t packet_of(unsigned char *to, const struct segment *s)
{
    const size_t n = tcp_packet(to, s->src, s->dst, s->seq, s->payload_bytes, s->flags);
    const uint16_t ports[2] = {htons(s->from), htons(s->to)};
    const uint32_t ack = htonl(s->ack);
    memcpy(to + 30, ports, sizeof(ports));
    memcpy(to + 38, &ack, sizeof(ack));
    if (s->text)
        memcpy(to + STRAIT_EMU_VNET_BYTES + HEADERS + s->text_at, s->text, strlen(s->text));
    return n;
}

static void offered(uint64_t *key, uint64_t *number, struct strait_emu_flows *f,
                    const struct segment *s)
{
    static unsigned char bytes[STRAIT_EMU_PACKET_CAP_BYTES];
    const size_t n = packet_of(bytes, s);
    CU_ASSERT_FATAL(strait_emu_flows_packet(key, number, f, s->src, s->dst, bytes, n));
}

/* The number of data by what it is: message, segment of it, how often it was sent before. */
static uint64_t data_number(uint64_t message, uint64_t segment, uint64_t before)
{
    return strait_packet_number(STRAIT_PACKET_DATA, strait_packet_place(message, segment), before);
}

/* A stream of 12 bytes of greeting and then full segments, whose sequence numbers pass 2^32. */
static void places(void)
{
    const uint32_t first = 4294967290U; /* SYN; the greeting ends at 4294967303 - 2^32 = 7 */
    struct strait_emu_flows f = {.seed = 5};
    struct segment s = tcp(1, 0, 40000, 50000, first, 0, 0, TH_SYN);
    uint64_t key, number, other;
    offered(&key, &other, &f, &s);
    CU_ASSERT_EQUAL(key, strait_packet_key(5, 1, 0, 0));
    s.flags = TH_ACK;
    s.seq = first + 1;
    s.payload_bytes = 12;
    offered(&key, &number, &f, &s);
    CU_ASSERT_NOT_EQUAL(number, other);
    s.payload_bytes = MSS;
    for (uint32_t i = 0; i < 3; i++) {
        s.seq = 7 + i * MSS;
        offered(&key, &number, &f, &s);
        CU_ASSERT_EQUAL(number, data_number(0, i, 0));
    }
    s.seq = 7 + MSS; /* the second one again */
    offered(&key, &number, &f, &s);
    CU_ASSERT_EQUAL(key, strait_packet_key(5, 1, 0, 0));
    CU_ASSERT_EQUAL(number, data_number(0, 1, 1));
    /* acknowledgements come back: of two segments twice, then of three */
    struct strait_ack_count acks = {0};
    struct segment a = tcp(0, 1, 50000, 40000, 900, 7 + 2 * MSS, 0, TH_ACK);
    for (int i = 0; i < 3; i++) {
        a.ack = 7 + (i < 2 ? 2 : 3) * MSS;
        offered(&key, &number, &f, &a);
        CU_ASSERT_EQUAL(key, strait_packet_key(5, 1, 0, 0));
        CU_ASSERT_EQUAL(number, strait_ack_number(&acks, STRAIT_PACKET_ACK,
                                                  strait_packet_place(0, i < 2 ? 1 : 2)));
    }
    strait_emu_flows_release(&f);
}

/* Messages begin with their frames: the second one at byte 2000, so that the third segment begins
 * in its first one, 896 bytes behind its begin, and the fourth in its second one; the third message
 * at byte 5790, whose frame's head is cut by the end of the fourth segment at 5792. Numbers do not
 * depend on how long earlier messages were. */
static void messages(void)
{
    static const char *const head[] = {NULL, "STRT\1", NULL, "ST", "RT\1"};
    static const size_t head_at[] = {0, 2000 - MSS, 0, MSS - 2, 0};
    const uint64_t expected[] = {data_number(0, 0, 0), data_number(0, 1, 0), data_number(1, 0, 0),
                                 data_number(1, 1, 0), data_number(2, 0, 0), data_number(2, 1, 0)};
    struct strait_emu_flows f = {.seed = 5};
    struct segment s = tcp(1, 0, 40000, 50000, 100, 0, 0, TH_SYN);
    uint64_t key, number;
    offered(&key, &number, &f, &s);
    s = tcp(1, 0, 40000, 50000, 101, 0, 12, TH_ACK);
    offered(&key, &number, &f, &s);
    s.payload_bytes = MSS;
    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < 6; i++) {
            s.seq = 113 + i * MSS;
            s.text = i < 5 ? head[i] : NULL;
            s.text_at = i < 5 ? head_at[i] : 0;
            offered(&key, &number, &f, &s);
            strait_test_context("segment %u, again %d", i, again);
            CU_ASSERT_EQUAL(number, expected[i] + (uint64_t)again);
        }
    struct strait_ack_count acks = {0};
    const struct segment a = tcp(0, 1, 50000, 40000, 900, 113 + 2 * MSS, 0, TH_ACK);
    offered(&key, &number, &f, &a); /* up to byte 2896, of the second message's first segment */
    CU_ASSERT_EQUAL(number, strait_ack_number(&acks, STRAIT_PACKET_ACK, strait_packet_place(1, 0)));
    strait_emu_flows_release(&f);
}

/* Connections of one pair are counted as they are opened, each pair by itself; a SYN that is sent
 * again opens none, one from the same port with another number does. */
static void ordinals(void)
{
    struct strait_emu_flows f = {.seed = 5};
    uint64_t key, number;
    for (unsigned i = 0; i < 200; i++) {
        struct segment s = tcp(1 + (int)(i % 2), 0, (uint16_t)(40000 + i), 50000, i, 0, 0, TH_SYN);
        for (int again = 0; again < 2; again++) {
            offered(&key, &number, &f, &s);
            CU_ASSERT_EQUAL(key, strait_packet_key(5, s.src, 0, i / 2));
        }
    }
    struct segment s = tcp(1, 0, 40000, 50000, 77, 0, 0, TH_SYN);
    offered(&key, &number, &f, &s);
    CU_ASSERT_EQUAL(key, strait_packet_key(5, 1, 0, 100));
    strait_emu_flows_release(&f);
}

enum { N_MESSAGES = 400 };
static const double LOSS = 0.2, RATE = 1e9, RTT_S = 0.02;

/* Messages of one segment on a quiet connection, 100 s apart: a prediction takes half a round trip
 * for one that is not lost, and at least a probe's 0.2 s more for one that is. */
static void predicted(bool *is_lost)
{
    const struct strait_link fast = {.rate_bits_per_s = RATE, .queue_bytes = INFINITY};
    struct strait_link out = fast, in = fast;
    out.delay_s = in.delay_s = RTT_S / 2;
    out.loss_ratio = LOSS;
    struct strait_tcp tcp = strait_rig_tcp();
    tcp.congestion = STRAIT_RENO;
    struct strait_network *n = strait_network_star(2, fast, fast, out, in, 0, tcp);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    struct strait_packets *w = strait_packets_new(n, 5, true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    struct strait_pipe *pipe = strait_packets_open(w, 1, 0, 0, 0), *arrived;
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    for (int i = 0; i < N_MESSAGES; i++) {
        CU_ASSERT_EQUAL_FATAL(strait_pipe_post(pipe, NULL, 100.0 * i, MSS), 0);
        const double took_s = strait_packets_run(w, INFINITY, &arrived) - 100.0 * i;
        CU_ASSERT_PTR_EQUAL(arrived, pipe);
        is_lost[i] = took_s > 0.1;
    }
    strait_packets_free(w);
    strait_network_free(n);
}

/* The same through the relay, as TCP would send them the first time: which do not come out. */
static void relayed(bool *is_lost)
{
    static unsigned char bytes[STRAIT_EMU_PACKET_CAP_BYTES];
    struct world w;
    world_init(&w, 2, RATE, 0.001);
    w.out[1].loss_ratio = LOSS;
    w.plan.seed = 5;
    world_up(&w);
    struct segment s = tcp(1, 0, 40000, 50000, 1, 0, 0, TH_SYN);
    strait_emu_relay_offer(w.relay, 0, 1, bytes, packet_of(bytes, &s));
    s.flags = TH_ACK;
    s.payload_bytes = 12;
    s.seq = 2;
    strait_emu_relay_offer(w.relay, 1, 1, bytes, packet_of(bytes, &s));
    static struct arrival a[N_MESSAGES + 2];
    s.payload_bytes = MSS;
    for (uint32_t i = 0; i < N_MESSAGES; i++) {
        s.seq = 14 + i * MSS;
        s.text = "STRT\1";
        strait_emu_relay_offer(w.relay, 2 + i, 1, bytes, packet_of(bytes, &s));
        is_lost[i] = true;
    }
    const size_t n = arrivals(&w, a, N_MESSAGES + 2, INFINITY);
    for (size_t i = 0; i < n; i++)
        if (a[i].seq >= 14)
            is_lost[(a[i].seq - 14) / MSS] = false;
    strait_emu_relay_free(w.relay);
}

static void the_same_losses(void)
{
    static bool here[N_MESSAGES], there[N_MESSAGES];
    predicted(here);
    relayed(there);
    int n_lost = 0;
    for (int i = 0; i < N_MESSAGES; i++)
        n_lost += here[i];
    CU_ASSERT_EQUAL(memcmp(here, there, sizeof(here)), 0);
    /* 80 of 400, standard deviation 8; four of them */
    CU_ASSERT(n_lost > 48 && n_lost < 112);
}

/* A link that loses all, from time 0 of the run on: at 5 s of the clock. */
static void the_set_up(void)
{
    _Atomic(int64_t) start_ns = 0;
    struct world w;
    world_init(&w, 2, RATE, 0.001);
    w.out[0].loss_ratio = 1;
    w.plan.start_ns = &start_ns;
    world_up(&w);
    static struct arrival a[4];
    send_at(&w, 1, 0, 1, 0, 12);
    start_ns = 5000000000;
    send_at(&w, 4.99, 0, 1, 100, 12);
    send_at(&w, 5.01, 0, 1, 200, 12);
    CU_ASSERT_EQUAL(arrivals(&w, a, 4, INFINITY), 2);
    CU_ASSERT_EQUAL(a[1].seq, 100);
    CU_ASSERT_EQUAL(out_link(&w, 0).n_loss_drops, 1);
    strait_emu_relay_free(w.relay);
}

static const struct strait_test tests[] = {
    {"a packet's number is its place in the stream, and how often it was sent", places},
    {"messages are told by their frames", messages},
    {"connections of a pair are counted as they are opened", ordinals},
    {"nothing is lost before time 0 of a run", the_set_up},
    {"the relay loses the segments that the prediction loses", the_same_losses},
};
STRAIT_SUITE("emu/relay/relay_flows", tests);
