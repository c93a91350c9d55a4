/* Sizes of the tensors that an emulation sends, in a run that sends none. */
#include <string.h>
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

static const char text[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":3,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":2},"
    "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},"
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\"},\"server\":{\"rate\":\"1 Gbps\"}}}";

static struct strait_outcome run_of(json_t *settings, const struct strait_backend *backend,
                                    bool real, const struct strait_sent_sizes *sizes)
{
    return strait_outcome_of(text, json_incref(settings), "default", backend,
                             (struct strait_trial_options){.real_payload = real, .sizes = sizes});
}

static uint64_t bytes_of(const struct strait_outcome *o, int rank)
{
    return o->point->logs[rank].payload_bytes;
}

static bool is_equal(const struct strait_outcome *x, const struct strait_outcome *y)
{
    for (int i = 0; i < x->experiment->n_ranks; i++)
        if (bytes_of(x, i) != bytes_of(y, i))
            return false;
    return true;
}

/* A run with the values tells what every rank sends. The profile, of other values, does not. Codecs
 * with a memory, and with chance, send another size each round. */
static void every_byte(void)
{
    struct {
        const char *what;
        json_t *settings;
    } cases[] = {
        {"updates, and weights down",
         json_pack("{s:{s:s, s:{s:f}}}", "/download_codec", "name", "sz", "bound", "range", 1e-2)},
        {"partial sums of a ring",
         json_pack("{s:{s:s, s:i}}", "/strategy", "name", "bsp", "rounds", 2)},
        {"sums of a tree", json_pack("{s:{s:s, s:i, s:s}}", "/strategy", "name", "bsp", "rounds", 2,
                                     "collective", "tree")},
        {"parts for servers", json_pack("{s:{s:s, s:i}}", "/strategy", "name", "ps", "rounds", 2)},
        {"more rounds than are looked at",
         json_pack("{s:{s:s, s:i}}", "/strategy", "name", "fedavg", "rounds", 9)},
        {"chance", json_pack("{s:s, s:{s:s, s:i}}", "/codec", "qsgd", "/strategy", "name", "fedavg",
                             "rounds", 4)},
        {"regions", json_pack("{s:{s:s, s:i, s:i}}", "/strategy", "name", "hierfl", "rounds", 2,
                              "region_size", 2)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        struct strait_sent_sizes *sizes = NULL;
        struct strait_outcome real = run_of(cases[i].settings, &strait_fluid, true, NULL),
                              by_profile = run_of(cases[i].settings, &strait_fluid, false, NULL);
        CU_ASSERT_EQUAL_FATAL(strait_trial_find_sizes(&sizes, real.experiment, real.profile, &err),
                              0);
        struct strait_outcome fluid = run_of(cases[i].settings, &strait_fluid, false, sizes),
                              sim = run_of(cases[i].settings, &strait_sim, false, sizes);
        if (!is_equal(&real, &fluid) || !is_equal(&real, &sim) || is_equal(&real, &by_profile))
            CU_FAIL(cases[i].what);
        CU_ASSERT_EQUAL(real.n_messages, fluid.n_messages);
        strait_outcome_free(&real);
        strait_outcome_free(&by_profile);
        strait_outcome_free(&fluid);
        strait_outcome_free(&sim);
        strait_sent_sizes_free(sizes);
        json_decref(cases[i].settings);
    }
}

/* 3 ranks with a model of 1 GB each: nobody waits for that. */
static void too_much(void)
{
    struct strait_error err = {0};
    struct strait_sent_sizes *sizes = NULL;
    struct strait_outcome o = strait_outcome_of(
        text, json_pack("{s:{s:s, s:s}}", "/model", "params", "250 M", "step", "1 s"), "default",
        &strait_fluid, (struct strait_trial_options){.sizes = NULL});
    CU_ASSERT_EQUAL(strait_trial_find_sizes(&sizes, o.experiment, o.profile, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(err.text, "a round has more than 1 GB to encode");
    CU_ASSERT_PTR_NULL(sizes);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"a sized run sends as many bytes as one with the values", every_byte},
    {"what takes too long to encode is refused", too_much},
};
STRAIT_SUITE("workloads/rank/found_sizes", tests);
