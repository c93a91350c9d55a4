/* Open MPI's collectives: which algorithm by its rules, copied by hand from
 * coll_tuned_decision_fixed.c of v4.1.4; bytes, messages, sums and times against closed forms. */
#include "collective_forms.h"

static void choices(void)
{
    static const struct {
        enum strait_open_mpi_call call;
        int n;
        size_t n_bytes;
        enum strait_open_mpi_way way;
    } cases[] = {
        {STRAIT_MPI_ALLREDUCE, 2, 4095, STRAIT_MPI_DOUBLING},
        {STRAIT_MPI_ALLREDUCE, 3, 4096, STRAIT_MPI_RING},
        {STRAIT_MPI_ALLREDUCE, 3, 262143, STRAIT_MPI_RING},
        {STRAIT_MPI_ALLREDUCE, 3, 262144, STRAIT_MPI_RABENSEIFNER},
        {STRAIT_MPI_ALLREDUCE, 4, 8191, STRAIT_MPI_DOUBLING},
        {STRAIT_MPI_ALLREDUCE, 15, 8192, STRAIT_MPI_RABENSEIFNER},
        {STRAIT_MPI_ALLREDUCE, 16, 4096, STRAIT_MPI_RABENSEIFNER},
        {STRAIT_MPI_ALLREDUCE, 100, 262143, STRAIT_MPI_DOUBLING},
        {STRAIT_MPI_ALLREDUCE, 5000, 1 << 20, STRAIT_MPI_RABENSEIFNER},
        {STRAIT_MPI_BCAST, 2, 1 << 20, STRAIT_MPI_BINARY},
        {STRAIT_MPI_BCAST, 3, 524288, STRAIT_MPI_BINOMIAL},
        {STRAIT_MPI_BCAST, 3, 262144, STRAIT_MPI_LINEAR},
        {STRAIT_MPI_BCAST, 3, 131072, STRAIT_MPI_CHAIN},
        {STRAIT_MPI_BCAST, 4, 1048575, STRAIT_MPI_LINEAR},
        {STRAIT_MPI_BCAST, 7, 1048576, STRAIT_MPI_CHAIN},
        {STRAIT_MPI_BCAST, 8, 1048576, STRAIT_MPI_LINEAR},
        {STRAIT_MPI_BCAST, 8, 64, STRAIT_MPI_KNOMIAL},
        {STRAIT_MPI_BCAST, 20, 1 << 20, STRAIT_MPI_SCATTER},
        {STRAIT_MPI_BCAST, 100, 5, STRAIT_MPI_KNOMIAL},
        {STRAIT_MPI_ALLGATHERV, 3, 255, STRAIT_MPI_DEFAULT},
        {STRAIT_MPI_ALLGATHERV, 7, 256, STRAIT_MPI_NEIGHBOURS},
        {STRAIT_MPI_ALLGATHERV, 7, 4096, STRAIT_MPI_RING},
        {STRAIT_MPI_ALLGATHERV, 7, 16384, STRAIT_MPI_BRUCK},
        {STRAIT_MPI_ALLGATHERV, 7, 262144, STRAIT_MPI_NEIGHBOURS},
        {STRAIT_MPI_ALLGATHERV, 8, 1 << 24, STRAIT_MPI_BRUCK},
        {STRAIT_MPI_ALLGATHERV, 16, 262144, STRAIT_MPI_RING},
        {STRAIT_MPI_ALLGATHERV, 2000, 4096, STRAIT_MPI_NEIGHBOURS},
        {STRAIT_MPI_REDUCE_SCATTER, 2, 65535, STRAIT_MPI_RING},
        {STRAIT_MPI_REDUCE_SCATTER, 3, 65536, STRAIT_MPI_HALVING},
        {STRAIT_MPI_REDUCE_SCATTER, 3, 131072, STRAIT_MPI_RING},
        {STRAIT_MPI_REDUCE_SCATTER, 31, 262143, STRAIT_MPI_HALVING},
        {STRAIT_MPI_REDUCE_SCATTER, 31, 262144, STRAIT_MPI_RING},
        {STRAIT_MPI_REDUCE_SCATTER, 63, 524287, STRAIT_MPI_HALVING},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("call %d, %d ranks, %zu bytes", (int)cases[i].call, cases[i].n,
                            cases[i].n_bytes);
        CU_ASSERT_EQUAL(strait_open_mpi_way(cases[i].call, cases[i].n, cases[i].n_bytes),
                        cases[i].way);
    }
    strait_test_context("%s", "");
}

static bool is_fresh; /* ranks meet in the run; else all connections are open */

static struct strait_group open_mpi(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, 0);
    world.library = STRAIT_OPEN_MPI;
    memset(strait_group_met(r, &world), !is_fresh, (size_t)world.n);
    return world;
}

/* What all ranks send in a call: set before a run, compared after it. */
static size_t n_elems;
static bool sizes_differ;

/* Rank i's packet has n_elems, or so many and i. */
static size_t elems_of(int rank)
{
    return n_elems + (sizes_differ ? (size_t)rank : 0);
}

static void gather_main(struct strait_rank *r)
{
    struct strait_group world = open_mpi(r);
    struct strait_tensor *x = strait_scratch(r, n_elems + MAX_RANKS);
    struct strait_packet **all = strait_alloc(r, (size_t)world.n, sizeof(struct strait_packet *));
    all[world.me] =
        strait_encode(r, strait_codec(r, "none"), NAN, strait_range(r, x, 0, elems_of(world.me)));
    strait_gather_packets(r, world, all, sizes_differ);
    for (int i = 0; i < world.n; i++) {
        if (all[i]->n_elems != elems_of(i))
            complain(r, N_COLLECTIVES, "a packet's elements", (double)all[i]->n_elems,
                     (double)elems_of(i));
        strait_drop(r, all[i]);
    }
}

/* Messages of Bruck's gather in which so many bytes a block are asked for: one to each rank and
 * step. */
static size_t n_asked_of_bruck(int n, size_t bytes)
{
    size_t n_asked = 0;
    for (int d = 1; d < n; d *= 2)
        n_asked += (size_t)(d <= n / 2 ? d : n - d) * bytes > 65536;
    return n_asked * (size_t)n;
}

/* n - 1 of each packet, whichever way; by the way of a few bytes each to rank 0, and all of them to
 * all. A message of more than 64 KiB has a question and an answer; sizes are gathered by Bruck's
 * way, four in a message. */
static void gathered(void)
{
    static const struct {
        size_t n_elems;
        bool bruck_of_few; /* of 3 to 7 ranks, else neighbours or a ring */
    } cases[] = {{10, false},   {300, false},  {1500, false},
                 {3000, false}, {20000, true}, {70000, false}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++)
        for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++)
            for (int differ = 0; differ < 2; differ++) {
                const size_t m = (size_t)n, bytes = 4 * cases[k].n_elems;
                const size_t more = differ ? 4 * m * (m - 1) / 2 : 0;
                const bool is_default = (n >= 8 && bytes < 1024) || (n >= 3 && bytes < 256);
                size_t n_asked = m * (m - 1), n_sizes = 0;
                n_elems = cases[k].n_elems;
                sizes_differ = differ;
                struct strait_outcome o = run_ranks(n, false, gather_main, NULL);
                strait_test_context("%d ranks, %zu elements%s", n, n_elems, differ ? " more" : "");
                CU_ASSERT_EQUAL(o.payload_bytes, (m - 1) * (m * bytes + more) +
                                                     (is_default ? (m - 1) * bytes + more : 0));
                for (int d = 1; d < n && differ; d *= 2)
                    n_sizes += m * (size_t)(((d <= n / 2 ? d : n - d) + 3) / 4);
                if (bytes <= 65536 && !(n >= 3 && (n >= 8 || cases[k].bruck_of_few)))
                    n_asked = 0;
                else if (n >= 8 || (n >= 3 && cases[k].bruck_of_few))
                    n_asked = n_asked_of_bruck(n, bytes);
                else if (n % 2 == 0 && n > 2) /* neighbours */
                    n_asked = m * (m / 2);
                CU_ASSERT_EQUAL(o.n_messages,
                                m * (m - 1) + (is_default ? m - 1 : 0) + 2 * n_asked + n_sizes);
                strait_outcome_free(&o);
            }
    strait_test_context("%s", "");
}

static void broadcast_main(struct strait_rank *r)
{
    struct strait_group world = open_mpi(r);
    struct strait_codec *none = strait_codec(r, "none");
    struct strait_tensor *x = strait_scratch(r, n_elems);
    for (int root = 0; root < world.n; root++)
        for (int known = 0; known < 2; known++) {
            struct strait_packet *p = strait_broadcast_packet(
                r, world, root, world.me == root ? strait_encode(r, none, NAN, x) : NULL,
                known ? 4 * n_elems : 0);
            if (p->n_elems != n_elems)
                complain(r, N_COLLECTIVES, "a packet's elements", (double)p->n_elems,
                         (double)n_elems);
            strait_drop(r, p);
        }
}

/* n - 1 times the packet, whichever tree, from each root, twice; once its size before. */
static void broadcast(void)
{
    static const size_t elems[] = {1, 20, 100, 1000, 5000, 20000, 50000, 100000, 200000, 300000};
    for (size_t k = 0; k < sizeof(elems) / sizeof(*elems); k += IS_SANITIZED ? 3 : 1)
        for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++) {
            const size_t edges = (size_t)n * (size_t)(n - 1);
            n_elems = elems[k];
            struct strait_outcome o = run_ranks(n, false, broadcast_main, NULL);
            strait_test_context("%d ranks, %zu elements", n, n_elems);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * edges * 4 * n_elems);
            CU_ASSERT_EQUAL(o.n_messages, edges * (4 * n_elems > 65536 ? 7u : 3u));
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

/* Of more than a buffer holds, 2.8 MB, the beginning goes before, a message more: the same bytes,
 * and what arrives is the whole. Rank i's values are i + k / 1024. */
static void large_main(struct strait_rank *r)
{
    struct strait_group world = open_mpi(r);
    struct strait_codec *none = strait_codec(r, "none");
    struct strait_packet **all = strait_alloc(r, (size_t)world.n, sizeof(struct strait_packet *));
    struct strait_tensor *x = strait_scratch(r, n_elems), *y = strait_scratch(r, n_elems);
    for (size_t k = 0; k < n_elems; k++)
        strait_values(r, x)[k] = (float)world.me + (float)(k % 1024) / 1024;
    all[world.me] = strait_encode(r, none, NAN, x);
    strait_gather_packets(r, world, all, false);
    for (int i = 0; i < world.n; i++) {
        strait_decode(r, y, all[i]);
        for (size_t k = 0; k < n_elems; k += 1000) {
            const float wanted = (float)i + (float)(k % 1024) / 1024;
            if (memcmp(&strait_values(r, y)[k], &wanted, sizeof(wanted)) != 0)
                complain(r, N_COLLECTIVES, "value", (double)strait_values(r, y)[k], (double)wanted);
        }
    }
}

static void large(void)
{
    n_elems = 800000;
    for (int n = 2; n <= 3; n++) {
        const uint64_t n_packets = (uint64_t)n * (uint64_t)(n - 1);
        struct strait_outcome o = run_ranks(n, true, large_main, NULL);
        CU_ASSERT_EQUAL(o.payload_bytes, n_packets * 4 * n_elems);
        CU_ASSERT_EQUAL(o.n_messages, 4 * n_packets);
        strait_outcome_free(&o);
    }
}

/* From 16 ranks on halves go down a tree, at each of log2 n levels half of the packet in all, and
 * parts are gathered: each rank gets all but its own part. Where n is no power of two nobody gets
 * less than that, nor more than all. */
static void in_parts(void)
{
    static const int counts[] = {16, 17, 22, 31, 16}; /* the last with parts beyond a buffer */
    for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
        n_elems = 16 * (k < 4 ? 17000 : 200000);
        const uint64_t n = (uint64_t)counts[k], bytes = 4 * n_elems, runs = 2 * n;
        struct strait_outcome o = run_ranks(counts[k], false, broadcast_main, NULL);
        strait_test_context("%d ranks", counts[k]);
        if (n == 16)
            CU_ASSERT_EQUAL(o.payload_bytes, runs * (4 * bytes / 2 + 15 * bytes));
        CU_ASSERT(o.payload_bytes >= runs * (n - 1) * bytes);
        CU_ASSERT(o.payload_bytes <= runs * (n + 3) * bytes);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Halved with the partner at the largest distance first: of the places i, i + m, i + 2 m, ... below
 * p. The first `extra` are folded pairs. */
static float halved(int i, int m, int p, int extra, float recorded)
{
    if (m == p && i < extra)
        return part_of(2 * i, recorded) + part_of(2 * i + 1, recorded);
    if (m == p)
        return part_of(i + extra, recorded);
    return halved(i, 2 * m, p, extra, recorded) + halved(i + m, 2 * m, p, extra, recorded);
}

static void check_values(struct strait_rank *r, const float *values, const float *recorded,
                         bool is_ring, bool has_all)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    int p = 1;
    while (2 * p <= n)
        p *= 2;
    for (size_t i = 0; i < n_elems; i++) {
        const int part = part_with(n_elems, i, n);
        const float sum =
            is_ring ? in_turn(part, n, recorded[i]) : halved(0, 1, p, n - p, recorded[i]);
        if ((has_all || part == (me + 1) % n) && memcmp(&values[i], &sum, sizeof(sum)) != 0)
            complain(r, N_COLLECTIVES, "sum in its order", (double)values[i], (double)sum);
    }
}

/* Rank i ends with part i + 1; then all have all. */
static void scatter_main(struct strait_rank *r)
{
    struct strait_group world = open_mpi(r);
    struct strait_codec *none = strait_codec(r, "none");
    struct strait_tensor *x =
        strait_range(r, strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS), 0, n_elems);
    float *recorded = strait_alloc(r, n_elems, sizeof(float)), *values = strait_values(r, x);
    const size_t bytes = 4 * n_elems;
    const bool is_ring = world.n < 4 ? bytes < 65536 || bytes >= 131072 : bytes >= 262144;
    memcpy(recorded, values, n_elems * sizeof(float));
    for (size_t i = 0; i < n_elems; i++)
        values[i] = part_of(world.me, recorded[i]);
    strait_reduce_scatter(r, world, none, x);
    check_values(r, strait_values(r, x), recorded, is_ring, false);
    barrier(r);
    strait_all_gather(r, world, none, x);
    check_values(r, strait_values(r, x), recorded, is_ring, true);
}

/* Of n ranks 2 (n - 1) times the tensor; halves of folded pairs: the other's all, and then its own
 * part, one and a part of n for each pair, in place of the n - 1 parts that it would have sent. */
static void scattered(void)
{
    static const size_t elems[] = {3000, 20000, 40000, CNN_ELEMS};
    for (size_t k = 0; k < sizeof(elems) / sizeof(*elems); k += IS_SANITIZED ? 3 : 1)
        for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++) {
            n_elems = elems[k];
            struct strait_outcome o = run_ranks(n, true, scatter_main, NULL);
            CU_ASSERT(n == 1 || o.payload_bytes >= 2 * (uint64_t)(n - 1) * 4 * n_elems);
            if ((n & (n - 1)) == 0)
                CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(n - 1) * 4 * n_elems);
            strait_outcome_free(&o);
        }
}

/* A sum between two and three ranks that goes around a ring: in the ring's order. */
static void ring_main(struct strait_rank *r)
{
    struct strait_group world = open_mpi(r);
    struct strait_tensor *x =
        strait_range(r, strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS), 0, n_elems);
    float *recorded = strait_alloc(r, n_elems, sizeof(float)), *values = strait_values(r, x);
    memcpy(recorded, values, n_elems * sizeof(float));
    for (size_t i = 0; i < n_elems; i++)
        values[i] = part_of(world.me, recorded[i]);
    strait_all_reduce(r, world, strait_codec(r, "none"), x, STRAIT_AR_OPEN_MPI);
    check_values(r, strait_values(r, x), recorded, true, true);
}

static void small_rings(void)
{
    static const size_t elems[] = {1024, 4096, 65535};
    for (size_t k = 0; k < 3; k++)
        for (int n = 2; n <= 3; n++) {
            n_elems = elems[k];
            struct strait_outcome o = run_ranks(n, true, ring_main, NULL);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(n - 1) * 4 * n_elems);
            strait_outcome_free(&o);
        }
}

/* --- times ---------------------------------------------------------------------------------- */

/* As in test_collective_times.c: no ramp, one delay of 20 ms. */
static const double PATH_S = 0.02, RATE_BYTES_PER_S = 100e6 / 8 * 1448 / 1538;

static double wire_s(double n)
{
    return (4 * n + 96) / RATE_BYTES_PER_S;
}

static void note_end(struct strait_rank *r)
{
    const struct strait_span end = {
        .end_s = strait_now_s(r), .rank = strait_me(r), .kind = STRAIT_SPAN_ROUND};
    strait_log_add(&r->run->logs[strait_me(r)], &end);
}

static void timed_gather(struct strait_rank *r)
{
    gather_main(r);
    note_end(r);
}

static void timed_broadcast(struct strait_rank *r)
{
    struct strait_tensor *x = strait_scratch(r, n_elems);
    struct strait_packet *p =
        strait_me(r) == 0 ? strait_encode(r, strait_codec(r, "none"), NAN, x) : NULL;
    strait_drop(r, strait_broadcast_packet(r, open_mpi(r), 0, p, 4 * n_elems));
    note_end(r);
}

static void timed_scatter(struct strait_rank *r)
{
    strait_reduce_scatter(r, open_mpi(r), strait_codec(r, "none"), strait_scratch(r, n_elems));
    note_end(r);
}

/* a: a delay, w: a frame, R: a packet. A message is asked for and answered: 3 a + 2 w + R. In a
 * pair a rank first looks what has come right behind the last: two frames of 1538 bytes. */
enum { N_FRESH = 3 }; /* of cases, the first: ranks meet in the run */
static void times(void)
{
    const double a = PATH_S, w = wire_s(0), look = 2 * 1538 / (100e6 / 8);
    const struct {
        void (*main)(struct strait_rank *);
        int n;
        size_t n_elems;
        double wanted_s, n_adds; /* adds: of elements */
    } cases[] = {
        /* a connection goes there and back, then who it is, there, and that this is agreed, back:
         * with it the higher rank's data; the lower one's a delay later */
        {timed_gather, 2, 1024, 4 * a + 2 * w + a + wire_s(1024), 0},
        {timed_broadcast, 2, 1024, 4 * a + a + wire_s(1024), 0},
        {timed_gather, 3, 1024, 4 * a + 2 * (a + wire_s(1024)), 0},
        /* a ring of three, in two steps; of 300 kB, so that odd neighbours are a ring */
        {timed_gather, 3, 75000, 2 * (3 * a + 2 * w + wire_s(75000)), 0},
        /* two exchange theirs */
        {timed_gather, 2, 75000, look + 3 * a + 2 * w + wire_s(75000), 0},
        /* neighbours: a block, then two */
        {timed_gather, 4, 75000, 2 * (look + 3 * a + 2 * w) + 3 * wire_s(75000), 0},
        /* Bruck: to the one before, then two blocks with the one across */
        {timed_gather, 4, 20000, look + 2 * (3 * a + 2 * w) + 3 * wire_s(20000), 0},
        /* 4 kB are not asked for: a ring of one step a block */
        {timed_gather, 3, 1024, 2 * (a + wire_s(1024)), 0},
        /* to all at once: questions and answers share the root's port as data do */
        {timed_broadcast, 4, 100000, 3 * a + 6 * w + 3 * wire_s(100000), 0},
        /* one after the other */
        {timed_broadcast, 4, 300000, 3 * (3 * a + 2 * w + wire_s(300000)), 0},
        /* a ring of three, two parts added */
        {timed_scatter, 3, 100800, 2 * (3 * a + 2 * w + wire_s(33600)), 2 * 33600},
        /* halves of four: 80 kB, a part added while the other comes, then 40 kB, not asked for */
        {timed_scatter, 4, 40000, 2 * look + 3 * a + 2 * w + 2 * wire_s(10000) + a + wire_s(10000),
         20000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int b = 0; b < 2; b++) {
            const struct ranks_on on = {b == 0 ? &strait_fluid : &strait_sim, simulated.network};
            n_elems = cases[i].n_elems;
            sizes_differ = false;
            is_fresh = i < N_FRESH;
            struct strait_outcome o = run_ranks_on(&on, cases[i].n, false, cases[i].main, NULL);
            double end_s = 0;
            for (int k = 0; k < cases[i].n; k++)
                end_s = fmax(end_s, o.point->logs[k].total_s[STRAIT_SPAN_ROUND]);
            strait_test_context("case %zu on %s", i, on.backend->name);
            CU_ASSERT_DOUBLE_EQUAL(
                end_s, cases[i].wanted_s + 4 * cases[i].n_adds / o.point->add_bytes_per_s, 1e-7);
            strait_outcome_free(&o);
        }
    is_fresh = false;
    strait_test_context("%s", "");
}

static const struct strait_test tests[] = {
    {"rules choose by ranks and bytes", choices},
    {"all packets are gathered, as many bytes and messages as the way takes", gathered},
    {"a packet reaches all from every root, told its size or not", broadcast},
    {"a packet of which the beginning goes before arrives whole", large},
    {"from 16 ranks on a large packet goes in parts", in_parts},
    {"parts are summed in the way's order, and gathered", scattered},
    {"small sums between two and three go around a ring", small_rings},
    {"calls take the time of their closed forms, on both simulations", times},
};
STRAIT_SUITE("workloads/train/collectives/open_mpi", tests);
