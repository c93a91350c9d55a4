/* The relay on networks of sites, up to five links a path, without devices. Nodes 0 and 1 stand at
 * site 0, 2 and 3 at site 1, node 4 at the core. F is a full frame in bits. */
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "relay_world.h"

enum { N = 5, N_BETWEEN = 4 + 4 };
/* By number in the plan's list of links between nodes: sites' ports, then pairs. */
enum { OUT_0, IN_0, OUT_1, IN_1, PAIR_01 = 4 + 1, PAIR_10 = 4 + 2 };
static const double F = FRAME * 8;

struct sites {
    struct world w;
    struct strait_link between[N_BETWEEN];
    struct strait_network network;
    struct strait_link pairs[4];
    int site[N];
};

/* All links alike, and between the sites one of the pair alone, as in `between`. */
static void sites_init(struct sites *s, double rate_bits_per_s, double delay_s)
{
    world_init(&s->w, N, rate_bits_per_s, delay_s);
    for (int i = 0; i < N_BETWEEN; i++)
        s->between[i] = s->w.out[0];
    memcpy(s->site, (int[N]){0, 0, 1, 1, -1}, sizeof(s->site));
    memset(s->pairs, 0, sizeof(s->pairs));
    s->pairs[1].rate_bits_per_s = s->pairs[2].rate_bits_per_s = rate_bits_per_s;
    s->between[4].rate_bits_per_s = s->between[7].rate_bits_per_s = 0; /* a site to itself */
    s->network =
        (struct strait_network){.n_ranks = N, .n_sites = 2, .site = s->site, .between = s->pairs};
    s->w.plan.sites = &s->network;
    s->w.plan.between = s->between;
}

/* The links from node 0 to node 2, in order. */
static void path_0_to_2(struct strait_link *links[STRAIT_MAX_HOPS], struct sites *s)
{
    links[0] = &s->w.out[0];
    links[1] = &s->between[OUT_0];
    links[2] = &s->between[PAIR_01];
    links[3] = &s->between[IN_1];
    links[4] = &s->w.in[2];
}

static struct strait_emu_link_report between_link(const struct sites *s, int i)
{
    return strait_emu_relay_link(s->w.relay, 2 * N + i, INFINITY);
}

static void paths(void)
{
    const struct {
        int src, dst, n_links;
    } cases[] = {{0, 1, 2}, {0, 2, 5}, {3, 1, 5}, {0, 4, 3}, {4, 3, 3}, {4, 4, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sites s;
        sites_init(&s, 1e8, 0.01);
        world_up(&s.w);
        CU_ASSERT_EQUAL(strait_emu_relay_n_links(s.w.relay), 2 * N + N_BETWEEN);
        send_at(&s.w, 3, cases[i].src, cases[i].dst, 0, MSS);
        const struct arrival a = last_of_all(&s.w);
        CU_ASSERT_EQUAL(a.dst, cases[i].dst);
        CU_ASSERT_DOUBLE_EQUAL(a.due_s, 3 + cases[i].n_links * (F / 1e8 + 0.01), EPS_S);
        uint64_t n_carried = 0;
        for (int j = 0; j < 2 * N + N_BETWEEN; j++)
            n_carried += strait_emu_relay_link(s.w.relay, j, INFINITY).n_segments;
        CU_ASSERT_EQUAL(n_carried, cases[i].n_links);
        strait_emu_relay_free(s.w.relay);
    }
}

static void without_a_pair(void)
{
    struct sites s;
    sites_init(&s, 1e8, 0.01);
    s.network.between =
        NULL; /* then through the core: four links, and numbers end with the ports */
    world_up(&s.w);
    CU_ASSERT_EQUAL(strait_emu_relay_n_links(s.w.relay), 2 * N + 4);
    send_at(&s.w, 0, 0, 2, 0, MSS);
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&s.w).due_s, 4 * (F / 1e8 + 0.01), EPS_S);
    strait_emu_relay_free(s.w.relay);
}

static void every_link_counts(void)
{
    static const double rates_bits_per_s[] = {1e9, 3e8, 1e8, 7e8, 2e9},
                        delays_s[] = {0.001, 0.02, 0.05, 0.003, 0.0004};
    struct sites s;
    struct strait_link *links[STRAIT_MAX_HOPS];
    sites_init(&s, 1e9, 0);
    s.w.plan.overhead_bytes = 24;
    s.w.plan.dilation = 4;
    path_0_to_2(links, &s);
    double due_s = 3;
    for (int i = 0; i < STRAIT_MAX_HOPS; i++) {
        links[i]->rate_bits_per_s = rates_bits_per_s[i];
        links[i]->delay_s = delays_s[i];
        due_s += 4 * (1538 * 8 / rates_bits_per_s[i] + delays_s[i]);
    }
    world_up(&s.w);
    send_at(&s.w, 3, 0, 2, 0, MSS);
    CU_ASSERT_DOUBLE_EQUAL(last_of_all(&s.w).due_s, due_s, EPS_S);
    strait_emu_relay_free(s.w.relay);
}

/* n equal segments: the first crosses all links, the others follow at the narrowest one's pace,
 *     sum of F / rate + sum of delays + (n - 1) F / least rate,
 * wherever the narrowest link is. */
static void the_narrowest_link_sets_the_pace(void)
{
    enum { SEGMENTS = 40 };
    for (int narrow = 0; narrow < STRAIT_MAX_HOPS; narrow++) {
        struct sites s;
        struct strait_link *links[STRAIT_MAX_HOPS];
        struct arrival a[SEGMENTS];
        sites_init(&s, 1e9, 0.002);
        path_0_to_2(links, &s);
        links[narrow]->rate_bits_per_s = 1e8;
        world_up(&s.w);
        send_at(&s.w, 0, 0, 2, 0, SEGMENTS * MSS);
        const size_t n = arrivals(&s.w, a, SEGMENTS, INFINITY);
        const double due_s = 4 * F / 1e9 + F / 1e8 + 5 * 0.002 + (SEGMENTS - 1) * F / 1e8;
        CU_ASSERT_DOUBLE_EQUAL(a[n - 1].due_s, due_s, EPS_S);
        size_t payload_bytes = 0;
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_EQUAL(a[i].seq, payload_bytes);
            payload_bytes += a[i].payload_bytes;
        }
        CU_ASSERT_EQUAL(payload_bytes, SEGMENTS * MSS);
        strait_emu_relay_free(s.w.relay);
    }
}

/* Store and forward written out: a segment of w bits leaves link i at
 *     L_i = max(what L_i was, L_(i-1) + d_(i-1)) + w / rate_i.
 * Frames are exact. Of a train the relay keeps its first and last segment on the later links and
 * spaces the others evenly: late or early by less than the train itself, 0.25 ms at its narrowest
 * link. */
static void by_segments(void)
{
    for (unsigned trial = 0; trial < 200; trial++) {
        struct sites s;
        struct strait_link *links[STRAIT_MAX_HOPS];
        struct strait_sequence random = strait_sequence_at(trial);
        const bool frames = trial % 2 == 0;
        double slow_bits_per_s = INFINITY, left_s[STRAIT_MAX_HOPS] = {0}, due_s[40], at_s = 0;
        sites_init(&s, 1e9, 0.003);
        path_0_to_2(links, &s);
        for (int i = 0; i < STRAIT_MAX_HOPS; i++) {
            links[i]->rate_bits_per_s = 2e8 + 4.8e9 * strait_sequence_unit(&random);
            slow_bits_per_s = fmin(slow_bits_per_s, links[i]->rate_bits_per_s);
        }
        world_up(&s.w);
        const unsigned most = frames ? 1 : strait_emu_net_packet_run_segments(slow_bits_per_s, 0);
        for (unsigned j = 0; j < 40; j++) {
            const size_t payload_bytes =
                1 + (size_t)(strait_sequence_unit(&random) * (most * MSS - 1));
            at_s += strait_sequence_unit(&random) * (frames ? 2e-5 : 2e-4);
            for (size_t rest = payload_bytes; rest > 0;) {
                const size_t part = rest < MSS ? rest : MSS;
                double there_s = at_s;
                for (int i = 0; i < STRAIT_MAX_HOPS; i++) {
                    left_s[i] = fmax(left_s[i], there_s) +
                                8.0 * (double)(part + FRAME - MSS) / links[i]->rate_bits_per_s;
                    there_s = left_s[i] + 0.003;
                }
                due_s[j] = there_s;
                rest -= part;
            }
            send_at(&s.w, at_s, 0, 2, j, payload_bytes);
        }
        struct arrival a[40];
        const double eps_s = frames ? EPS_S : 0.25e-3;
        CU_ASSERT_EQUAL_FATAL(arrivals(&s.w, a, 40, INFINITY), 40);
        for (unsigned j = 0; j < 40; j++) {
            CU_ASSERT_EQUAL(a[j].seq, j);
            CU_ASSERT_DOUBLE_EQUAL(a[j].due_s, due_s[j], eps_s);
        }
        strait_emu_relay_free(s.w.relay);
    }
}

/* Nodes 0 and 1 send 200 frames each to nodes 2 and 3, all at once, over a pair's link a tenth as
 * fast as the ports: it is never idle from the first frame on, and takes them in turns. */
static void a_link_between_sites_is_shared(void)
{
    enum { EACH = 200 };
    static struct arrival a[2 * EACH];
    struct sites s;
    sites_init(&s, 1e9, 0.001);
    s.between[PAIR_01].rate_bits_per_s = 1e8;
    world_up(&s.w);
    for (unsigned i = 0; i < EACH / 20; i++)
        for (int src = 0; src < 2; src++)
            send_at(&s.w, 0, src, src + 2, i * 20 * MSS, 20 * MSS);
    const size_t n = arrivals(&s.w, a, 2 * EACH, INFINITY);
    /* two links before it, then 2 EACH frames on it, then two links after it; in trains of two at
     * 100 Mbps it may begin a frame of the ports later */
    const double first_s = 2 * F / 1e9, last_s = a[n - 1].due_s - 5 * 0.001 - 2 * F / 1e9;
    CU_ASSERT(last_s > first_s + 2 * EACH * F / 1e8 - EPS_S);
    CU_ASSERT(last_s < first_s + 2 * EACH * F / 1e8 + 4 * F / 1e9);
    size_t seen_bytes[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        seen_bytes[a[i].dst - 2] += a[i].payload_bytes;
        /* in turns, as they came: neither is ahead by more than one train of each source */
        const double ahead = fabs((double)seen_bytes[0] - (double)seen_bytes[1]);
        CU_ASSERT(ahead <= 4 * MSS);
    }
    CU_ASSERT_EQUAL(seen_bytes[0] + seen_bytes[1], (size_t)2 * EACH * MSS);
    CU_ASSERT_EQUAL(between_link(&s, PAIR_01).n_segments, 2 * EACH);
    CU_ASSERT_EQUAL(between_link(&s, PAIR_01).wire_bytes, (uint64_t)2 * EACH * FRAME);
    CU_ASSERT_EQUAL(between_link(&s, PAIR_10).n_segments + between_link(&s, IN_0).n_segments, 0);
    strait_emu_relay_free(s.w.relay);
}

/* While a pair's link is full, who does not cross it sees nothing of it. */
static void others_are_not_held_up(void)
{
    struct sites s;
    struct arrival a[200];
    sites_init(&s, 1e9, 0.001);
    s.between[PAIR_01].rate_bits_per_s = 1e6;
    world_up(&s.w);
    for (unsigned i = 0; i < 100; i++)
        send_at(&s.w, 0, 0, 2, i * MSS, MSS);
    const double free_s = 100 * F / 1e9; /* node 0's port */
    send_at(&s.w, free_s, 0, 1, 0, MSS); /* its neighbour */
    send_at(&s.w, free_s, 0, 4, 0, MSS); /* the core, over its site's port */
    send_at(&s.w, free_s, 3, 0, 0, MSS); /* the other direction */
    const size_t n = arrivals(&s.w, a, 200, 1);
    int n_seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (a[i].dst == 2)
            continue;
        const int n_links = a[i].dst == 1 ? 2 : a[i].dst == 4 ? 3 : 5;
        const int behind = a[i].dst == 4; /* the neighbour's frame on node 0's port */
        CU_ASSERT_DOUBLE_EQUAL(a[i].due_s, free_s + n_links * (F / 1e9 + 0.001) + behind * F / 1e9,
                               EPS_S);
        n_seen++;
    }
    CU_ASSERT_EQUAL(n_seen, 3);
    strait_emu_relay_free(s.w.relay);
}

/* As at a second link (test_relay), whichever link is the narrow one: 13 of 40 are carried. In
 * frames of the ports' time, frame j = 0, 1, ... finds a - j / 10 ones, a of them accepted before
 * it, and fits when that is at most 9: 0..9, then one in ten. */
static void the_narrow_link_drops(void)
{
    for (int narrow = 1; narrow < STRAIT_MAX_HOPS; narrow++) {
        struct sites s;
        struct strait_link *links[STRAIT_MAX_HOPS];
        struct arrival a[40];
        int numbers[STRAIT_MAX_HOPS];
        sites_init(&s, 1e9, 0.001);
        path_0_to_2(links, &s);
        links[narrow]->rate_bits_per_s = 1e8;
        links[narrow]->queue_bytes = 10 * FRAME + 1;
        world_up(&s.w);
        CU_ASSERT_EQUAL_FATAL(strait_network_path(&s.network, 0, 2, numbers), STRAIT_MAX_HOPS);
        send_at(&s.w, 0, 0, 2, 0, 40 * MSS);
        const size_t n = arrivals(&s.w, a, 40, INFINITY);
        size_t payload_bytes = 0;
        for (size_t i = 0; i < n; i++)
            payload_bytes += a[i].payload_bytes;
        CU_ASSERT_EQUAL(payload_bytes, 13 * MSS);
        for (int i = 0; i < STRAIT_MAX_HOPS; i++) {
            const struct strait_emu_link_report r =
                strait_emu_relay_link(s.w.relay, numbers[i], INFINITY);
            CU_ASSERT_EQUAL(r.n_segments, i < narrow ? 40 : 13);
            CU_ASSERT_EQUAL(r.n_queue_drops, i == narrow ? 27 : 0);
        }
        strait_emu_relay_free(s.w.relay);
    }
}

/* Which of 20000 frames to node 2 arrive when the pair's link loses 1 %; others: traffic that does
 * not cross it. */
static size_t survivors(unsigned char here[20000], bool others)
{
    static struct arrival a[60000];
    struct sites s;
    sites_init(&s, 1e9, 0.001);
    s.between[PAIR_01].loss_ratio = 0.01;
    s.w.out[0].jitter_s = 0.0005;
    world_up(&s.w);
    for (unsigned i = 0; i < 20000; i++) {
        send_at(&s.w, i * 3e-5, 0, 2, i, 100);
        if (others)
            send_at(&s.w, i * 3e-5, 3, 1, i, 100);
    }
    const size_t n = arrivals(&s.w, a, 60000, INFINITY);
    size_t n_here = 0;
    memset(here, 0, 20000);
    for (size_t i = 0; i < n; i++)
        if (a[i].dst == 2) {
            here[a[i].seq] = 1;
            n_here++;
        }
    CU_ASSERT_EQUAL(between_link(&s, PAIR_01).n_loss_drops, 20000 - n_here);
    CU_ASSERT_EQUAL(n - n_here, others ? 20000 : 0);
    strait_emu_relay_free(s.w.relay);
    return n_here;
}

static void loss_is_the_links_own(void)
{
    static unsigned char alone[20000], beside[20000];
    const size_t n_here = survivors(alone, false);
    /* binomial: 200 lost, standard deviation sqrt(2e4 x 0.01 x 0.99) = 14.1; four of them */
    CU_ASSERT(20000 - n_here > 200 - 57 && 20000 - n_here < 200 + 57);
    CU_ASSERT_EQUAL(survivors(beside, true), n_here);
    CU_ASSERT_EQUAL(memcmp(alone, beside, sizeof(alone)), 0);
}

static void a_queue_at_a_moment(void)
{
    struct world w;
    world_init(&w, 2, 1e8, 0.01);
    world_up(&w);
    for (unsigned i = 0; i < 20; i++)
        send_at(&w, 0, 0, 1, i * MSS, MSS);
    /* 20 frames at once: after 5.5 frames' time 14.5 are still there */
    const struct strait_emu_link_report r = strait_emu_relay_link(w.relay, 0, 5.5 * F / 1e8);
    CU_ASSERT_EQUAL(r.wire_bytes, 20 * FRAME);
    CU_ASSERT_EQUAL(r.backlog_bytes, 14.5 * FRAME);
    CU_ASSERT_EQUAL(r.carried_bytes, 5.5 * FRAME);
    strait_emu_relay_restart_counters(w.relay);
    CU_ASSERT_EQUAL(out_link(&w, 0).wire_bytes, 0);
    CU_ASSERT_EQUAL(strait_emu_relay_link(w.relay, 0, 5.5 * F / 1e8).carried_bytes, 0);
    CU_ASSERT_EQUAL(arrivals(&w, (struct arrival[20]){0}, 20, INFINITY), 20);
    CU_ASSERT_EQUAL(in_link(&w, 1).carried_bytes, 20 * FRAME);
    strait_emu_relay_free(w.relay);
}

static const struct strait_test tests[] = {
    {"a frame crosses two links in a site, three to the core, five to another site", paths},
    {"sites without a link of their pair meet at the core", without_a_pair},
    {"each of five links adds its time and its delay, at any dilation", every_link_counts},
    {"the narrowest of five links sets the pace, wherever it is", the_narrowest_link_sets_the_pace},
    {"five links equal store and forward segment by segment", by_segments},
    {"a link between sites is shared evenly and without loss of capacity",
     a_link_between_sites_is_shared},
    {"who does not cross a full link is not held up by it", others_are_not_held_up},
    {"the narrow link drops what comes faster than it drains, no other does",
     the_narrow_link_drops},
    {"what a link loses does not depend on traffic elsewhere", loss_is_the_links_own},
    {"a link's queue and what has left it are told for any moment", a_queue_at_a_moment},
};
STRAIT_SUITE("emu/relay/relay_sites", tests);
