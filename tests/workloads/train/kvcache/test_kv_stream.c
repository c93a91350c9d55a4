/* Caches from machines that prefill: times and bytes against closed forms. */
#include <math.h>
#include <stdio.h>
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

/* 7 layers of 2 x 999 x 3 x 64 values of 4 bytes, 1.534464 MB each. At 100 Mbps and frames of 1538
 * bytes for 1448 a layer takes 1.534464e6 / 11768530.56 = 130.4 ms and 0.01 ms for headers; 20 ms
 * there, half a round trip to the middle and half from it. */
enum { N_LAYERS = 7 };
static const double LAYER_BYTES = 2.0 * 999 * 3 * 64 * 4, RATE = 100e6 / 8 * 1448 / 1538;
static const double TOKEN_S = 0.02, WAY_S = 0.02;

static struct strait_outcome run(const char *settings, int n_ranks,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"kvstream\",\"tokens\":999,\"kv_heads\":3,\"head_dim\":64,"
             "\"layers\":%d%s},\"network\":{\"client\":{\"rate\":"
             "\"100 Mbps\",\"rtt\":\"20 ms\"},\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             n_ranks, N_LAYERS, settings);
    return strait_outcome_of(text, json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

/* One request of one source. What is computed faster than sent is sent behind the first layer's
 * computation; else the last layer is sent behind all of them. Whole, nothing overlaps. */
static void one_request(void)
{
    static const double prefill_s[] = {0, 0.01, 0.4};
    for (int i = 0; i < 3; i++)
        for (int whole = 0; whole < 2; whole++) {
            char form[128];
            snprintf(form, sizeof(form), ",\"rounds\":1,\"prefill\":\"%g ms\",\"send\":\"%s\"",
                     1e3 * prefill_s[i], whole ? "whole" : "layers");
            struct strait_outcome o = run(form, 2, &strait_fluid);
            const double c = prefill_s[i], t = LAYER_BYTES / RATE;
            const double ready_s = whole   ? N_LAYERS * (c + t)
                                   : c < t ? c + N_LAYERS * t
                                           : N_LAYERS * c + t;
            strait_test_context("%s", form);
            CU_ASSERT_DOUBLE_EQUAL(o.total_s, ready_s + WAY_S + TOKEN_S, 2e-4);
            CU_ASSERT_EQUAL(o.n_messages, N_LAYERS);
            CU_ASSERT_EQUAL(o.payload_bytes, N_LAYERS * (uint64_t)LAYER_BYTES);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

/* One source: each request waits until rank 0 has the last one's cache, and
 * 40 ms go by there and back; answers of 3 tokens meanwhile. */
static void requests(void)
{
    struct strait_outcome o =
        run(",\"rounds\":5,\"prefill\":\"400 ms\",\"answer\":3", 2, &strait_fluid);
    const double cache_s = N_LAYERS * 0.4 + LAYER_BYTES / RATE + 2 * WAY_S;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 5 * cache_s - WAY_S + 3 * TOKEN_S, 2e-3);
    CU_ASSERT_EQUAL(o.n_messages, 5 * N_LAYERS + 4);
    strait_outcome_free(&o);
}

/* Three sources: their computation of 5.6 s and transfer of 0.13 s behind it overlap, so that five
 * requests take two turns; what comes together shares rank 0's port, up to two layers more. */
static void sources(void)
{
    struct strait_outcome o = run(",\"rounds\":5,\"prefill\":\"800 ms\"", 4, &strait_fluid);
    const double t = LAYER_BYTES / RATE, turn_s = N_LAYERS * 0.8 + t + 2 * WAY_S;
    CU_ASSERT(o.total_s > 2 * turn_s - WAY_S + TOKEN_S - 2e-3);
    CU_ASSERT(o.total_s < 2 * turn_s + 4 * t + 5 * TOKEN_S);
    strait_outcome_free(&o);
}

static void same_on_simgrid(void)
{
    struct strait_outcome a = run(",\"rounds\":4,\"answer\":2", 3, &strait_fluid);
    struct strait_outcome b = run(",\"rounds\":4,\"answer\":2", 3, &strait_sim);
    CU_ASSERT_DOUBLE_EQUAL(a.total_s, b.total_s, 1e-9 * a.total_s);
    strait_outcome_free(&a);
    strait_outcome_free(&b);
}

static const struct strait_test tests[] = {
    {"a request takes the slower of prefill and network, and the other's one layer", one_request},
    {"requests of one source follow one another", requests},
    {"requests of several sources overlap", sources},
    {"SimGrid and fluid agree", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/kvcache/kv_stream", tests);
