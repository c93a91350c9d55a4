/* Expert parallelism: bytes, messages and times in closed form, even and skewed, padded and not. */
#include <math.h>
#include <stdio.h>
#include "tests/kit/data.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { LAYERS = 12, ELEMS = 12 * 3000, WIDTH = 10, FRAME = 96 };
static const double PASSES_S = 12 * 0.036, RATE_BYTES_PER_S = 100e6 / 8 * 1448 / 1538;

static struct strait_outcome run(const char *settings, int n_ranks, json_t *set,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"experts\",\"rounds\":1,\"width\":%d%s},"
             "\"network\":{\"overhead\":\"24 B\",\"client\":{\"rate\":\"100 Mbps\",\"rtt\":"
             "\"20 ms\"},\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             DATA("tests/data/equal-layers.csv"), n_ranks, WIDTH, settings);
    return strait_outcome_of(text, set ? set : json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

/* Even popularity, places for 5/4 of a share: each of n (n - 1) pairs sends ceil(5/4 top tokens /
 * E) places for each expert there, four times a block; nothing else but the ring of what all hold.
 * A block waits for four all-to-alls, n - 1 messages behind one another and two access links each,
 * and computes as if all places were filled. */
static void padded(void)
{
    static const struct {
        int n, experts, tokens, top, blocks;
    } cases[] = {{2, 1, 999, 1, 1}, {3, 1, 1000, 2, 2}, {5, 2, 777, 2, 3}, {7, 3, 640, 1, 2}};
    for (int i = 0; i < 4; i++) {
        char form[192];
        const int n = cases[i].n, e = cases[i].experts;
        const double k = cases[i].top * cases[i].tokens, places = e * ceil(1.25 * k / (n * e)),
                     load = n * places / k, blocks = cases[i].blocks;
        snprintf(form, sizeof(form),
                 ",\"tokens\":%d,\"experts\":%d,\"top\":%d,\"blocks\":%d,\"dense\":0,"
                 "\"expert_time\":0.6",
                 cases[i].tokens, e, cases[i].top, cases[i].blocks);
        struct strait_outcome o = run(form, n, NULL, &strait_fluid);
        const double bytes = (n - 1) * 4 * WIDTH * places,
                     exchange_s = (bytes + (n - 1) * FRAME) / RATE_BYTES_PER_S + 0.02 +
                                  bytes / o.point->copy_bytes_per_s;
        strait_test_context("%d ranks of %d experts", n, e);
        CU_ASSERT_EQUAL(o.n_messages, (uint64_t)(4 * blocks * n * (n - 1)));
        CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)(4 * blocks * n * (n - 1) * 4 * WIDTH * places));
        CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                               PASSES_S * (0.4 + 0.6 * load) + 4 * blocks * exchange_s +
                                   o.experiment->model->opt_s,
                               1e-9);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Three ranks of one expert, 1000 tokens each, popularity as 1, 1/2, 1/3: of 11 parts 6, 3 and 2;
 * floor(1000 x 6 / 11) = 545, floor(1000 x 9 / 11) - 545 = 273, and 182. One block: rank 0 has the
 * popular expert. Each way it gets 2 x 545 tokens and each rank 545 + 273 + 182 less its own; the
 * same back: 2 x 1000 tokens leave their ranks, four times. In a second block rank 1 has it. */
static void skewed(void)
{
    static const double chosen[] = {545, 273, 182};
    for (int blocks = 1; blocks <= 2; blocks++) {
        char form[160];
        snprintf(form, sizeof(form),
                 ",\"tokens\":1000,\"skew\":1,\"capacity\":0,\"blocks\":%d,\"dense\":0", blocks);
        struct strait_outcome o = run(form, 3, NULL, &strait_fluid);
        strait_test_context("%d blocks", blocks);
        CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)blocks * 4 * 4 * WIDTH * 2 * 1000);
        /* six of tokens each way, there and back, and six counts before them */
        CU_ASSERT_EQUAL(o.n_messages, (uint64_t)blocks * (4 * 6 + 2 * 6));
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
    /* The popular expert's rank decides: counts, 2 x 545 tokens through its port, 3 x 545 / 1000 of
     * the experts' time, as many back. At the end rank 0 waits for nobody: the others, who have
     * less to compute, have sent theirs long before. */
    struct strait_outcome o =
        run(",\"tokens\":1000,\"skew\":1,\"capacity\":0,\"blocks\":1,\"dense\":0,\"expert_time\":1",
            3, NULL, &strait_fluid);
    const double counts_s = 2 * FRAME / RATE_BYTES_PER_S + 0.02,
                 there_s = 2 * (4 * WIDTH * chosen[0] + FRAME) / RATE_BYTES_PER_S + 0.02,
                 expected = 3 * chosen[0] / 1000 * PASSES_S + 2 * counts_s + 3 * there_s +
                            o.experiment->model->opt_s;
    /* copies, and what shares the port's first milliseconds */
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-4);
    strait_outcome_free(&o);
}

/* Of 1000 choices an expert may take ceil(1.25 x 1000 / 3) = 417: 545 - 417 are dropped. With
 * ceil(2 x 1000 / 3) places nothing is. */
static void drops(void)
{
    static const double capacities[] = {1.25, 2};
    static const double dropped[] = {(545 - 417) / 1000.0, 0};
    for (int i = 0; i < 2; i++) {
        char form[160];
        struct strait_error err = {0};
        json_t *quality = NULL;
        snprintf(form, sizeof(form), ",\"tokens\":1000,\"skew\":1,\"capacity\":%g,\"blocks\":1",
                 capacities[i]);
        struct strait_outcome o = run(form, 3, NULL, &strait_fluid);
        CU_ASSERT_EQUAL(o.experiment->strategy->quality(&quality, o.experiment, &err), 0);
        CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(quality, "dropped_ratio")),
                               dropped[i], 1e-12);
        json_decref(quality);
        strait_outcome_free(&o);
    }
}

/* A quarter of the model is held by all: 2 x (n - 1) times 9000 values around the ring. */
static void dense(void)
{
    struct strait_outcome o =
        run(",\"tokens\":30,\"capacity\":1,\"blocks\":1,\"dense\":0.25", 3, NULL, &strait_fluid);
    CU_ASSERT_EQUAL(o.payload_bytes, 4 * 6 * 4 * WIDTH * 10 + 2 * 2 * 4 * (uint64_t)ELEMS / 4);
    strait_outcome_free(&o);
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o =
            run(",\"blocks\":2,\"skew\":3,\"capacity\":0,\"experts\":2", 5,
                json_pack("{s:s}", "/codec", "bf16"), b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static const struct strait_test tests[] = {
    {"padded tokens cross four times a block and wait for one another", padded},
    {"without a capacity the rank of a popular expert receives and computes for longer", skewed},
    {"what finds no place is dropped, and counted", drops},
    {"what all ranks hold is summed by a ring", dense},
    {"skewed and coded tokens take the same time on SimGrid and fluid", same_on_simgrid},
};
STRAIT_SUITE("workloads/train/parallel/experts", tests);
