/* Hierarchical averaging: closed forms of its time and bytes, and its sums. */
#include "tests/kit/strategy_world.h"

/* Two regions of two. A region's round: the model crosses to the member (a hop and another 10 ms,
 * since both ends have an access link), which trains and sends back, and the leader adds two
 * updates; the leader's own training is hidden behind the member's two hops. The first round of a
 * region takes what the server sent, the second begins with base + moved: a copy and an addition.
 * Leaders' updates arrive together at the server, which adds two. */
static void time_of_a_round(void)
{
    struct strait_outcome o = star_run("{\"name\":\"hierfl\",\"rounds\":3,\"region_size\":2,"
                                       "\"region_rounds\":2,\"local_steps\":4}",
                                       4, NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const double across_s = c.hop_s + 0.01;
    const double region_s = 2 * across_s + 4 * c.step_s + 2 * c.add_s;
    const double round_s =
        c.hop_s + region_s + (c.copy_s + c.add_s + region_s) + c.hop_s + 2 * c.add_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * round_s, 1e-9);
    strait_outcome_free(&o);
}

/* With L leaders among n clients a round moves L models down and L updates up, and rho (n - L) of
 * each inside the regions; n stops at the end, from the server to leaders to the others. */
static void bytes(void)
{
    for (int n = 1; n <= 9; n++)
        for (int size = 1; size <= 4; size++) {
            struct strait_outcome o = star_run(
                "{\"name\":\"hierfl\",\"rounds\":2,\"region_rounds\":3,\"local_steps\":1}", n,
                json_pack("{s:i}", "/strategy/region_size", size), &strait_fluid, false);
            const uint64_t n_leaders = (uint64_t)((n + size - 1) / size);
            const uint64_t n_models = 2 * 2 * (n_leaders + 3 * ((uint64_t)n - n_leaders));
            CU_ASSERT_EQUAL(o.n_messages, n_models + (uint64_t)n);
            CU_ASSERT_EQUAL(o.payload_bytes, n_models * 4 * CNN_ELEMS);
            strait_outcome_free(&o);
        }
}

/* Regions of one and one region round are federated averaging: the same bytes; a leader only adds
 * its update to zeros first. */
static void degenerate(void)
{
    struct strait_outcome flat =
        star_run("{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":2}", 5, NULL, &strait_fluid, 0);
    struct strait_outcome o = star_run("{\"name\":\"hierfl\",\"rounds\":2,\"region_size\":1,"
                                       "\"region_rounds\":1,\"local_steps\":2}",
                                       5, NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    CU_ASSERT_EQUAL(o.payload_bytes, flat.payload_bytes);
    CU_ASSERT_EQUAL(o.n_messages, flat.n_messages);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, flat.total_s + 2 * (c.copy_s + c.add_s), 1e-9);
    strait_outcome_free(&flat);
    strait_outcome_free(&o);
}

/* Sites of two ranks are regions of two: the same bytes; their uploads are the leaders' alone. */
static void sites(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"hierfl\",\"rounds\":1,\"region_rounds\":2,\"local_steps\":1}", 5,
                 json_pack("{s:s, s:{s:s, s:i, s:s}}", "/network/topology", "sites",
                           "/network/site", "rate", "50 Mbps", "ranks", 2, "rtt", "40 ms"),
                 &strait_fluid, false);
    /* leaders 1, 3 and 5 */
    CU_ASSERT_EQUAL(o.n_messages, 2 * (3 + 2 * 2) + 5);
    CU_ASSERT_EQUAL(o.point->logs[0].n_messages, 3 + 3);
    CU_ASSERT_EQUAL(o.point->logs[1].n_messages, 2 + 1 + 1);
    CU_ASSERT_EQUAL(o.point->logs[2].n_messages, 2);
    strait_outcome_free(&o);
}

/* --- real values --------------------------------------------------------------------------- */

enum { N_CLIENTS = 5, SIZE = 3 };

/* Regions {1, 2, 3} and {4, 5}, two region rounds: moved = the sum over rounds, in the order of the
 * clients, of update / n; the server adds regions by their share of the clients. */
static void sum_main(struct strait_rank *r)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    if (strait_me(r) > 0)
        scale_prepared(r, STRAIT_UPDATE);
    p->experiment->strategy->rank_main(r);
    if (strait_me(r) != 0)
        return;
    float *w = malloc(CNN_ELEMS * sizeof(float)), *x = malloc(CNN_ELEMS * sizeof(float));
    strait_recorded(w, p, STRAIT_WEIGHTS, 0);
    for (int leader = 1; leader <= N_CLIENTS; leader += SIZE) {
        const int end = leader + SIZE <= N_CLIENTS + 1 ? leader + SIZE : N_CLIENTS + 1;
        const float share = (float)(1.0 / (end - leader));
        float *moved = calloc(CNN_ELEMS, sizeof(float));
        for (int round = 0; round < 2; round++)
            for (int rank = leader; rank < end; rank++) {
                sent(x, p, STRAIT_UPDATE, rank);
                for (int i = 0; i < CNN_ELEMS; i++)
                    moved[i] += share * x[i];
            }
        for (int i = 0; i < CNN_ELEMS; i++)
            w[i] += (float)((double)(end - leader) / N_CLIENTS) * moved[i];
        free(moved);
    }
    const float *theirs = whole_tensor(r, STRAIT_WEIGHTS);
    const bool same = theirs && memcmp(w, theirs, CNN_ELEMS * sizeof(float)) == 0;
    free(w);
    free(x);
    if (!same)
        fail_with(r, "the server's model is not the sum by clients, then by regions");
}

static void exact_sum(void)
{
    struct strait_outcome o = star_run("{\"name\":\"hierfl\",\"rounds\":1,\"region_size\":3,"
                                       "\"region_rounds\":2,\"local_steps\":5,"
                                       "\"straggler_spread\":1}",
                                       N_CLIENTS, NULL, &strait_fluid, true);
    run_with(&o, sum_main);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"a round takes its hops, its region rounds and its additions", time_of_a_round},
    {"leaders and members send what the closed form says, to the byte", bytes},
    {"regions of one are federated averaging", degenerate},
    {"without a size, regions are the sites of the network", sites},
    {"sums are by clients inside a region, then by regions", exact_sum},
};
STRAIT_SUITE("workloads/train/federated/hierfl", tests);
