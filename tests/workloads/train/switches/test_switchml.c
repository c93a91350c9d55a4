/* In-network aggregation: bytes, and times in closed form by the pool; sums bit by bit. */
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"

/* Workers at 100 Mbps behind a switch of 100 Gbps, 10 ms a way: of a worker's two links. */
static struct strait_outcome run(const char *settings, int n_workers, json_t *set,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"switchml\",\"rounds\":2%s},\"network\":{\"overhead\":"
             "\"24 B\",\"client\":[{\"count\":%d,\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"
             "{\"count\":1,\"rate\":\"100 Gbps\",\"rtt\":\"0 ms\"}],"
             "\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             n_workers + 1, settings, n_workers);
    return strait_outcome_of(text, set ? set : json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

/* 105866 values in m pieces of 4000 bytes and a rest, s slots. A piece takes L on the wire and 10
 * ms, and its sum as much: C. With s L < C a worker sends s pieces, waits for their sums, and so
 * on: the last piece's sum comes floor((m - 1) / s) C + ((m - 1) mod s) L + C after the first is
 * sent, less what the rest is smaller than a piece; else (m - 1) L + C. Then it is copied. */
static void pools(void)
{
    static const int slots[] = {1, 3, 10, 106, 200};
    enum { PIECE = 4000, M = 106, REST = 4 * CNN_ELEMS - 105 * PIECE };
    for (int i = 0; i < 5; i++)
        for (int n = 1; n <= 4; n += 3) {
            char form[96];
            const int s = slots[i];
            snprintf(form, sizeof(form), ",\"slot\":\"%d B\",\"pool\":\"%d B\"", PIECE, s * PIECE);
            struct strait_outcome o = run(form, n, NULL, &strait_fluid);
            const struct strait_model *m = o.experiment->model;
            const struct costs c = costs_of(&o);
            const double L = (PIECE + 96) / c.rate_bytes_per_s, C = 2 * (L + 0.01),
                         less = 2 * (PIECE - REST) / c.rate_bytes_per_s,
                         wait = s * L < C ? (M - 1) / s * C + (M - 1) % s * L + C : (M - 1) * L + C,
                         round_s = m->fwd_s + m->bwd_s + m->opt_s + wait - less +
                                   REST / o.point->copy_bytes_per_s;
            strait_test_context("%d slots, %d workers", s, n);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * 2 * (uint64_t)n * 4 * CNN_ELEMS);
            CU_ASSERT_EQUAL(o.n_messages, 2 * 2 * (uint64_t)n * M);
            /* the switch's port of 100 Gbps: below 1 us a piece */
            CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * round_s, 2 * M * 1e-6);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

/* Workers' own gradients, in the order of the workers, after two rounds. */
static void adding_main(struct strait_rank *r)
{
    scale_prepared(r, STRAIT_GRADIENTS);
    strait_rank_main(r);
}

static const char *wrong;
static struct strait_trial *running;

static void sums_main(struct strait_rank *r)
{
    static float expected[CNN_ELEMS], part[CNN_ELEMS];
    adding_main(r);
    if (strait_me(r) != 0)
        return;
    sent(expected, running, STRAIT_GRADIENTS, 0);
    for (int worker = 1; worker < 3; worker++) {
        sent(part, running, STRAIT_GRADIENTS, worker);
        for (int i = 0; i < CNN_ELEMS; i++)
            expected[i] += part[i];
    }
    const float *found = whole_tensor(r, STRAIT_GRADIENTS);
    if (!found || memcmp(found, expected, sizeof(expected)) != 0)
        wrong = "a sum differs from that in the order of the workers";
}

static void sums(void)
{
    struct strait_outcome o = star_run("{\"name\":\"switchml\",\"rounds\":2,\"slot\":\"4 KB\"}", 4,
                                       NULL, &strait_fluid, true);
    wrong = NULL;
    running = o.point;
    run_with(&o, sums_main);
    CU_ASSERT_PTR_NULL(wrong);
    strait_outcome_free(&o);
}

/* Four workers and a switch train as four ranks with a ring, but for the order of their sums. */
static void trains(void)
{
    struct live ring, tree;
    if (!live_run(&ring, "{\"name\":\"bsp\",\"rounds\":6}", ",\"clients\":4", &strait_fluid) ||
        !live_run(&tree, "{\"name\":\"switchml\",\"rounds\":6}", ",\"clients\":5", &strait_fluid))
        return;
    CU_ASSERT_EQUAL_FATAL(tree.trial->logs[0].n_scored, ring.trial->logs[0].n_scored);
    for (size_t i = 0; i < ring.trial->logs[0].n_scored; i++) {
        const double loss = ring.trial->logs[0].scored[i].loss;
        CU_ASSERT_DOUBLE_EQUAL(tree.trial->logs[0].scored[i].loss, loss, LIVE_RATIO * loss);
    }
    live_free(&ring);
    live_free(&tree);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o = run(",\"pool\":\"128 KB\",\"slot\":\"32 KB\"", 5, NULL,
                                      b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static void refuses(void)
{
    static const struct {
        const char *strategy, *more, *part;
    } cases[] = {
        {"{\"name\":\"switchml\",\"pool\":\"1 KB\"}", ",\"clients\":3",
         "at least a slot of 65536 B"},
        {"{\"name\":\"switchml\"}", ",\"clients\":1", "expected at least 2"},
        {"{\"name\":\"switchml\"}", ",\"clients\":3,\"codec\":\"topk\"", "a switch can add"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        live_refuses(cases[i].strategy, cases[i].more, cases[i].part);
}

static const struct strait_test tests[] = {
    {"a round takes what the pool's window makes of it", pools},
    {"the switch adds in the order of the workers", sums},
    {"workers train as ranks of a ring do", trains},
    {"a pool takes the same time on SimGrid and fluid", same_on_simgrid},
    {"pools below a slot, lone ranks and codecs that no switch adds are refused", refuses},
};
STRAIT_SUITE("workloads/train/switches/switchml", tests);
