/* The relay's arithmetic without devices: time is an argument here. */
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "relay_world.h"
#include "tests/kit/suite.h"

static void one_frame(void)
{
    struct world w;
    world_init(&w, 2, 1e8, 0);
    w.out[0].delay_s = 0.025;
    w.in[1].delay_s = 0.005;
    w.in[1].rate_bits_per_s = 1e9;
    w.plan.overhead_bytes = 24;
    world_up(&w);
    send_at(&w, 3, 0, 1, 0, MSS);
    /* 1538 bytes at 100 Mbps, 25 ms, 1538 bytes at 1 Gbps, 5 ms */
    const double due_s = 3 + 1538 * 8 / 1e8 + 0.025 + 1538 * 8 / 1e9 + 0.005;
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&w).due_s, due_s, EPS_S);
    strait_emu_relay_free(w.relay);
}

static void back_to_back(void)
{
    struct world w;
    world_init(&w, 2, 1e8, 0.01);
    world_up(&w);
    /* Two frames at once and one after the link has become free. */
    send_at(&w, 0, 0, 1, 0, MSS);
    send_at(&w, 0, 0, 1, MSS, MSS);
    send_at(&w, 1, 0, 1, 2 * MSS, MSS);
    struct arrival a[3];
    CU_ASSERT_EQUAL_FATAL(arrivals(&w, a, 3, INFINITY), 3);
    const double frame_s = FRAME * 8 / 1e8;
    CU_ASSERT_DOUBLE_EQUAL(a[0].due_s, 2 * frame_s + 0.02, EPS_S);
    CU_ASSERT_DOUBLE_EQUAL(a[1].due_s, 3 * frame_s + 0.02, EPS_S);
    CU_ASSERT_DOUBLE_EQUAL(a[2].due_s, 1 + 2 * frame_s + 0.02, EPS_S);
    strait_emu_relay_free(w.relay);
}

static void pipelined(void)
{
    struct world w;
    world_init(&w, 2, 1e9, 0.01);
    world_up(&w);
    send_at(&w, 0, 0, 1, 0, 20 * MSS);
    /* 20 segments on link 1, then one more for the last one on link 2; as one block it were 40. */
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&w).due_s, 21 * FRAME * 8 / 1e9 + 0.02, EPS_S);
    strait_emu_relay_free(w.relay);
}

/* 100 Mbps until 1 s of the run, then 10; the run begins at 5 s, and takes twice as long as it
 * says. A frame is 12112 bits. At 6.9999 s, 50 us of the run before the change, 5000 bits go at
 * the first rate and 7112 at the second. */
static void changing(void)
{
    static const double at_s[] = {0, 1}, bits_per_s[] = {1e8, 1e7};
    _Atomic(int64_t) start_ns = 0;
    struct strait_schedule *s = strait_schedule_new(2, at_s, bits_per_s, INFINITY);
    struct world w;
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    world_init(&w, 2, 1e9, 0);
    w.out[0].rate_bits_per_s = 1e8;
    w.out[0].schedule = s;
    w.plan.dilation = 2;
    w.plan.start_ns = &start_ns;
    world_up(&w);
    send_at(&w, 3, 0, 1, 0, MSS); /* the run has not begun */
    start_ns = 5000000000;
    send_at(&w, 4, 0, 1, 1, MSS);
    send_at(&w, 6.9999, 0, 1, 2, MSS);
    send_at(&w, 6.9999, 0, 1, 3, MSS);
    struct arrival a[4];
    CU_ASSERT_EQUAL_FATAL(arrivals(&w, a, 4, INFINITY), 4);
    const double in_s = 2 * FRAME * 8 / 1e9, frame_s = 2 * FRAME * 8 / 1e8;
    CU_ASSERT_DOUBLE_EQUAL(a[0].due_s, 3 + frame_s + in_s, EPS_S);
    CU_ASSERT_DOUBLE_EQUAL(a[1].due_s, 4 + frame_s + in_s, EPS_S);
    CU_ASSERT_DOUBLE_EQUAL(a[2].due_s, 7 + 2 * 7112 / 1e7 + in_s, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(a[3].due_s, 7 + 2 * (7112 + 12112) / 1e7 + in_s, 1e-9);
    /* when the third begins to leave, both wait */
    CU_ASSERT_EQUAL(strait_emu_relay_link(w.relay, 0, 6.9999).backlog_bytes, 2 * FRAME);
    strait_emu_relay_free(w.relay);
    strait_schedule_free(s);
}

static void into_a_slow_link(void)
{
    struct world w;
    world_init(&w, 2, 1e9, 0.01);
    w.in[1].rate_bits_per_s = 1e8;
    world_up(&w);
    send_at(&w, 0, 0, 1, 0, 20 * MSS);
    struct arrival a[20];
    /* Trains of 0.25 ms at 100 Mbps are 3125 bytes, two segments. */
    CU_ASSERT_EQUAL_FATAL(arrivals(&w, a, 20, INFINITY), 10);
    for (unsigned i = 0; i < 10; i++) {
        /* the first segment over link 1, then link 2 is never idle */
        const double due_s = FRAME * 8 / 1e9 + (2 * i + 2) * FRAME * 8 / 1e8 + 0.02;
        CU_ASSERT_DOUBLE_EQUAL(a[i].due_s, due_s, EPS_S);
        CU_ASSERT_EQUAL(a[i].seq, 2 * i * MSS);
        CU_ASSERT_EQUAL(a[i].payload_bytes, 2 * MSS);
    }
    strait_emu_relay_free(w.relay);
}

/* Store and forward written out segment by segment: L_j = max(L_(j-1), t) + c1 w_j, then
 * M_j = max(M_(j-1), L_j + d1) + c2 w_j; the train is delivered at M_n + d2. */
static void by_segments(void)
{
    for (unsigned trial = 0; trial < 200; trial++) {
        struct world w;
        struct strait_sequence random = strait_sequence_at(trial);
        world_init(&w, 2, 1e9, 0.003);
        w.out[0].rate_bits_per_s = 2e8 + 9.8e9 * strait_sequence_unit(&random);
        w.in[1].rate_bits_per_s = 2e8 + 9.8e9 * strait_sequence_unit(&random);
        world_up(&w);
        const double slow_bits_per_s = fmin(w.out[0].rate_bits_per_s, w.in[1].rate_bits_per_s);
        const unsigned most = strait_emu_net_packet_run_segments(slow_bits_per_s, 0);
        double due_s[20], l_s = 0, m_s = 0, at_s = 0;
        for (unsigned i = 0; i < 20; i++) {
            const size_t payload_bytes =
                1 + (size_t)(strait_sequence_unit(&random) * (most * MSS - 1));
            at_s += strait_sequence_unit(&random) * 2e-4;
            for (size_t left = payload_bytes; left > 0;) {
                const size_t part = left < MSS ? left : MSS;
                const double bits = 8.0 * (double)(part + FRAME - MSS);
                l_s = fmax(l_s, at_s) + bits / w.out[0].rate_bits_per_s;
                m_s = fmax(m_s, l_s + 0.003) + bits / w.in[1].rate_bits_per_s;
                left -= part;
            }
            due_s[i] = m_s + 0.003;
            send_at(&w, at_s, 0, 1, i, payload_bytes);
        }
        struct arrival a[20];
        CU_ASSERT_EQUAL_FATAL(arrivals(&w, a, 20, INFINITY), 20);
        for (unsigned i = 0; i < 20; i++) {
            CU_ASSERT_EQUAL(a[i].seq, i);
            CU_ASSERT_DOUBLE_EQUAL(a[i].due_s, due_s[i], EPS_S);
        }
        strait_emu_relay_free(w.relay);
    }
}

static void ten_into_one(void)
{
    struct world w;
    world_init(&w, 11, 1e8, 0);
    w.in[0].rate_bits_per_s = 1e9;
    world_up(&w);
    for (int i = 1; i <= 10; i++)
        for (unsigned j = 0; j < 10; j++)
            send_at(&w, 0, i, 0, 0, 40 * MSS);
    /* 400 frames from each: the ports take 400 frames at 100 Mbps and the server's keeps up, so the
     * end is at most one train of two frames from each of ten later. */
    const double ports_s = 400 * FRAME * 8 / 1e8;
    const double last_s = last_of_all(&w).due_s;
    CU_ASSERT(last_s > ports_s);
    CU_ASSERT(last_s <= ports_s + 20 * FRAME * 8 / 1e9 + EPS_S);
    CU_ASSERT_EQUAL(in_link(&w, 0).n_segments, 4000);
    CU_ASSERT_EQUAL(in_link(&w, 0).wire_bytes, 4000 * FRAME);
    strait_emu_relay_free(w.relay);
}

static void drop_tail(void)
{
    for (unsigned super = 0; super < 2; super++) {
        struct world w;
        world_init(&w, 2, 1e9, 0.01);
        w.out[0].queue_bytes = 10 * FRAME;
        world_up(&w);
        if (super)
            send_at(&w, 0, 0, 1, 0, 20 * MSS);
        for (unsigned i = 0; i < 20 && !super; i++)
            send_at(&w, 0, 0, 1, i * MSS, MSS);
        /* ten fit, the frame under way included; then the link is free again */
        send_at(&w, 10 * FRAME * 8 / 1e9 + 1e-9, 0, 1, 99, MSS);
        struct arrival a[20];
        const size_t n = arrivals(&w, a, 20, INFINITY);
        CU_ASSERT_EQUAL_FATAL(n, super ? 2 : 11);
        size_t payload_bytes = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            CU_ASSERT_EQUAL(a[i].seq, payload_bytes);
            payload_bytes += a[i].payload_bytes;
        }
        CU_ASSERT_EQUAL(payload_bytes, 10 * MSS);
        CU_ASSERT_EQUAL(a[n - 1].seq, 99);
        CU_ASSERT_EQUAL(out_link(&w, 0).n_queue_drops, 10);
        CU_ASSERT_EQUAL(out_link(&w, 0).n_segments, 11);
        CU_ASSERT_EQUAL(out_link(&w, 0).queue_peak_bytes, 10 * FRAME);
        strait_emu_relay_free(w.relay);
    }
}

static void drop_tail_at_the_second_link(void)
{
    struct world w;
    world_init(&w, 2, 1e9, 0);
    w.in[1].rate_bits_per_s = 1e8;
    w.in[1].queue_bytes = 10 * FRAME + 1;
    world_up(&w);
    send_at(&w, 0, 0, 1, 0, 40 * MSS);
    /* In units of a frame: number j = 1, 2, ... is there at time j, link 2 carries 0.1 a unit.
     * After a accepted ones it finds a - 0.1 (j - 1) and fits when that is at most 9. So 1..10 fit
     * (the tenth finds 8.1), 11 finds 9 and fits, then 21 finds 11 - 2, 31 finds 12 - 3; 41 is too
     * late. At equality the sum of doubles may go either way, so the queue has a byte more. */
    struct arrival a[40];
    const size_t n = arrivals(&w, a, 40, INFINITY);
    size_t payload_bytes = 0;
    for (size_t i = 0; i < n; i++)
        payload_bytes += a[i].payload_bytes;
    const uint64_t n_carried = in_link(&w, 1).n_segments;
    CU_ASSERT_EQUAL(payload_bytes, n_carried * MSS);
    CU_ASSERT_EQUAL(n_carried + in_link(&w, 1).n_queue_drops, 40);
    CU_ASSERT_EQUAL(n_carried, 13);
    const uint64_t peak_bytes = in_link(&w, 1).queue_peak_bytes;
    CU_ASSERT(peak_bytes >= 10 * FRAME - 1 && peak_bytes <= 10 * FRAME + 1);
    strait_emu_relay_free(w.relay);
}

/* Which of n segments arrive, when they are sent in trains of 10; returns how many. */
static size_t survivors(unsigned char *here, size_t n, uint64_t seed)
{
    static struct arrival a[200000];
    struct world w;
    world_init(&w, 2, 1e9, 0.001);
    w.out[0].loss_ratio = 0.01;
    w.plan.seed = seed;
    world_up(&w);
    for (size_t i = 0; i < n; i += 10)
        send_at(&w, 0, 0, 1, (uint32_t)(i * MSS), 10 * MSS);
    const size_t n_trains = arrivals(&w, a, 200000, INFINITY);
    size_t n_here = 0;
    memset(here, 0, n);
    for (size_t i = 0; i < n_trains; i++) {
        CU_ASSERT_EQUAL(a[i].payload_bytes % MSS, 0);
        for (size_t j = 0; j < a[i].payload_bytes / MSS; j++, n_here++)
            here[a[i].seq / MSS + j]++;
    }
    CU_ASSERT_EQUAL(out_link(&w, 0).n_loss_drops, n - n_here);
    strait_emu_relay_free(w.relay);
    return n_here;
}

static void loss(void)
{
    enum { N = 100000 };
    static unsigned char first[N], again[N], other[N];
    const size_t n_here = survivors(first, N, 1);
    /* binomial: 1000 lost, standard deviation sqrt(1e5 x 0.01 x 0.99) = 31.5; four of them */
    CU_ASSERT(N - n_here > 1000 - 126 && N - n_here < 1000 + 126);
    for (size_t i = 0; i < N; i++)
        CU_ASSERT_FATAL(first[i] <= 1);
    /* alone, not in trains: 10 neighbours lost together would be 100 groups */
    size_t n_alone = 0;
    for (size_t i = 1; i + 1 < N; i++)
        n_alone += !first[i] && first[i - 1] && first[i + 1];
    CU_ASSERT((double)n_alone > 0.9 * (double)(N - n_here));
    CU_ASSERT_EQUAL(survivors(again, N, 1), n_here);
    CU_ASSERT_EQUAL(memcmp(first, again, N), 0);
    survivors(other, N, 2);
    CU_ASSERT_NOT_EQUAL(memcmp(first, other, N), 0);
}

static void jitter(void)
{
    struct world w;
    world_init(&w, 2, 1e9, 0);
    w.out[0].delay_s = 0.010;
    w.out[0].jitter_s = 0.004;
    world_up(&w);
    double newest_s = 0, min_s = INFINITY, max_s = 0;
    for (unsigned i = 0; i < 2000; i++) { /* far apart first, then close together */
        static double at_s;
        at_s = i == 0 ? 0 : at_s + (i < 1000 ? 0.02 : 0.0005);
        send_at(&w, at_s, 0, 1, i, 100);
        if (i >= 1000)
            continue;
        const struct arrival a = last_of_all(&w);
        const double delay_s = a.due_s - at_s - 2 * (100 + FRAME - MSS) * 8 / 1e9;
        CU_ASSERT(delay_s > 0.006 - EPS_S && delay_s < 0.014 + EPS_S);
        min_s = fmin(min_s, delay_s);
        max_s = fmax(max_s, delay_s);
    }
    CU_ASSERT(min_s < 0.0065 && max_s > 0.0135); /* of 1000 uniform ones */
    static struct arrival a[1000];
    CU_ASSERT_EQUAL_FATAL(arrivals(&w, a, 1000, INFINITY), 1000);
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(a[i].seq, 1000 + i);
        CU_ASSERT(a[i].due_s >= newest_s);
        newest_s = a[i].due_s;
    }
    strait_emu_relay_free(w.relay);
}

static void dilation(void)
{
    struct world w;
    world_init(&w, 2, 1e9, 0.01);
    w.plan.dilation = 4;
    world_up(&w);
    send_at(&w, 0, 0, 1, 0, 20 * MSS);
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&w).due_s, 4 * (21 * FRAME * 8 / 1e9 + 0.02), EPS_S);
    strait_emu_relay_free(w.relay);
}

static void unshaped(void)
{
    struct world w;
    world_init(&w, 2, 1e6, 1);
    w.plan.unshaped = true;
    world_up(&w);
    send_at(&w, 5, 0, 1, 0, 40 * MSS);
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&w).due_s, 5, EPS_S);
    strait_emu_relay_free(w.relay);
}

static void strangers(void)
{
    static unsigned char bytes[STRAIT_EMU_PACKET_CAP_BYTES];
    struct world w;
    world_init(&w, 2, 1e9, 0);
    world_up(&w);
    size_t n = tcp_packet(bytes, 0, 2, 0, 100, TH_ACK); /* there is no node 2 */
    strait_emu_relay_offer(w.relay, 0, 0, bytes, n);
    n = tcp_packet(bytes, 0, 1, 0, 100, TH_ACK);
    strait_emu_relay_offer(w.relay, 0, 0, bytes, n - 1); /* cut short */
    strait_emu_relay_offer(w.relay, 0, 0, bytes, 3);
    bytes[10] = 0x65; /* IPv6 */
    strait_emu_relay_offer(w.relay, 0, 0, bytes, n);
    n = tcp_packet(bytes, 0, 1, 0, 2 * MSS, TH_ACK);
    bytes[30 + 12] = 0x10; /* a super-packet whose TCP header claims 4 bytes */
    strait_emu_relay_offer(w.relay, 0, 0, bytes, n);
    struct strait_emu_relay_report totals = {0};
    strait_emu_relay_totals(&totals, w.relay);
    CU_ASSERT_EQUAL(totals.n_unroutable, 5);
    CU_ASSERT_EQUAL(strait_emu_relay_next_s(w.relay), INFINITY);
    strait_emu_relay_free(w.relay);
}

static const struct strait_test tests[] = {
    {"a frame takes each link's time and each link's delay", one_frame},
    {"frames leave a link back to back, and at once when it is free", back_to_back},
    {"a link changes its rate as the run goes on", changing},
    {"a train is stored and forwarded by segment, not as a block", pipelined},
    {"a train is split for a slow second link and never leaves it idle", into_a_slow_link},
    {"trains of one source equal store and forward segment by segment", by_segments},
    {"ten slow ports fill a fast one without losing capacity", ten_into_one},
    {"a full queue drops the tail, the same for a super-packet and for frames", drop_tail},
    {"the second link drops what comes faster than it drains", drop_tail_at_the_second_link},
    {"loss takes single segments, at its ratio, by the seed", loss},
    {"jitter stays in its range and never reorders", jitter},
    {"dilation multiplies every time", dilation},
    {"an unshaped relay forwards at once", unshaped},
    {"packets to nowhere and malformed ones are counted and dropped", strangers},
};
STRAIT_SUITE("emu/relay/relay", tests);
