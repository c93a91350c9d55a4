/* Which sums an all-reduce sends, counted by hand from the tables in
 * workloads/train/collectives. */
#include <math.h>
#include <string.h>
#include "analysis/measured/sums_sent.h"
#include "tests/kit/suite.h"

/* Tensors of sums of k ranks that are sent in parts of that number. */
struct sent {
    int n_parts, k;
    double tensors;
};

static void expect(const char *how, int n, const struct sent *wanted, size_t n_wanted)
{
    struct strait_sum_cut cuts[STRAIT_MAX_SUM_CUTS];
    const int n_cuts = strait_sum_cuts(cuts, how, n);
    CU_ASSERT_FATAL(n_cuts > 0);
    size_t found = 0;
    for (int i = 0; i < n_cuts; i++)
        for (int k = 0; k <= n; k++)
            for (size_t w = 0; w < n_wanted && cuts[i].sent[k] > 0; w++)
                found += wanted[w].n_parts == cuts[i].n_parts && wanted[w].k == k &&
                         wanted[w].tensors == cuts[i].sent[k];
    CU_ASSERT_EQUAL(found, n_wanted);
    strait_sum_cuts_release(cuts);
}
#define EXPECT(how, n, ...)                                                                        \
    expect(how, n, (const struct sent[]){__VA_ARGS__},                                             \
           sizeof((const struct sent[]){__VA_ARGS__}) / sizeof(struct sent))

/* Four ranks: a half each of their own values, a quarter each of pairs, then each of four sums to
 * three others. Six: of the first four, 0 and 2 give all to 1 and 3, which then hold two; halves of
 * two sums of 2 and two of 1; quarters of pairs that hold 4 and 2; sums to three others, and to the
 * two that were folded. */
static void halves(void)
{
    EXPECT("halving", 4, {2, 1, 2}, {4, 2, 1}, {4, 4, 3});
    EXPECT("halving", 6, {1, 1, 2}, {2, 2, 1}, {2, 1, 1}, {4, 4, 0.5}, {4, 2, 0.5}, {4, 6, 5});
    EXPECT("halving", 2, {2, 1, 1}, {2, 2, 1});
    EXPECT("halving", 3, {1, 1, 1}, {2, 2, 0.5}, {2, 1, 0.5}, {2, 3, 2});
}

/* Six: 1 > 0, 3 > 2 and 5 > 4 with their own, then 2 > 0 and 4 > 0 with two each. */
static void trees(void)
{
    EXPECT("tree", 6, {1, 1, 3}, {1, 2, 2}, {1, 6, 5});
    EXPECT("tree", 2, {1, 1, 1}, {1, 2, 1});
}

static void owners_and_rings(void)
{
    EXPECT("all_to_all", 3, {3, 1, 2}, {3, 3, 2});
    EXPECT("sum", 4, {4, 1, 1}, {4, 2, 1}, {4, 3, 1}, {4, 4, 3});
}

/* All of them send 2 (n - 1) tensors, which no all-reduce can undercut (Patarasuk and Yuan,
 * 2009). */
static void volumes(void)
{
    static const char *const all[] = {"halving", "tree", "all_to_all", "sum"};
    for (int n = 2; n <= 40; n++)
        for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
            struct strait_sum_cut cuts[STRAIT_MAX_SUM_CUTS];
            const int n_cuts = strait_sum_cuts(cuts, all[i], n);
            double sum = 0;
            for (int c = 0; c < n_cuts; c++)
                for (int k = 0; k <= n; k++)
                    sum += cuts[c].sent[k];
            CU_ASSERT(fabs(sum - 2 * (n - 1)) < 1e-9);
            strait_sum_cuts_release(cuts);
        }
}

static const struct strait_test tests[] = {
    {"halving sends halves of single values, then smaller parts of larger sums", halves},
    {"a tree sends whole sums of its subtrees", trees},
    {"owners get single values, a ring every sum", owners_and_rings},
    {"every all-reduce sends 2 (n - 1) tensors", volumes},
};
STRAIT_SUITE("analysis/measured/sums_sent", tests);
