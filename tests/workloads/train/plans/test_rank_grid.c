/* Placement of stages and replicas: costs by hand, every permutation of few places, and two sites
 * whose ranks come in turns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"
#include "workloads/train/plans/rank_grid.h"

enum { MAX = 12 };

/* Two stages, three replicas, two ranks a place: where each stands, there and back. */
static void positions(void)
{
    static const int order[] = {3, 1, 5, 0, 2, 4};
    for (int how = 0; how < 4; how++) {
        const struct strait_grid g = {2, 2, 3, how % 2 == 1, how < 2 ? NULL : order};
        for (int rank = 0; rank < 12; rank++)
            CU_ASSERT_EQUAL(strait_grid_rank(&g, strait_grid_at(&g, rank)), rank);
    }
    const struct strait_grid rows = {2, 2, 3, false, NULL}, columns = {2, 2, 3, true, NULL},
                             moved = {2, 2, 3, false, order};
    /* stages side by side: replica 1 has places 2 and 3; replicas side by side: 1 and 4 */
    CU_ASSERT_EQUAL(strait_grid_rank(&rows, (struct strait_grid_at){1, 1, 1}), 7);
    CU_ASSERT_EQUAL(strait_grid_rank(&columns, (struct strait_grid_at){1, 1, 1}), 9);
    CU_ASSERT_EQUAL(strait_grid_rank(&moved, (struct strait_grid_at){1, 1, 1}), 1);
}

struct world {
    double delay_s[MAX * MAX], s_per_byte[MAX * MAX], load_s[MAX * MAX];
    int links[MAX * MAX][STRAIT_GRID_HOPS]; /* a link of its own for each pair */
    struct strait_grid_traffic traffic;
};

static void begin(struct world *w, double activation_bytes, double gradient_bytes, int n_micro)
{
    memset(w, 0, sizeof(*w));
    for (int i = 0; i < MAX * MAX; i++)
        for (int k = 0; k < STRAIT_GRID_HOPS; k++)
            w->links[i][k] = k == 0 ? i : -1;
    w->traffic = (struct strait_grid_traffic){.activation_bytes = activation_bytes,
                                              .gradient_bytes = gradient_bytes,
                                              .n_micro = n_micro,
                                              .delay_s = w->delay_s,
                                              .links = (const int(*)[STRAIT_GRID_HOPS])w->links,
                                              .s_per_byte = w->s_per_byte,
                                              .load_s = w->load_s,
                                              .n_links = MAX * MAX};
}

/* Two stages of two replicas: pipelines 0 > 1 and 2 > 3, rings 0 - 2 and 1 - 3. Four microbatches
 * of 25 bytes. The second pipeline, at 0.2, takes 2 x (5 + 1) and 3 x 5 more, 27. Rings: 2 x (30 /
 * 2 x 0.3 + 1) = 11. If all share one link of 0.1 too, that has 4 x 2.5 for a microbatch: 2 x (5 +
 * 1) + 3 x 10 = 42; and 4 x 15 x 0.1 for a step of the rings: 2 x (6 + 1) = 14. */
static void costs(void)
{
    struct world w;
    const struct strait_grid g = {1, 2, 2, false, NULL};
    begin(&w, 100, 30, 4);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            w.delay_s[i * 4 + k] = 1;
            w.s_per_byte[i * 4 + k] = i / 2 == 1 && k / 2 == 1                   ? 0.2
                                      : (i == 0 && k == 2) || (i == 2 && k == 0) ? 0.3
                                                                                 : 0.1;
        }
    CU_ASSERT_DOUBLE_EQUAL(strait_grid_s(&g, &w.traffic), 27 + 11, 1e-12);
    for (int i = 0; i < 4 * 4; i++)
        w.links[i][1] = MAX * MAX - 1;
    w.s_per_byte[MAX * MAX - 1] = 0.1;
    CU_ASSERT_DOUBLE_EQUAL(strait_grid_s(&g, &w.traffic), 42 + 14, 1e-12);
}

/* The best of all orders of the places from `k` on; place 0 stays. */
static double best_of_all(struct strait_grid *g, int *places, int k,
                          const struct strait_grid_traffic *t)
{
    const int n = strait_grid_places(g);
    double best_s = INFINITY;
    g->places = places;
    if (k == n)
        return strait_grid_s(g, t);
    for (int i = k; i < n; i++) {
        int was = places[k];
        places[k] = places[i];
        places[i] = was;
        best_s = fmin(best_s, best_of_all(g, places, k + 1, t));
        was = places[k];
        places[k] = places[i];
        places[i] = was;
    }
    return best_s;
}

/* Places in two sites, by turns: inside 1 ns a byte, between 100 ns and 1 ms. */
static void two_sites(struct world *w, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const bool inside = i % 2 == k % 2;
            w->delay_s[i * n + k] = inside ? 1e-6 : 1e-3;
            w->s_per_byte[i * n + k] = inside ? 1e-9 : 1e-7;
        }
}

/* Small activations cross between the sites, or small gradients; then nothing else may. */
static void sites(void)
{
    for (int wide = 0; wide < 2; wide++) {
        struct world w;
        struct strait_grid g = {1, 2, 3, false, NULL};
        int places[MAX], scratch[MAX], all[MAX] = {0, 1, 2, 3, 4, 5};
        begin(&w, wide ? 1e7 : 1e5, wide ? 1e5 : 1e7, 4);
        two_sites(&w, 6);
        strait_grid_search(places, scratch, &g, &w.traffic);
        g.places = places;
        const double found_s = strait_grid_s(&g, &w.traffic);
        CU_ASSERT_DOUBLE_EQUAL(found_s, best_of_all(&g, all, 1, &w.traffic), 1e-12);
        for (int replica = 0; replica < 3 && !wide; replica++) /* a site holds a stage */
            CU_ASSERT_EQUAL(places[replica * 2] % 2, places[0] % 2);
    }
}

/* On any network no worse than the ranks in order, by rows or by columns, and by no swap better. */
static void any_network(void)
{
    for (int seed = 0; seed < 20; seed++) {
        struct world w;
        struct strait_grid g = {2, 2 + seed % 3, 6 / (2 + seed % 3), seed % 2 == 1, NULL};
        const int n = strait_grid_places(&g);
        int places[MAX], scratch[MAX], seen[MAX] = {0};
        uint64_t state = 7 + (uint64_t)seed;
        begin(&w, 1e6, 1e7, 8);
        for (int i = 0; i < n * n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            w.delay_s[i] = (double)(state >> 40) * 1e-9;
            w.s_per_byte[i] = (double)(state >> 36 & 0xfffff) * 1e-13;
        }
        const double order_s = strait_grid_s(&g, &w.traffic);
        g.replicas_first = !g.replicas_first;
        const double columns_s = strait_grid_s(&g, &w.traffic);
        g.replicas_first = !g.replicas_first;
        strait_grid_search(places, scratch, &g, &w.traffic);
        g.places = places;
        const double found_s = strait_grid_s(&g, &w.traffic);
        CU_ASSERT_AT_MOST(found_s, order_s);
        CU_ASSERT_AT_MOST(found_s, columns_s);
        for (int i = 0; i < n; i++)
            seen[places[i]]++;
        for (int i = 0; i < n; i++) {
            CU_ASSERT_EQUAL(seen[i], 1);
            for (int k = 1; k < i; k++) {
                const int was = places[i];
                places[i] = places[k];
                places[k] = was;
                CU_ASSERT(strait_grid_s(&g, &w.traffic) >= found_s * (1 - 1e-9));
                places[k] = places[i];
                places[i] = was;
            }
        }
    }
}

static const struct strait_test tests[] = {
    {"a rank stands where its number says, with or without places", positions},
    {"a batch's communication is the longest pipeline and the longest ring", costs},
    {"in two sites that come in turns the search finds the best of all orders", sites},
    {"on any network no swap of two places improves what the search finds", any_network},
};
STRAIT_SUITE("workloads/train/plans/rank_grid", tests);
