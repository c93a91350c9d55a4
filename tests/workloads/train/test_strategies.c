/* The strategies against closed forms of their bytes and times, and real sums bit by bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "workloads/train/collectives/collectives.h"
#include "timelines.h"

#define MODEL_CNN "\"model\":\"cnn\",\"seed\":3,"
#define NETWORK                                                                                    \
    "\"network\":{\"overhead\":\"24 B\",\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"},"     \
    "\"server\":{\"rate\":\"100 Mbps\"},\"tcp\":{\"initial_window\":\"1 GB\"}}"

static const char *const fedavg =
    "{\"schema\":\"strait-experiment/1\"," MODEL_CNN
    "\"clients\":4,\"strategy\":{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":3}," NETWORK "}";
static const char *const ring =
    "{\"schema\":\"strait-experiment/1\"," MODEL_CNN
    "\"clients\":3,\"strategy\":{\"name\":\"bsp\",\"rounds\":1}," NETWORK "}";

/* Fast enough for start-ups to count, slow enough for bytes to count: MG-WFBP merges some layers,
 * neither none nor all, and what is not hidden behind compute is another part for each schedule. */
static const char *const fast =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"resnet50\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"bsp\",\"rounds\":2},"
    "\"network\":{\"client\":{\"rate\":\"10 Gbps\",\"rtt\":\"200 us\"},"
    "\"server\":{\"rate\":\"10 Gbps\"}}}";

enum { CNN_ELEMS = 105866 };

/* Without a codec and a ramp a round of n clients takes: the model n times through the server's
 * port and 10 ms; the steps; n updates through the port and 10 ms; n additions. Frames of 96 bytes
 * count. Rate: 100e6 / 8 x 1448 / 1538 = 11768530.56 B/s. */
static void fedavg_time(void)
{
    const double rate = 100e6 / 8 * 1448 / 1538, message = 4.0 * CNN_ELEMS + 96;
    struct strait_outcome o = strait_outcome_of(fedavg, json_object(), "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const double step_s = strait_model_step_s(o.experiment->model);
    const double add_s = 4.0 * CNN_ELEMS / o.point->add_bytes_per_s;
    const double round_s = 2 * (4 * message / rate + 0.01) + 3 * step_s + 4 * add_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * round_s, 1e-9 * round_s);
    /* 2 rounds x 4 clients x 2 directions, and 4 empty messages that say stop */
    CU_ASSERT_EQUAL(o.payload_bytes, 2 * 4 * 2 * 4 * (uint64_t)CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 2 * 4 * 2 + 4);
    strait_outcome_free(&o);
}

static void same_on_simgrid(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        json_t *settings = json_pack("{s:{s:s,s:{s:f}}, s:s}", "/codec", "name", "sz", "bound",
                                     "range", 1e-3, "/network/tcp/initial_window", "14480 B");
        struct strait_outcome o = strait_outcome_of(fedavg, settings, "default", backends[i],
                                                    (struct strait_trial_options){0});
        total_s[i] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

/* 2 (n - 1) steps of parts of 1/n: payload 2 (n - 1) x 4 n_elems in all. Part i has
 * floor((i + 1) N / n) - floor(i N / n) elements; each step waits for the slowest part and 20 ms
 * (two access links). */
static void ring_time(void)
{
    const double rate = 100e6 / 8 * 1448 / 1538;
    struct strait_outcome o = strait_outcome_of(ring, json_object(), "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const struct strait_model *m = o.experiment->model;
    CU_ASSERT_EQUAL(o.payload_bytes, 2 * 2 * 4 * (uint64_t)CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 3 * 4);
    const double part = ceil(CNN_ELEMS / 3.0);
    const double copies_s = 2 * 4 * part / o.point->copy_bytes_per_s,
                 adds_s = 2 * 4 * part / o.point->add_bytes_per_s;
    const double expected =
        m->fwd_s + m->bwd_s + m->opt_s + 4 * ((4 * part + 96) / rate + 0.02) + adds_s + copies_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 2e-6); /* parts differ by an element: 4 x 0.34 us */
    strait_outcome_free(&o);
}

/* --- the exact sum ------------------------------------------------------------------------- */

/* A rank program of the test: all-reduce of recorded gradients, checked against the sum in ring
 * order of part p: rank p first, then p + 1, ... */
static struct strait_group sum_world(struct strait_rank *r)
{
    return strait_world(r, 0);
}

static const char *check_sum(struct strait_rank *r)
{
    struct strait_group world = sum_world(r);
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    const size_t n = strait_n_elems(x);
    float *values = strait_values(r, x), *before = strait_alloc(r, n, sizeof(float));
    const float weight = (float)(strait_me(r) + 1) * 0.37f; /* ranks differ: order matters */
    for (size_t i = 0; i < n; i++)
        before[i] = values[i];
    for (size_t i = 0; i < n; i++)
        values[i] = before[i] * weight;
    strait_reduce_scatter(r, world, strait_codec(r, "up"), x);
    strait_all_gather(r, world, strait_codec(r, "up"), x);
    values = strait_values(r, x);
    for (int p = 0; p < world.n; p++) {
        struct strait_tensor *part = strait_slice(r, x, p, world.n);
        const size_t lo = (size_t)(strait_values(r, part) - values), m = strait_n_elems(part);
        for (size_t i = lo; i < lo + m; i++) {
            float sum = before[i] * ((float)(p + 1) * 0.37f);
            for (int k = 1; k < world.n; k++)
                sum = before[i] * ((float)((p + k) % world.n + 1) * 0.37f) + 1.0f * sum;
            if (memcmp(&sum, &values[i], sizeof(sum)) != 0)
                return "a sum differs from the sum in ring order";
        }
    }
    return NULL;
}

static void sum_main(struct strait_rank *r)
{
    const char *wrong = check_sum(r);
    if (wrong) {
        struct strait_error err = {0};
        strait_error_set(&err, STRAIT_ERR_BACKEND, "sum", "%s", wrong);
        r->backend->ops->fail(r, &err);
    }
}

static void exact_sum(void)
{
    for (int n = 1; n <= 5; n++) {
        struct strait_error err = {0};
        struct strait_outcome o =
            strait_outcome_of(ring, json_pack("{s:i}", "/clients", n), "default", &strait_fluid,
                              (struct strait_trial_options){.real_payload = true});
        o.point->run.rank_main = sum_main;
        for (int i = 0; i < n; i++)
            strait_log_release(&o.point->logs[i]);
        CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
        if (err.code)
            fprintf(stderr, "%d ranks: %s\n", n, err.text);
        strait_outcome_free(&o);
    }
}

/* --- all of them --------------------------------------------------------------------------- */

static void all_run(void)
{
    enum { MAX = 64 };
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    struct timeline timelines[MAX];
    CU_ASSERT_FATAL(n <= MAX);
    for (size_t i = 0; i < n; i++) {
        struct strait_outcome o = strait_outcome_of(fast, on_three_ranks(all[i]), "default",
                                                    &strait_sim, (struct strait_trial_options){0});
        CU_ASSERT_EQUAL(o.experiment->n_ranks, 3);
        CU_ASSERT(o.total_s > 0);
        CU_ASSERT(o.payload_bytes > 0 || o.n_messages == 0); /* a cache crosses no network */
        timelines[i] = timeline_of(&o);
        expect_unlike_others(timelines, i + 1);
        strait_outcome_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"a round of federated averaging takes what its parts take", fedavg_time},
    {"federated averaging with codec and ramp is the same on SimGrid and fluid", same_on_simgrid},
    {"a ring all-reduce sends 2 (n - 1) parts in as many steps", ring_time},
    {"an all-reduce without codec gives the float sum in ring order", exact_sum},
    {"every listed strategy runs on three ranks and none is like another", all_run},
};
STRAIT_SUITE("workloads/train/strategies", tests);
