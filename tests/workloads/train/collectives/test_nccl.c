/* NCCL's collectives: which algorithm by its tuning's figures, added up by hand; sums, bytes,
 * time. */
#include "collective_forms.h"
#include "workloads/train/collectives/nccl/nccl_ring.h"

/* Four ranks on 1 Gbps: of the cards that NCCL knows the next slower has 0.12 GB/s. Rings have 4 /
 * 6 of that, half of it with LL; trees 0.12 x 0.92 x 0.85 / 2 = 0.04692 GB/s times a factor, and 1
 * / 3.8 of it with LL.
 *
 *   4 KiB, us    ring LL      6.6 + 6 x 5 + 4096 / 40                 = 139.0
 *                ring Simple  1.4 x (8.4 + 6 x 14) + 4096 / 80        = 180.6
 *                tree Simple  8.4 + 4 x 14 + 4096 / (46.92 x 0.9)     = 161.4
 *   16 KiB       ring LL 446.2, ring Simple 334.2, tree Simple 8.4 + 56 + 16384 / (46.92 x 0.7) =
 *                563.3
 *   64 ranks, 64 KiB
 *                ring Simple  1.4 x (8.4 + 126 x 14) + 65536 / (120 x 64 / 126) = 3556.6
 *                ring LL      6.6 + 126 x 5 + 65536 / (60 x 64 / 126) = 2786.9
 *                tree Simple  8.4 + 12 x 14 + 65536 / (46.92 x 0.6)   = 2504.4
 *   64 ranks, 4 B: tree LL    6.8 + 12 x 5 + 4 / 12.347               = 67.1
 *
 * 16 KiB are less than 2 channels of 256 threads with 64 B each. */
static void choices(void)
{
    static const struct {
        int n;
        size_t bytes;
        bool is_tree, is_ll;
        int n_channels;
        double us;
    } cases[] = {{4, 4096, false, true, 1, 139.0},
                 {4, 16384, false, false, 1, 334.16},
                 {4, 1 << 20, false, false, 2, 129.36 + 1048576 / 80.0},
                 {64, 65536, true, false, 2, 2504.4},
                 {64, 4, true, true, 1, 67.12},
                 {100, 4, true, true, 1, 67.12}}; /* a tree of six levels, too */
    const struct strait_link link = {.rate_bits_per_s = 1e9, .queue_bytes = INFINITY};
    struct strait_network *network =
        strait_network_star(4, link, link, link, link, 24, (struct strait_tcp){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct strait_nccl_plan p = strait_nccl_plan(network, cases[i].n, cases[i].bytes / 4);
        strait_test_context("%d ranks, %zu bytes", cases[i].n, cases[i].bytes);
        CU_ASSERT_EQUAL(p.is_tree, cases[i].is_tree);
        CU_ASSERT_EQUAL(p.is_ll, cases[i].is_ll);
        CU_ASSERT_EQUAL(p.n_channels, cases[i].n_channels);
        CU_ASSERT_DOUBLE_EQUAL(p.us, cases[i].us, 0.1);
        CU_ASSERT_EQUAL(p.chunk_bytes, cases[i].is_ll ? 32u << 10 : 2u << 20);
    }
    strait_test_context("%s", "");
    strait_network_free(network);
}

/* The same network. All-gathers by bytes of all ranks together, us:
 *
 *   4 ranks, 2 KB    ring LL      6.6 + 3 x 5 + 2000 / (60 x 4 / 3)      = 46.6
 *                    ring Simple  8.4 + 3 x 14 + 2000 / 160              = 62.9
 *                    PAT          8 + 2 x 4 + 4 x 2.8 + 2000 / 90        = 49.42
 *            4.5 KB  ring LL 77.85, ring Simple 78.525, PAT 27.2 + 50    = 77.2
 *            1 MB    ring Simple  50.4 + 6250                            = 6300.4
 *   64 ranks, 200 KB ring Simple  8.4 + 63 x 14 + 200000 / (120 x 64 / 63) = 2531.025
 *                    PAT          8 + 6 x 4 + 64 x 2.8 + 200000 / 90     = 2433.42
 *
 * Broadcasts, four ranks: LL 6.6 + 2.7 + n / 60, Simple 8.4 + 14 + n / 120. */
static void other_choices(void)
{
    static const struct {
        enum strait_nccl_call call;
        int n;
        double bytes;
        bool is_pat, is_ll;
        int n_channels;
        size_t chunk_bytes;
        double us;
    } cases[] = {{STRAIT_NCCL_SPREAD, 4, 2000, false, true, 1, 32 << 10, 46.6},
                 {STRAIT_NCCL_SPREAD, 4, 4500, true, false, 1, 2 << 20, 77.2},
                 {STRAIT_NCCL_SPREAD, 4, 1e6, false, false, 2, 2 << 20, 6300.4},
                 {STRAIT_NCCL_SPREAD, 64, 2e5, true, false, 2, 2 << 20, 32 + 179.2 + 2e5 / 90},
                 {STRAIT_NCCL_BROADCAST, 4, 1200, false, true, 1, 32 << 10, 29.3},
                 {STRAIT_NCCL_BROADCAST, 4, 1.2e6, false, false, 2, 512 << 10, 10022.4}};
    const struct strait_link link = {.rate_bits_per_s = 1e9, .queue_bytes = INFINITY};
    struct strait_network *network =
        strait_network_star(4, link, link, link, link, 24, (struct strait_tcp){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct strait_nccl_plan p =
            strait_nccl_plan_of(cases[i].call, network, cases[i].n, cases[i].bytes);
        strait_test_context("call %d, %d ranks, %.0f B", (int)cases[i].call, cases[i].n,
                            cases[i].bytes);
        CU_ASSERT_EQUAL(p.is_pat, cases[i].is_pat);
        CU_ASSERT_EQUAL(p.is_ll, cases[i].is_ll);
        CU_ASSERT_FALSE(p.is_tree);
        CU_ASSERT_EQUAL(p.n_channels, cases[i].n_channels);
        CU_ASSERT_EQUAL(p.chunk_bytes, cases[i].chunk_bytes);
        CU_ASSERT_DOUBLE_EQUAL(p.us, cases[i].us, 0.1);
    }
    strait_test_context("%s", "");
    strait_network_free(network);
}

/* Elements of a call; 0: not a ring. */
enum { RING_ELEMS = 100000, LOOP_ELEMS = 2200000, LL_ELEMS = 1024, TREE_ELEMS = 8 };
static size_t n_elems;

/* Of one of two halves a loop has 2 x 524288 elements, in two chunks, and the second one the rest.
 * Chunk p begins with rank p + 1. */
static float ring_sum(size_t i, int n, int n_channels, float recorded)
{
    const int channel = part_with(n_elems, i, n_channels);
    const size_t lo = n_elems * (size_t)channel / (size_t)n_channels,
                 hi = n_elems * (size_t)(channel + 1) / (size_t)n_channels,
                 most = (size_t)n * 524288, at = i - lo, loop = at / most * most,
                 left = hi - lo - loop, here = left < most ? left : most;
    return in_turn((part_with(here, at - loop, n) + 1) % n, n, recorded);
}

static float sum_of(size_t i, int n, float recorded)
{
    if (n_elems == TREE_ELEMS)
        return below(part_with(n_elems, i, 2), 0, n, recorded);
    return ring_sum(i, n, n_elems == LL_ELEMS ? 1 : 2, recorded);
}

static void sum_twice(struct strait_rank *r)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    struct strait_tensor *x = strait_scratch(r, n_elems);
    for (int call = 0; call < 2; call++) {
        float *values = strait_values(r, x);
        for (size_t i = 0; i < n_elems; i++)
            values[i] = part_of(me, (float)(i % 1001) / 7);
        strait_all_reduce(r, strait_world(r, 0), strait_codec(r, "none"), x, STRAIT_AR_NCCL);
        values = strait_values(r, x);
        for (size_t i = 0; i < n_elems; i++) {
            const float sum = sum_of(i, n, (float)(i % 1001) / 7);
            if (memcmp(&values[i], &sum, sizeof(sum)) != 0)
                complain(r, N_COLLECTIVES, "sum in its order", (double)values[i], (double)sum);
        }
        barrier(r);
    }
}

/* A ring sends 2 (n - 1) times the tensor, with LL twice that. */
static void sums(void)
{
    static const struct {
        size_t n_elems;
        int from, to, times;
    } cases[] = {{RING_ELEMS, 2, MAX_RANKS, 1},
                 {LOOP_ELEMS, 2, 2, 1},
                 {LL_ELEMS, 4, 4, 2},
                 {TREE_ELEMS, 4, MAX_RANKS, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int n = cases[i].from; n <= cases[i].to; n++) {
            n_elems = cases[i].n_elems;
            strait_test_context("%d ranks, %zu elements", n, n_elems);
            struct strait_outcome o = run_ranks(n, true, sum_twice, NULL);
            CU_ASSERT_EQUAL(o.payload_bytes,
                            2 * 4 * n_elems * 2 * (size_t)(n - 1) * (size_t)cases[i].times);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

static struct strait_group by_nccl(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, 0);
    world.library = STRAIT_NCCL;
    return world;
}

/* The ports of these runs have 100 Mbps, the slowest card's 0.12 GB/s: LL for a few bytes, PAT in
 * between, a ring for more. */
static bool is_by_pat(int n, double bytes)
{
    const double pat_us = 8 + 4 * floor(log2(n)) + 2.8 * n + bytes / 90,
                 ll_us = 6.6 + 5 * (n - 1) + bytes * (n - 1) / (60 * n),
                 simple_us = 8.4 + 14 * (n - 1) + bytes * (n - 1) / (120 * n);
    return pat_us < ll_us && pat_us < simple_us;
}

static bool is_with_flags(int n, double bytes)
{
    const double ll_us = 6.6 + 5 * (n - 1) + bytes * (n - 1) / (60 * n),
                 simple_us = 8.4 + 14 * (n - 1) + bytes * (n - 1) / (120 * n);
    return !is_by_pat(n, bytes) && ll_us < simple_us;
}

static float value_of(size_t i)
{
    return (float)(i % 1001) / 7;
}

/* Part p begins with rank p in a ring; by PAT it is pairs of pairs from its owner, rank p - 1, on,
 * so that of the owner. */
static void check_sums(struct strait_rank *r, const float *values, bool has_all)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    for (size_t i = 0; i < n_elems; i++) {
        const int part = part_with(n_elems, i, n);
        const float sum = is_by_pat(n, 4.0 * (double)n_elems)
                              ? by_pairs((part + n - 1) % n, 0, n, n, value_of(i))
                              : in_turn(part, n, value_of(i));
        if ((has_all || part == (me + 1) % n) && memcmp(&values[i], &sum, sizeof(sum)) != 0)
            complain(r, N_COLLECTIVES, "sum in its order", (double)values[i], (double)sum);
    }
}

static void scatter_main(struct strait_rank *r)
{
    struct strait_group world = by_nccl(r);
    struct strait_codec *none = strait_codec(r, "none");
    struct strait_tensor *x = strait_scratch(r, n_elems);
    for (size_t i = 0; i < n_elems; i++)
        strait_values(r, x)[i] = part_of(world.me, value_of(i));
    strait_reduce_scatter(r, world, none, x);
    check_sums(r, strait_values(r, x), false);
    barrier(r);
    strait_all_gather(r, world, none, x);
    check_sums(r, strait_values(r, x), true);
}

/* 2 (n - 1) times the tensor, with LL twice that; the last is more than a loop of each half. */
static void scattered(void)
{
    static const size_t elems[] = {3, 400, 1100, 20001, 1 << 20, 2200001};
    for (size_t k = 0; k < sizeof(elems) / sizeof(*elems); k++)
        for (int n = 1; n <= (elems[k] > 100000 ? 2 : IS_SANITIZED ? 4 : MAX_RANKS); n++) {
            n_elems = elems[k];
            strait_test_context("%d ranks, %zu elements", n, n_elems);
            struct strait_outcome o = run_ranks(n, true, scatter_main, NULL);
            const bool flags = n > 1 && is_with_flags(n, 4.0 * (double)n_elems);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(n - 1) * 4 * n_elems * (flags ? 2 : 1));
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

static bool sizes_differ;

static size_t elems_of(int rank)
{
    return n_elems + (sizes_differ ? 3 * (size_t)rank : 0);
}

/* Rank i's values are i + k / 1024. */
static struct strait_packet *own_packet(struct strait_rank *r, int me, struct strait_tensor *x)
{
    for (size_t k = 0; k < elems_of(me); k++)
        strait_values(r, x)[k] = (float)me + (float)(k % 1024) / 1024;
    return strait_encode(r, strait_codec(r, "none"), NAN, strait_range(r, x, 0, elems_of(me)));
}

static void check_packet(struct strait_rank *r, int i, struct strait_tensor *y,
                         struct strait_packet *packet)
{
    struct strait_tensor *part = strait_range(r, y, 0, elems_of(i));
    strait_decode(r, part, packet);
    for (size_t k = 0; k < elems_of(i); k++) {
        const float wanted = (float)i + (float)(k % 1024) / 1024;
        if (memcmp(&strait_values(r, part)[k], &wanted, sizeof(wanted)) != 0)
            complain(r, N_COLLECTIVES, "value", (double)strait_values(r, part)[k], (double)wanted);
    }
}

static void gather_main(struct strait_rank *r)
{
    struct strait_group world = by_nccl(r);
    const size_t most = n_elems + 3 * MAX_RANKS;
    struct strait_tensor *x = strait_scratch(r, most), *y = strait_scratch(r, most);
    struct strait_packet **all = strait_alloc(r, (size_t)world.n, sizeof(struct strait_packet *));
    all[world.me] = own_packet(r, world.me, x);
    strait_gather_packets(r, world, all, sizes_differ);
    for (int i = 0; i < world.n; i++)
        check_packet(r, i, y, all[i]);
}

/* Each rank's packet n - 1 times, padded to the largest; before that 8 bytes each where they
 * differ. */
static void gathered(void)
{
    static const size_t elems[] = {2, 300, 5000, 1200000};
    for (size_t k = 0; k < sizeof(elems) / sizeof(*elems); k++)
        for (int n = 1; n <= (elems[k] > 100000 ? 2 : IS_SANITIZED ? 4 : MAX_RANKS); n++)
            for (int differ = 0; differ < 2; differ++) {
                const uint64_t m = (uint64_t)n;
                n_elems = elems[k];
                sizes_differ = differ;
                const size_t largest = 4 * elems_of(n - 1);
                strait_test_context("%d ranks, %zu elements%s", n, n_elems, differ ? " more" : "");
                struct strait_outcome o = run_ranks(n, true, gather_main, NULL);
                const uint64_t flags = is_with_flags(n, (double)m * (double)largest) ? 2 : 1,
                               word_bytes = is_with_flags(n, 8. * n) ? 16 : 8;
                CU_ASSERT_EQUAL(o.payload_bytes,
                                m * (m - 1) * (flags * largest + (differ ? word_bytes : 0)));
                strait_outcome_free(&o);
            }
    strait_test_context("%s", "");
}

static void broadcast_main(struct strait_rank *r)
{
    struct strait_group world = by_nccl(r);
    struct strait_tensor *x = strait_scratch(r, n_elems), *y = strait_scratch(r, n_elems);
    for (int root = 0; root < world.n; root++)
        for (int known = 0; known < 2; known++) {
            struct strait_packet *mine = root == world.me ? own_packet(r, root, x) : NULL;
            check_packet(r, root, y,
                         strait_broadcast_packet(r, world, root, mine, known ? 4 * n_elems : 0));
            barrier(r);
        }
}

/* n - 1 times the packet, in chunks down the chain; once 8 bytes before, with their flags. */
static void broadcast(void)
{
    static const struct {
        size_t n_elems;
        uint64_t n_chunks; /* of one channel or two */
    } cases[] = {{1, 1}, {300, 1}, {500, 1}, {9000, 2}, {300001, 4}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++)
        for (int n = 1; n <= (IS_SANITIZED || k == 4 ? 4 : MAX_RANKS); n++) {
            const uint64_t edges = (uint64_t)n * (uint64_t)(n - 1);
            const uint64_t flags = 13.1 > 4 * (double)cases[k].n_elems / 120 ? 2 : 1,
                           n_barrier = n > 1 ? 2 * (uint64_t)n * 2 * (uint64_t)n : 0;
            n_elems = cases[k].n_elems;
            sizes_differ = false;
            strait_test_context("%d ranks, %zu elements", n, n_elems);
            struct strait_outcome o = run_ranks(n, true, broadcast_main, NULL);
            CU_ASSERT_EQUAL(o.payload_bytes, edges * (2 * flags * 4 * n_elems + 16));
            CU_ASSERT_EQUAL(o.n_messages - n_barrier, edges * (2 * flags * cases[k].n_chunks + 2));
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

static void timed_main(struct strait_rank *r)
{
    strait_all_reduce(r, strait_world(r, 0), strait_codec(r, "none"), strait_scratch(r, RING_ELEMS),
                      STRAIT_AR_NCCL);
    const struct strait_span end = {
        .end_s = strait_now_s(r), .rank = strait_me(r), .kind = STRAIT_SPAN_ROUND};
    strait_log_add(&r->run->logs[strait_me(r)], &end);
}

/* Two ranks, two channels, a chunk each in two slices: four messages W of 12500 elements behind
 * each other, each passed on when it is added, which ends before the next one comes; what is passed
 * on finds the port free, since the delay of 20 ms is more than 4 W = 17 ms. So the last one is
 * there after 5 W, two delays, and is copied: 5 W + 2 a + A + C. */
static void two_ranks(void)
{
    struct strait_outcome o = run_ranks(2, false, timed_main, NULL);
    const double w = (4 * 12500 + 96) / (100e6 / 8 * 1448 / 1538);
    CU_ASSERT_DOUBLE_EQUAL(o.point->logs[1].total_s[STRAIT_SPAN_ROUND],
                           5 * w + 2 * 0.02 + 4 * 12500 / o.point->add_bytes_per_s +
                               4 * 12500 / o.point->copy_bytes_per_s,
                           1e-9);
    strait_outcome_free(&o);
}

/* The ring's neighbours, and those of both trees. */
static void streams(void)
{
    const struct strait_link link = {.rate_bits_per_s = 1e9, .queue_bytes = INFINITY};
    struct strait_network *network =
        strait_network_star(4, link, link, link, link, 24, (struct strait_tcp){0});
    int n_ring = 0, n_tree = 0;
    for (int src = 0; src < 8; src++)
        for (int dst = 0; dst < 8; dst++)
            for (int c = 0; c < 3; c++) {
                n_ring += strait_nccl_uses(network, 8, 1 << 20, c, src, dst);
                n_tree += strait_nccl_uses(network, 8, 1, c, src, dst);
            }
    CU_ASSERT_EQUAL(n_ring, 8);
    CU_ASSERT_EQUAL(n_tree, 2 * 2 * 7); /* two trees of 7 edges, both ways */
    strait_network_free(network);
}

static const struct strait_test tests[] = {
    {"it chooses as NCCL's tuning does by its own figures", choices},
    {"all-gathers and broadcasts, too", other_choices},
    {"parts are summed in its ring's order, or PAT's, and gathered", scattered},
    {"packets of any sizes are gathered, padded, after their sizes", gathered},
    {"a broadcast is a chain of chunks from any root", broadcast},
    {"sums have the order of its rings and trees, LL doubles the bytes", sums},
    {"two ranks take the time of a closed form", two_ranks},
    {"its streams are those of what it chooses", streams},
};
STRAIT_SUITE("workloads/train/collectives/nccl", tests);
