/* Secure aggregation: the published expansions, bytes by arithmetic, the time of a round,
 * dropouts. */
#include "tests/kit/strategy_world.h"

static struct strait_outcome run(const char *settings, int n_clients, json_t *set,
                                 const struct strait_backend *backend)
{
    char form[256];
    snprintf(form, sizeof(form), "{\"name\":\"secagg\",\"rounds\":1,\"local_steps\":1%s}",
             settings);
    return star_run(form, n_clients, set, backend, false);
}

/* Section 7 of the paper: a client sends and receives 2 n keys and 5 n - 4 shares of 256 bits, and
 * sends m values of log2(n (2^16 - 1) + 1) bits, rounded up; "1.73x communication expansion for
 * 2^10 users and 2^20-dimensional vectors" of 16 bits. The model goes down beside that. */
static void expansion(void)
{
    const uint64_t n = 1 << 10, m = 1 << 20;
    struct strait_outcome o = run(
        "", (int)n, json_pack("{s:{s:s,s:s}}", "/model", "params", "1.048576 M", "step", "1 ms"),
        &strait_fluid);
    CU_ASSERT_EQUAL_FATAL(o.experiment->model->n_elems, m);
    const uint64_t of_client = (o.payload_bytes - n * 4 * m) / n;
    CU_ASSERT_EQUAL(of_client, 2 * n * 32 + (5 * n - 4) * 32 + m * 26 / 8);
    CU_ASSERT_DOUBLE_EQUAL((double)of_client / (2.0 * (double)m), 1.73, 0.005);
    /* model, two messages each way, input, who is left, unmasking, stop */
    CU_ASSERT_EQUAL(o.n_messages, n * 9);
    strait_outcome_free(&o);
}

/* Three clients, values of 18 bits: log2(3 x 65535 + 1) = 17.6. Everything waits for everybody:
 * model, keys, shares, input, unmasking; a client masks with two secrets and its own, the server
 * takes three own masks away. */
static void time_of_a_round(void)
{
    struct strait_outcome o = run(",\"mask_speed\":\"100 MB/s\"", 3, NULL, &strait_fluid);
    const struct costs c = costs_of(&o);
    const double rate = c.rate_bytes_per_s, one_way_s = 96 / rate + 0.01,
                 masked = ceil(CNN_ELEMS * 18 / 8.0), mask_s = c.model_bytes / 100e6 + c.add_s,
                 expected = c.hop_s + 64 / rate + 2 * 64 * 2 / rate + 64 * 2 / rate +
                            4 * one_way_s + c.step_s + 3 * mask_s + masked / rate + one_way_s +
                            3 * masked / o.point->add_bytes_per_s + one_way_s + 32 * 3 / rate +
                            one_way_s + 3 * mask_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9);
    strait_outcome_free(&o);
}

/* Half of 40 clients fall silent in a round; the number follows from the masked inputs that were
 * sent. Each remaining client shares masks with the silent ones among its neighbours. */
static void dropouts(void)
{
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        char form[160];
        snprintf(form, sizeof(form),
                 ",\"dropout\":\"50 %%\",\"deadline\":\"60 s\",\"threshold\":0.1,\"neighbours\":%d",
                 i == 0 ? 0 : 4);
        struct strait_outcome o = run(form, 40, NULL, &strait_fluid);
        const uint64_t k = i == 0 ? 39 : 4, masked = (CNN_ELEMS * 22 + 7) / 8,
                       rest = o.payload_bytes - 40 * (4 * CNN_ELEMS + 64 + 64 * k * 3),
                       n_left = rest / (masked + 32 * (k + 1));
        strait_test_context("%d neighbours", (int)k);
        CU_ASSERT_EQUAL(rest, n_left * (masked + 32 * (k + 1)));
        CU_ASSERT(n_left > 5 && n_left < 35);
        /* stop is one more; who is left, and its answer */
        CU_ASSERT_EQUAL(o.n_messages, 40 * 6 + 3 * n_left);
        total_s[i] = o.total_s;
        /* 60 s until nobody is waited for; the silent ones' masks: n_left (40 - n_left) with all
         * as neighbours, and own masks */
        const struct costs c = costs_of(&o);
        const double mask_s = c.model_bytes / 11.7e9 + c.add_s;
        if (i == 0)
            CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                                   60 + (double)(n_left * (40 - n_left) + n_left) * mask_s, 0.3);
        strait_outcome_free(&o);
    }
    CU_ASSERT(total_s[1] < total_s[0]);
    strait_test_context("%s", "");
}

/* With all silent nobody unmasks, and the run goes on. */
static void lost(void)
{
    struct strait_outcome o =
        run(",\"dropout\":\"100 %\",\"deadline\":\"2 s\"", 5, NULL, &strait_fluid);
    CU_ASSERT_EQUAL(o.payload_bytes, 5 * (4 * CNN_ELEMS + 64 + 64 * 4 * 3));
    CU_ASSERT_EQUAL(o.n_messages, 5 * 6);
    strait_outcome_free(&o);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o = run(",\"dropout\":\"20 %\",\"deadline\":\"5 s\",\"neighbours\":3",
                                      9, NULL, b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static void refuses(void)
{
    static const struct {
        const char *strategy, *codec, *part;
    } cases[] = {
        {"{\"name\":\"secagg\"}", "fp16", "masked values cannot be compressed"},
        {"{\"name\":\"secagg\",\"dropout\":\"1 %\"}", "none", "expected a deadline"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_experiment *e = NULL;
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":6,"
                 "\"strategy\":%s,\"codec\":\"%s\",\"network\":{\"client\":{\"rate\":\"1 Gbps\","
                 "\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 Gbps\"}}}",
                 cases[i].strategy, cases[i].codec);
        json_t *resolved = json_loads(text, 0, NULL);
        CU_ASSERT_EQUAL(strait_experiment_read(&e, "t.json", resolved, &err), -1);
        CU_ASSERT_CONTAINS(err.text, cases[i].part);
        strait_experiment_free(e);
        json_decref(resolved);
    }
}

static const struct strait_test tests[] = {
    {"a client sends and receives 1.73 times its update, as published", expansion},
    {"a round takes what its phases take", time_of_a_round},
    {"masks that silent clients leave are taken away, neighbour by neighbour", dropouts},
    {"a round that too few finish is lost", lost},
    {"dropouts and neighbours take the same time on SimGrid and fluid", same_on_simgrid},
    {"codecs, and dropouts without a deadline, are refused", refuses},
};
STRAIT_SUITE("workloads/train/federated/secagg", tests);
