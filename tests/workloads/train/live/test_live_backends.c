/* Real training gives the same bits on every backend, whatever the number of threads, with and
 * without a codec. */
#include "tests/kit/live_world.h"

/* With asynchronous methods the order of arrival counts, which an emulation need not share. */
static const struct {
    const char *strategy;
    bool in_order;
} cases[] = {
    {"{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":3}", true},
    {"{\"name\":\"hierfl\",\"rounds\":2,\"local_steps\":2,\"region_size\":2}", true},
    {"{\"name\":\"localsgd\",\"rounds\":3,\"local_steps\":3}", true},
    {"{\"name\":\"diloco\",\"rounds\":3,\"local_steps\":3}", true},
    {"{\"name\":\"elastic-diloco\",\"rounds\":3,\"local_steps\":3}", true},
    {"{\"name\":\"streaming-diloco\",\"rounds\":2,\"local_steps\":6,\"fragments\":2,"
     "\"overlap_steps\":2}",
     true},
    {"{\"name\":\"fedasync\",\"rounds\":6,\"local_steps\":3,\"straggler_spread\":1}", false},
    {"{\"name\":\"fedbuff\",\"rounds\":3,\"local_steps\":3,\"buffer\":2,\"straggler_spread\":1}",
     false},
    {"{\"name\":\"bsp\",\"rounds\":3}", true},
    {"{\"name\":\"ps\",\"rounds\":3}", true},
    {"{\"name\":\"wfbp\",\"rounds\":3}", true},
    {"{\"name\":\"fusion\",\"rounds\":3}", true},
    {"{\"name\":\"mgwfbp\",\"rounds\":3}", true},
    {"{\"name\":\"bytescheduler\",\"rounds\":3,\"partition\":\"20 B\"}", true},
    {"{\"name\":\"dear\",\"rounds\":3,\"fusion\":\"90 B\"}", true},
    {"{\"name\":\"grace\",\"rounds\":3,\"exchange\":\"allgather\"}", true},
    {"{\"name\":\"gtopk\",\"rounds\":3}", true},
    {"{\"name\":\"powersgd\",\"rounds\":3}", true},
    {"{\"name\":\"acpsgd\",\"rounds\":3}", true},
    {"{\"name\":\"sparseloco\",\"rounds\":3,\"local_steps\":3}", true},
    {"{\"name\":\"site-diloco\",\"rounds\":2,\"local_steps\":2,\"site_rounds\":2,\"site_size\":2}",
     true},
    {"{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":3,\"server_optimiser\":\"adam\"}", true},
    {"{\"name\":\"demo\",\"rounds\":3}", true},
    {"{\"name\":\"dgc\",\"rounds\":3,\"clip\":1}", true},
    {"{\"name\":\"slamb\",\"rounds\":3,\"local_steps\":2}", true},
    {"{\"name\":\"onebit-adam\",\"rounds\":3}", true},
    {"{\"name\":\"zero-one-adam\",\"rounds\":5,\"warm_up\":3,\"square_steps\":1}", true},
};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

static void check_same(const struct live *a, const struct live *b, const char *name)
{
    const struct strait_log *x = &a->trial->logs[0], *y = &b->trial->logs[0];
    CU_ASSERT_EQUAL_FATAL(x->n_scored, y->n_scored);
    CU_ASSERT(x->n_scored > 0);
    for (size_t i = 0; i < x->n_scored; i++) {
        if (!(x->scored[i].loss == y->scored[i].loss))
            fprintf(stderr, "%s, round %zu: %.17g and %.17g\n", name, i, x->scored[i].loss,
                    y->scored[i].loss);
        CU_ASSERT(x->scored[i].loss == y->scored[i].loss);
    }
    CU_ASSERT_EQUAL_FATAL(x->n_of_workers, y->n_of_workers);
    for (size_t k = 0; k < x->n_of_workers; k++)
        CU_ASSERT(x->of_workers[k] == y->of_workers[k]);
}

static void compare(struct live_task task, const char *strategy, const char *more,
                    const struct strait_backend *with)
{
    struct live a, b;
    if (!live_run_task(&a, task, strategy, more, &strait_fluid, 1))
        return;
    if (live_run_task(&b, task, strategy, more, with, 3)) {
        CU_ASSERT_EQUAL(a.trial->logs[1].payload_bytes, b.trial->logs[1].payload_bytes);
        check_same(&a, &b, strategy);
        live_free(&b);
    }
    live_free(&a);
}

/* Strategies whose tasks have factors. */
#define FACTORS                                                                                    \
    ((struct live_task){DATA("tests/data/mlp8.csv"),                                               \
                        "{\"task\":\"fashion-mlp\",\"width\":8,\"hidden\":1,\"batch\":4,"          \
                        "\"samples\":300,\"optimiser\":\"kfac\",\"eval\":{\"samples\":100}}"})
static const char *const second_order[] = {
    "{\"name\":\"dkfac\",\"rounds\":2}", "{\"name\":\"mpdkfac\",\"rounds\":2}",
    "{\"name\":\"spdkfac\",\"rounds\":2}", "{\"name\":\"padkfac\",\"rounds\":2}",
    "{\"name\":\"dpkfac\",\"rounds\":2}"};
enum { N_SECOND_ORDER = sizeof(second_order) / sizeof(second_order[0]) };

/* Three stages, two microbatches, epochs of two batches: changes are coded from the third on. */
static const struct live_task stages = {"fashion-mlp",
                                        "{\"task\":\"fashion-mlp\",\"batch\":4,\"samples\":8,"
                                        "\"eval\":{\"samples\":100}}"};
static const char staged[] = "{\"name\":\"ac-sgd\",\"rounds\":5,\"microbatches\":2}",
                  staged_codec[] = ",\"codec\":{\"name\":\"block\",\"type\":\"int4\","
                                   "\"cutoff\":0},\"download_codec\":\"bf16\"";

static void sim_and_fluid(void)
{
    for (int i = 0; i < N_CASES; i++)
        compare(LIVE_QUADRATIC, cases[i].strategy, "", &strait_sim);
    for (int i = 0; i < N_SECOND_ORDER; i++)
        compare(FACTORS, second_order[i], "", &strait_sim);
}

/* Matrices are encoded, and so are lossy; vectors are not. */
static const struct live_task network = {
    "cnn", "{\"task\":\"fashion-cnn\",\"batch\":4,\"samples\":600,\"split\":{\"dirichlet\":0.5},"
           "\"eval\":{\"samples\":100}}"};
static const struct {
    const char *strategy, *codec;
} coded[] = {
    {"{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":2}",
     ",\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-2}}"},
    {"{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":2}",
     ",\"codec\":\"qsgd\",\"download_codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-4}}"},
    {"{\"name\":\"grace\",\"rounds\":2}", ",\"codec\":{\"name\":\"topk\",\"error_feedback\":true}"},
    {"{\"name\":\"bsp\",\"rounds\":2}", ",\"codec\":{\"name\":\"sz\",\"bound\":{\"abs\":1e-4}}"},
};
enum { N_CODED = sizeof(coded) / sizeof(coded[0]) };

static void with_codecs(void)
{
    for (int i = 0; i < N_CODED; i++)
        compare(network, coded[i].strategy, coded[i].codec, &strait_sim);
    compare(stages, staged, staged_codec, &strait_sim);
}

/* The last model's accuracies for each worker are there whether the rounds are over or the target
 * is reached: with a target of nothing that is the first of two rounds. */
static void of_workers(void)
{
    struct live whole, ended;
    if (!live_run_task(&whole, network, "{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":2}", "",
                       &strait_fluid, 1) ||
        !live_run_task(&ended, network, "{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":2}",
                       ",\"until\":{\"accuracy\":1e-9}", &strait_fluid, 1))
        return;
    CU_ASSERT_EQUAL(ended.trial->logs[0].n_scored, 1);
    CU_ASSERT_EQUAL(whole.trial->logs[0].n_of_workers, WORKERS);
    check_same(&whole, &ended, "the target");
    live_free(&whole);
    live_free(&ended);
}

static void emulated(void)
{
    for (int i = 0; i < N_CASES; i += IS_SANITIZED ? 3 : 1)
        if (cases[i].in_order)
            compare(LIVE_QUADRATIC, cases[i].strategy, "", &strait_emu);
    compare(FACTORS, second_order[2], "", &strait_emu); /* the others share its steps */
    compare(network, coded[1].strategy, coded[1].codec, &strait_emu);
    compare(stages, staged, staged_codec, &strait_emu);
}

static const struct strait_test tests[] = {
    {"sim and fluid train to the same bits", sim_and_fluid},
    {"and so they do with a codec between", with_codecs},
    {"the last model is scored for each worker, rounds over or target reached", of_workers},
    {"an emulation trains to the same bits", emulated},
};
STRAIT_SUITE_WITH("workloads/train/live/live_backends", tests, .slow_s = 49);
