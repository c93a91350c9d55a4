/* NoLoCo: bytes and times in closed form, and real training against the algorithm in double
 * precision. */
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"
#include "workloads/train/plans/graph.h"

/* Every rank but one of an odd number sends its parameters and its movement once a round. */
static void bytes(void)
{
    for (int n = 1; n <= 6; n++) {
        struct strait_outcome o = star_run("{\"name\":\"noloco\",\"rounds\":4,\"local_steps\":1}",
                                           n, NULL, &strait_fluid, false);
        strait_test_context("%d ranks", n);
        CU_ASSERT_EQUAL(o.n_messages, 4 * 2 * (uint64_t)(n / 2 * 2));
        CU_ASSERT_EQUAL(o.payload_bytes, 4 * 2 * (uint64_t)(n / 2 * 2) * 4 * CNN_ELEMS);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Parameters go beside the inner steps, which take longer here; then the movement: one model on the
 * wire and two links, however many ranks there are. Copies: both snapshots, the scaled step; five
 * additions, the partner's two behind the wire. */
static void times(void)
{
    for (int n = 2; n <= 32; n *= 4) {
        struct strait_outcome o = star_run("{\"name\":\"noloco\",\"rounds\":3,\"local_steps\":40}",
                                           n, NULL, &strait_fluid, false);
        const struct costs c = costs_of(&o);
        const double where_s = c.hop_s + 0.01, round_s = 2 * c.copy_s + 40 * c.step_s + where_s +
                                                         3 * c.add_s; /* the last moves x */
        strait_test_context("%d ranks", n);
        CU_ASSERT(40 * c.step_s > where_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * round_s, 3 * 2 * c.copy_s);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Rank 0's score; it meets others, who have met others. */
static void by_hand(void)
{
    enum { ROUNDS = 8, STEPS = 3 };
    static double x[WORKERS][DIM], d[WORKERS][DIM], m[WORKERS][DIM];
    struct live o;
    struct bowl b;
    memset(x, 0, sizeof(x));
    memset(d, 0, sizeof(d));
    memset(m, 0, sizeof(m));
    if (!live_run(&o,
                  "{\"name\":\"noloco\",\"rounds\":8,\"local_steps\":3,\"outer_lr\":0.6,"
                  "\"outer_momentum\":0.4,\"pull\":0.9}",
                  "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int round = 0; round < ROUNDS; round++) {
        double was[WORKERS][DIM], moved[WORKERS][DIM];
        memcpy(was, x, sizeof(was));
        for (int k = 0; k < WORKERS; k++) {
            memcpy(moved[k], x[k], sizeof(moved[k]));
            bowl_train(&b, k, moved[k], m[k], STEPS);
            for (int i = 0; i < DIM; i++)
                moved[k][i] -= was[k][i];
        }
        for (int k = 0; k < WORKERS; k++) {
            const int j = strait_graph_partner(5, WORKERS, round, k);
            for (int i = 0; i < DIM; i++) {
                const double middle = j < 0 ? was[k][i] : (was[k][i] + was[j][i]) / 2,
                             mean = j < 0 ? moved[k][i] : (moved[k][i] + moved[j][i]) / 2;
                d[k][i] = 0.4 * d[k][i] + 0.6 * mean - 0.9 * (was[k][i] - middle);
                x[k][i] += d[k][i];
            }
        }
        const double score = bowl_score(&b, x[0]);
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].loss, score, LIVE_RATIO * score);
    }
    live_free(&o);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o =
            star_run("{\"name\":\"noloco\",\"rounds\":4}", 7,
                     json_pack("{s:s, s:s}", "/codec", "fp16", "/download_codec", "bf16"),
                     b == 0 ? &strait_fluid : &strait_sim, false);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static const struct strait_test tests[] = {
    {"every pair exchanges parameters and movements once a round", bytes},
    {"a round takes one exchange for any number of ranks", times},
    {"steps are those of the algorithm", by_hand},
    {"codecs take the same time on SimGrid and fluid", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/federated/noloco", tests);
