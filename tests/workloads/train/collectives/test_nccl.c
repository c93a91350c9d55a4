/* NCCL's all-reduce: which algorithm by its tuning's figures, added up by hand; sums, bytes,
 * time. */
#include "collective_forms.h"

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
        CU_ASSERT_EQUAL(p.chunk_elems, (cases[i].is_ll ? 32u << 10 : 2u << 20) / 4);
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
    {"sums have the order of its rings and trees, LL doubles the bytes", sums},
    {"two ranks take the time of a closed form", two_ranks},
    {"its streams are those of what it chooses", streams},
};
STRAIT_SUITE("workloads/train/collectives/nccl", tests);
