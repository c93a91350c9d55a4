/* AC-SGD: its passes' time with the memories', its bytes in the first epoch and after it, and real
 * training: exact where nothing is lost, and near to it where changes vanish. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/kit/data.h"
#include "tests/kit/fashion.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { LAYERS = 12, ACTIVATION = 4800, MICRO = 4 };
static const double FORWARD_S = 12 * 0.012, BACKWARD_S = 12 * 0.024; /* of the model, a batch */

static struct strait_outcome run(const char *settings, int n_ranks, json_t *set,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"ac-sgd\",\"activation\":\"%d B\",\"microbatches\":%d%s},"
             "\"network\":{\"client\":{\"rate\":\"100 Gbps\",\"rtt\":\"0.002 us\"},"
             "\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             DATA("tests/data/equal-layers.csv"), n_ranks, ACTIVATION, MICRO, settings);
    return strait_outcome_of(text, set ? set : json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

/* Seconds of the last round alone: a run with it less one without. */
static double last_round_s(const char *settings, int n_rounds, int n_ranks, double *step_s)
{
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        char form[256];
        snprintf(form, sizeof(form), ",\"rounds\":%d%s", n_rounds - i, settings);
        struct strait_outcome o = run(form, n_ranks, NULL, &strait_fluid);
        total_s[i] = o.total_s;
        *step_s = o.experiment->model->opt_s / n_ranks;
        strait_outcome_free(&o);
    }
    return total_s[0] - total_s[1];
}

/* GPipe's (m + s - 1) passes where the memories are fast, in the first epoch and after it. A copy
 * of 1200 bytes takes below a microsecond, and there are at most 6 a microbatch. */
static void passes(void)
{
    for (int s = 2; s <= 6; s += 2)
        for (int n_rounds = 2; n_rounds <= 4; n_rounds++) { /* epochs of 2 batches */
            double step_s;
            const double found_s = last_round_s(",\"epoch\":2,\"memory_rate\":\"1 TB/s\"", n_rounds,
                                                s, &step_s),
                         expected = (MICRO + s - 1) * (FORWARD_S + BACKWARD_S) / s / MICRO + step_s;
            strait_test_context("%d stages, round %d", s, n_rounds);
            CU_ASSERT_DOUBLE_EQUAL(found_s, expected, 8e-6 * (MICRO + s));
        }
    strait_test_context("%s", "");
}

/* Two stages, memories that take L = 50 ms for the 1200 bytes of a microbatch, more than a forward
 * pass of 18 ms: the first stage reads one after the other and sends number i at (i + 1) L, the
 * last one ends its forward pass at 4 L + f, and 5 backward passes are left. What the first epoch
 * writes is written at the latest 4 L after the first pass, which its passes hide. */
static void slow_memory(void)
{
    const double f = FORWARD_S / 2 / MICRO, b = BACKWARD_S / 2 / MICRO, load_s = 0.05;
    double step_s;
    double found_s = last_round_s(",\"epoch\":1,\"memory_rate\":\"24 KB/s\"", 3, 2, &step_s);
    CU_ASSERT_DOUBLE_EQUAL(found_s, MICRO * load_s + f + (MICRO + 1) * b + step_s, 5e-5);
    found_s = last_round_s(",\"epoch\":3,\"memory_rate\":\"24 KB/s\"", 3, 2, &step_s);
    CU_ASSERT_DOUBLE_EQUAL(found_s, (MICRO + 1) * (f + b) + step_s, 5e-5);
    /* Slower still, 100 ms each: the step waits for the last write of the first epoch. */
    found_s = last_round_s(",\"epoch\":3,\"memory_rate\":\"12 KB/s\"", 3, 2, &step_s);
    CU_ASSERT_DOUBLE_EQUAL(found_s, f + MICRO * 2 * load_s + step_s, 5e-5);
}

/* Three stages, two epochs of two batches, 300 values a microbatch. Activations: plain in the first
 * epoch, 2 bytes a value in the second; gradients back: 2 bytes a value in all four rounds by
 * `download_codec`, or plain. A message is a bundle: below 40 bytes more. Two pipelines sum what
 * their stages have of the model's 144 KB. */
static void bytes(void)
{
    static const struct {
        const char *settings, *down;
        int n_pipelines;
        uint64_t bytes;
        int n_coded;
    } cases[] = {
        {",\"rounds\":4,\"epoch\":2", "none", 1,
         2 * (2 * ACTIVATION + 2 * ACTIVATION / 2 + 4 * ACTIVATION), 2 * 2 * MICRO},
        {",\"rounds\":4,\"epoch\":2", "bf16", 1,
         2 * (2 * ACTIVATION + 2 * ACTIVATION / 2 + 4 * ACTIVATION / 2), 2 * 6 * MICRO},
        {",\"rounds\":4,\"epoch\":2,\"codes\":\"values\"", "none", 1,
         2 * (4 * ACTIVATION / 2 + 4 * ACTIVATION), 2 * 4 * MICRO},
        {",\"rounds\":1,\"epoch\":2,\"stages\":3", "none", 2,
         2 * 2 * 2 * ACTIVATION + 2 * LAYERS * 12000, 0},
    };
    for (int i = 0; i < 4; i++) {
        json_t *set = json_pack("{s:{s:s,s:i},s:{s:s,s:i}}", "/codec", "name", "bf16", "cutoff", 0,
                                "/download_codec", "name", cases[i].down, "cutoff", 0);
        if (strcmp(cases[i].down, "none") == 0)
            json_object_set_new(set, "/download_codec", json_string("none"));
        struct strait_outcome o =
            run(cases[i].settings, 3 * cases[i].n_pipelines, set, &strait_fluid);
        strait_test_context("case %d", i);
        CU_ASSERT(o.payload_bytes >= cases[i].bytes);
        CU_ASSERT(o.payload_bytes <= cases[i].bytes + (uint64_t)cases[i].n_coded * 40);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o =
            run(",\"stages\":3,\"epoch\":1,\"rounds\":3", 6, json_pack("{s:s}", "/codec", "bf16"),
                b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

/* --- real training --------------------------------------------------------------------------- */

/* On 24 images, 8 a batch: epochs of 3 batches. Losses of each round, and the last score. */
enum { ROUNDS = 7 };
static void train(double *losses, const char *strategy, const char *codec, const char *lr, int n,
                  const struct strait_backend *backend)
{
    char text[1024];
    struct fashion_folder folder;
    fashion_set_up(&folder, 24, 10);
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"fashion-mlp\",\"seed\":3,"
             "\"clients\":%d,\"strategy\":{\"rounds\":%d,%s},\"codec\":%s,"
             "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}},"
             "\"training\":{\"task\":\"fashion-mlp\",\"batch\":8,\"lr\":%s,\"momentum\":0,"
             "\"eval\":{\"every\":2}}}",
             n, ROUNDS, strategy, codec, lr);
    struct strait_outcome o =
        strait_outcome_of(text, json_object(), "default", backend,
                          (struct strait_trial_options){.real_payload = true, .n_threads = 1});
    int n_found = 0;
    for (int r = 0; r < n; r++)
        for (size_t i = 0; i < o.point->logs[r].n_trained; i++, n_found++)
            losses[o.point->logs[r].trained[i].round] = o.point->logs[r].trained[i].loss;
    CU_ASSERT_EQUAL(n_found, ROUNDS); /* of the last stage alone */
    CU_ASSERT_EQUAL_FATAL(o.point->logs[0].n_scored, ROUNDS);
    losses[ROUNDS] = o.point->logs[0].scored[ROUNDS - 1].loss;
    losses[ROUNDS + 1] = o.point->logs[0].scored[1].loss;
    strait_outcome_free(&o);
    fashion_tear_down(&folder);
}

/* One pipeline that loses nothing takes the steps of one rank, to the last bit where it has one
 * microbatch. Four microbatches sum a batch in another order, and m + (a - m) rounds once more:
 * float32 has 24 bits, and 7 small steps make little of it. */
static void as_one_rank(void)
{
    double one[ROUNDS + 2], staged[ROUNDS + 2];
    train(one, "\"name\":\"bsp\"", "\"none\"", "0.1", 1, &strait_fluid);
    train(staged, "\"name\":\"ac-sgd\",\"microbatches\":1,\"codes\":\"values\"", "\"none\"", "0.1",
          3, &strait_fluid);
    for (int i = 0; i < ROUNDS + 2; i++)
        CU_ASSERT(one[i] == staged[i]);
    train(staged, "\"name\":\"ac-sgd\",\"microbatches\":4", "\"none\"", "0.1", 3, &strait_fluid);
    for (int i = 0; i < ROUNDS + 2; i++)
        CU_ASSERT_DOUBLE_EQUAL(one[i], staged[i], 1e-5 * one[i]);
    CU_ASSERT(one[ROUNDS - 1] < 0.9 * one[0]); /* it learns */
}

/* Two bits a value. With weights that stay as they are a sample's activations are what they were an
 * epoch ago, in whatever batch it comes: their changes are zeros, and nothing is lost. Values lose
 * as before. */
static void changes_vanish(void)
{
    static const char ternary[] = "{\"name\":\"terngrad\",\"cutoff\":0}";
    double exact[ROUNDS + 2], coded[ROUNDS + 2];
    train(exact, "\"name\":\"ac-sgd\",\"microbatches\":2", "\"none\"", "1e-30", 3, &strait_fluid);
    train(coded, "\"name\":\"ac-sgd\",\"microbatches\":2", ternary, "1e-30", 3, &strait_fluid);
    for (int i = 0; i < ROUNDS; i++)
        CU_ASSERT(exact[i] == coded[i]);
    train(coded, "\"name\":\"ac-sgd\",\"microbatches\":2,\"codes\":\"values\"", ternary, "1e-30", 3,
          &strait_fluid);
    for (int i = 0; i < ROUNDS; i++)
        CU_ASSERT(fabs(exact[i] - coded[i]) > 1e-4 * exact[i]);
}

/* Changes that do not vanish are coded within their bound: both sides of a link stay as near to the
 * activations as the bound says, whatever the epoch. With a bound of 1e-6 the losses stay within
 * what such activations do to them, below 1e-4 of theirs. */
static void changes_keep_their_bound(void)
{
    double exact[ROUNDS + 2], coded[ROUNDS + 2];
    train(exact, "\"name\":\"ac-sgd\",\"microbatches\":2", "\"none\"", "0.1", 3, &strait_fluid);
    train(coded, "\"name\":\"ac-sgd\",\"microbatches\":2",
          "{\"name\":\"sz\",\"bound\":{\"abs\":1e-6},\"cutoff\":0}", "0.1", 3, &strait_fluid);
    for (int i = 0; i < ROUNDS; i++)
        CU_ASSERT_DOUBLE_EQUAL(exact[i], coded[i], 1e-4 * exact[i]);
}

static void refuses(void)
{
    static const struct {
        const char *settings, *more, *part;
    } cases[] = {
        {"\"stages\":4", "", "a divisor of the 6 ranks, found 4"},
        {"\"activation\":\"100 B\"", "", "a multiple of 32 B"},
        {"\"microbatches\":3", ",\"training\":{\"task\":\"fashion-cnn\",\"batch\":4}",
         "a divisor of the batch of 4, found 3"},
        {"\"rounds\":1", ",\"codec\":{\"name\":\"topk\",\"error_feedback\":true}",
         "a sender that remembers nothing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_experiment *e = NULL;
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":6,"
                 "\"strategy\":{\"name\":\"ac-sgd\",%s},\"network\":{\"client\":{\"rate\":"
                 "\"1 Gbps\",\"rtt\":\"1 ms\"}}%s}",
                 cases[i].settings, cases[i].more);
        json_t *resolved = json_loads(text, 0, NULL);
        CU_ASSERT_EQUAL(strait_experiment_read(&e, "t.json", resolved, &err), -1);
        CU_ASSERT_CONTAINS(err.text, cases[i].part);
        strait_experiment_free(e);
        json_decref(resolved);
    }
}

static const struct strait_test tests[] = {
    {"with fast memories a batch takes a pipeline's passes", passes},
    {"slow memories are read one microbatch ahead, and written behind", slow_memory},
    {"the first epoch is sent as it is, later ones coded, gradients by their codec", bytes},
    {"it takes the same time on SimGrid and fluid", same_on_simgrid},
    {"a pipeline that loses nothing trains as one rank", as_one_rank},
    {"what comes again as it was loses nothing, in whatever batch", changes_vanish},
    {"changes are coded within their bound", changes_keep_their_bound},
    {"stages, microbatches and codecs that cannot be are refused", refuses},
};
STRAIT_SUITE("workloads/train/parallel/acsgd", tests);
