/* Graphs: neighbours by hand, equal numbers of them everywhere, and what mixing by them does. */
#include <math.h>
#include <string.h>
#include "workloads/train/plans/graph.h"
#include "tests/kit/suite.h"

enum { MAX = 33 };

static const enum strait_graph all[] = {STRAIT_GRAPH_RING, STRAIT_GRAPH_TORUS,
                                        STRAIT_GRAPH_EXPONENTIAL, STRAIT_GRAPH_ONE_PEER,
                                        STRAIT_GRAPH_COMPLETE};
enum { N_GRAPHS = sizeof(all) / sizeof(all[0]) };

/* Bit i: src sends to i. */
static unsigned long sends(enum strait_graph g, int n, int round, int src)
{
    unsigned long bits = 0;
    for (int i = 0; i < n; i++)
        bits |= strait_graph_has(g, n, round, src, i) ? 1ul << i : 0;
    return bits;
}

static void by_hand(void)
{
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_RING, 5, 0, 0), 1ul << 1 | 1ul << 4);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_RING, 2, 0, 1), 1ul << 0);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_RING, 1, 0, 0), 0);
    /* 3 x 4: 0 1 2 3 / 4 5 6 7 / 8 9 10 11 */
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_TORUS, 12, 0, 5), 1ul << 4 | 1ul << 6 | 1ul << 1 | 1ul << 9);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_TORUS, 12, 0, 0), 1ul << 1 | 1ul << 3 | 1ul << 4 | 1ul << 8);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_TORUS, 4, 0, 0), 1ul << 1 | 1ul << 2); /* 2 x 2 */
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_TORUS, 7, 0, 0), 1ul << 1 | 1ul << 6); /* 1 x 7 */
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_EXPONENTIAL, 6, 0, 3), 1ul << 4 | 1ul << 5 | 1ul << 1);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_ONE_PEER, 6, 0, 3), 1ul << 4);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_ONE_PEER, 6, 2, 3), 1ul << 1);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_ONE_PEER, 6, 3, 3), 1ul << 4);
    CU_ASSERT_EQUAL(sends(STRAIT_GRAPH_COMPLETE, 4, 0, 2), 1ul << 0 | 1ul << 1 | 1ul << 3);
}

/* One step: x_i becomes the mean of its own and what it is sent. */
static void mix(double *x, enum strait_graph g, int n, int round)
{
    double mixed[MAX] = {0};
    for (int i = 0; i < n; i++) {
        int n_here = 1;
        mixed[i] = x[i];
        for (int j = 0; j < n; j++)
            if (strait_graph_has(g, n, round, j, i)) {
                mixed[i] += x[j];
                n_here++;
            }
        mixed[i] /= n_here;
    }
    memcpy(x, mixed, (size_t)n * sizeof(*x));
}

/* The mean stays, since all have as many senders as receivers; and all come to it: the slowest
 * here, a ring of 33, keeps (1 + 2 cos(2 pi / 33)) / 3 = 0.988 a step, 2e-11 after 2000. */
static void keeps_the_mean(void)
{
    for (int k = 0; k < N_GRAPHS; k++)
        for (int n = 1; n <= MAX; n++) {
            double x[MAX], mean = 0;
            for (int i = 0; i < n; i++)
                mean += (x[i] = i * i) / n;
            for (int step = 0; step < 2000; step++)
                mix(x, all[k], n, step);
            strait_test_context("graph %d, %d ranks", k, n);
            for (int i = 0; i < n; i++)
                CU_ASSERT_DOUBLE_EQUAL(x[i], mean, 1e-6);
        }
    strait_test_context("%s", "");
}

/* Eigenvalues of a ring's mixing: (1 + 2 cos(2 pi k / n)) / 3, k 1 that of the slowest wave. */
static void ring_rate(void)
{
    enum { N = 12 };
    double x[N];
    for (int i = 0; i < N; i++)
        x[i] = cos(2 * M_PI * i / N);
    mix(x, STRAIT_GRAPH_RING, N, 0);
    for (int i = 0; i < N; i++)
        CU_ASSERT_DOUBLE_EQUAL(x[i], (1 + 2 * cos(2 * M_PI / N)) / 3 * cos(2 * M_PI * i / N),
                               1e-12);
}

/* Ying et al. 2021: of 2^k ranks, all have the exact mean after k rounds. */
static void one_peer_is_exact(void)
{
    double x[16], mean = 0;
    for (int i = 0; i < 16; i++)
        mean += (x[i] = i * i) / 16;
    CU_ASSERT_EQUAL(strait_graph_period(STRAIT_GRAPH_ONE_PEER, 16), 4);
    for (int round = 0; round < 4; round++)
        mix(x, STRAIT_GRAPH_ONE_PEER, 16, round);
    for (int i = 0; i < 16; i++)
        CU_ASSERT_DOUBLE_EQUAL(x[i], mean, 1e-12);
}

static void symmetric(void)
{
    for (int k = 0; k < N_GRAPHS; k++)
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12 && strait_graph_is_symmetric(all[k]); j++)
                CU_ASSERT_EQUAL(strait_graph_has(all[k], 12, 0, i, j),
                                strait_graph_has(all[k], 12, 1, j, i));
}

/* Everybody has one other, who has it; of an odd number one has none. All others are met alike: in
 * 2000 rounds each of at most eight by a deviation of five from its share, sqrt(2000 / 7 x 6 /
 * 7). */
static void pairs(void)
{
    enum { ROUNDS = 2000 };
    for (int n = 1; n <= 9; n++) {
        int met[9] = {0}, n_rests = 0;
        for (int round = 0; round < ROUNDS; round++) {
            int n_alone = 0;
            for (int i = 0; i < n; i++) {
                const int other = strait_graph_partner(7, n, round, i);
                CU_ASSERT(other >= -1 && other < n && other != i);
                if (other >= 0)
                    CU_ASSERT_EQUAL(strait_graph_partner(7, n, round, other), i);
                n_alone += other < 0;
            }
            CU_ASSERT_EQUAL(n_alone, n % 2);
            const int of_0 = strait_graph_partner(7, n, round, 0);
            n_rests += of_0 < 0;
            if (of_0 >= 0)
                met[of_0]++;
        }
        const double share = (double)ROUNDS / (n % 2 ? n : n - 1);
        for (int i = 1; i < n; i++)
            CU_ASSERT(fabs(met[i] - share) < 5 * sqrt(share) + 1e-9);
        if (n % 2 == 1)
            CU_ASSERT(fabs(n_rests - share) < 5 * sqrt(share) + 1e-9);
    }
}

static const struct strait_test tests[] = {
    {"pairs are mutual, and all others are met alike", pairs},
    {"neighbours are those that one counts by hand", by_hand},
    {"mixing keeps the mean and comes to it, for every number of ranks", keeps_the_mean},
    {"a ring mixes at the rate of its eigenvalue", ring_rate},
    {"one peer a round gives 2^k ranks the mean in k rounds", one_peer_is_exact},
    {"graphs that say so are symmetric", symmetric},
};
STRAIT_SUITE("workloads/train/plans/graph", tests);
