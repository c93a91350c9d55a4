/* Pipelines of twelve equal layers: (m + s - 1) times a microbatch's passes, what a path's delay
 * adds, bytes, replicas, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/kit/data.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { LAYERS = 12, MAX_STAGES = 6, MAX_MICRO = 24, ACTIVATION = 4800 };
static const double FORWARD_S = 12 * 0.012, BACKWARD_S = 12 * 0.024; /* of the model, a batch */

static struct strait_outcome run(const char *settings, int n_ranks, const char *rtt, json_t *set,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"pipeline\",\"rounds\":1,\"activation\":\"%d B\"%s},"
             "\"network\":{\"client\":{\"rate\":\"100 Gbps\",\"rtt\":\"%s\"},"
             "\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             DATA("tests/data/equal-layers.csv"), n_ranks, ACTIVATION, settings, rtt);
    return strait_outcome_of(text, set ? set : json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

/* A path of 2 ns at 100 Gbps: a microbatch is passed on in below a microsecond, and there are at
 * most 2 (m + s) hops on the way to the end. */
static void bubble(void)
{
    static const int stages[] = {1, 2, 3, 6}, micros[] = {1, 4, 24};
    static const char *const schedules[] = {"gpipe", "1f1b"};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            for (int how = 0; how < 2; how++) {
                char form[128];
                const int s = stages[i], m = micros[k];
                snprintf(form, sizeof(form), ",\"microbatches\":%d,\"schedule\":\"%s\"", m,
                         schedules[how]);
                struct strait_outcome o = run(form, s, "0.002 us", NULL, &strait_fluid);
                const double expected =
                    (m + s - 1) * (FORWARD_S + BACKWARD_S) / s / m + o.experiment->model->opt_s / s;
                strait_test_context("%s: %d stages, %d microbatches", schedules[how], s, m);
                CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 2e-6 * (m + s));
                CU_ASSERT_EQUAL(o.n_messages, 2 * (uint64_t)(s - 1) * (uint64_t)m);
                CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(s - 1) * ACTIVATION);
                strait_outcome_free(&o);
            }
    strait_test_context("%s", "");
}

/* Chunks, without a network: (m + (s - 1) / v) passes instead of (m + s - 1), and v s - 1 messages
 * each way for every microbatch. */
static void interleaved(void)
{
    static const int stages[] = {2, 2, 3, 4, 6}, chunks[] = {2, 3, 4, 3, 2},
                     turns[] = {1, 3, 2, 1, 4};
    for (int i = 0; i < 5; i++) {
        char form[128];
        const int s = stages[i], v = chunks[i], m = s * turns[i];
        snprintf(form, sizeof(form), ",\"microbatches\":%d,\"chunks\":%d", m, v);
        struct strait_outcome o = run(form, s, "0.002 us", NULL, &strait_fluid);
        const double expected = (m + (double)(s - 1) / v) * (FORWARD_S + BACKWARD_S) / s / m +
                                o.experiment->model->opt_s / s;
        strait_test_context("%d stages, %d chunks, %d microbatches", s, v, m);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 2e-6 * v * (m + s));
        CU_ASSERT_EQUAL(o.n_messages, 2 * (uint64_t)(v * s - 1) * (uint64_t)m);
        CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(v * s - 1) * ACTIVATION);
        strait_outcome_free(&o);
    }
    /* Replicas sum each of the three chunks by itself: of six ranks, two pipelines of three. */
    struct strait_outcome o =
        run(",\"stages\":3,\"chunks\":2,\"microbatches\":3", 6, "1 ms", NULL, &strait_fluid);
    CU_ASSERT_EQUAL(o.payload_bytes, 2 * 2 * 5 * ACTIVATION + 2 * (2 - 1) * LAYERS * 12000);
    CU_ASSERT_EQUAL(o.n_messages, 2 * 2 * 5 * 3 + 6 * 2 * 2 * (2 - 1));
    strait_outcome_free(&o);
    strait_test_context("%s", "");
}

/* --- with a path's delay -------------------------------------------------------------------- */

/* A stage's order, as published: 1F1B warms up with s - 1 - stage forward passes, then alternates
 * one forward and one backward, then drains. Positive: forward of microbatch i - 1; else
 * backward. */
static int order_of(int *order, int s, int stage, int m, bool gpipe)
{
    const int warm_up = gpipe ? m : s - 1 - stage < m ? s - 1 - stage : m;
    int n = 0, forward = 0, backward = 0;
    while (forward < warm_up)
        order[n++] = ++forward;
    while (forward < m) {
        order[n++] = ++forward;
        order[n++] = -++backward;
    }
    while (backward < m)
        order[n++] = -++backward;
    return n;
}

/* When stage 0 has done its last pass, if a hop takes hop_s: every pass as soon as its stage is
 * free and its input is there. */
static double ends_s(int s, int m, bool gpipe, double hop_s)
{
    double done_s[2][MAX_STAGES][MAX_MICRO + 1], free_s[MAX_STAGES] = {0};
    int order[MAX_STAGES][2 * MAX_MICRO], at[MAX_STAGES] = {0}, n_left = 2 * m * s;
    for (int k = 0; k < s; k++)
        order_of(order[k], s, k, m, gpipe);
    for (int i = 0; i < 2 * s * (m + 1); i++)
        done_s[i / (s * (m + 1))][i / (m + 1) % s][i % (m + 1)] = NAN;
    while (n_left > 0)
        for (int k = 0; k < s; k++) {
            if (at[k] == 2 * m)
                continue;
            const int next = order[k][at[k]], back = next < 0, i = abs(next),
                      from = back ? k + 1 : k - 1;
            const double input_s = from < 0    ? 0
                                   : from >= s ? done_s[0][k][i]
                                               : done_s[back][from][i] + hop_s;
            if (isnan(input_s))
                continue;
            free_s[k] = fmax(free_s[k], input_s) + (back ? BACKWARD_S : FORWARD_S) / s / m;
            done_s[back][k][i] = free_s[k];
            at[k]++;
            n_left--;
        }
    return free_s[0];
}

/* GPipe pays the path once a stage and direction: (m + s - 1) (f + b) + 2 (s - 1) hops. 1F1B waits
 * in every cycle, since it may not run ahead. */
static void delay(void)
{
    static const int stages[] = {2, 3, 6}, micros[] = {1, 4, 24};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int gpipe = 0; gpipe < 2; gpipe++) {
                char form[128];
                const int s = stages[i], m = micros[k];
                const double hop_s = 0.02, pass_s = (FORWARD_S + BACKWARD_S) / s / m;
                snprintf(form, sizeof(form), ",\"microbatches\":%d,\"schedule\":\"%s\"", m,
                         gpipe ? "gpipe" : "1f1b");
                struct strait_outcome o = run(form, s, "20 ms", NULL, &strait_fluid);
                const double found_s = o.total_s - o.experiment->model->opt_s / s;
                strait_test_context("gpipe %d: %d stages, %d microbatches", gpipe, s, m);
                CU_ASSERT_DOUBLE_EQUAL(found_s, ends_s(s, m, gpipe, hop_s), 2e-6 * (m + s));
                if (gpipe)
                    CU_ASSERT_DOUBLE_EQUAL(found_s, (m + s - 1) * pass_s + 2 * (s - 1) * hop_s,
                                           2e-6 * (m + s));
                strait_outcome_free(&o);
            }
    strait_test_context("%s", "");
}

/* Each backward pass computes its forward pass again. */
static void recomputes(void)
{
    struct strait_outcome o =
        run(",\"microbatches\":4,\"recompute\":\"yes\"", 3, "0.002 us", NULL, &strait_fluid);
    CU_ASSERT_DOUBLE_EQUAL(
        o.total_s,
        (4 + 3 - 1) * (2 * FORWARD_S + BACKWARD_S) / 3 / 4 + o.experiment->model->opt_s / 3, 2e-5);
    strait_outcome_free(&o);
}

/* Three pipelines of two stages: activations thrice, and each stage's half of the model around a
 * ring of three, 2 x (3 - 1) times. Twelve layers of 12000 bytes. */
static void replicas(void)
{
    static const char *const forms[] = {",\"stages\":2",
                                        ",\"stages\":2,\"neighbours\":\"replicas\""};
    for (int i = 0; i < 2; i++) {
        struct strait_outcome o = run(forms[i], 6, "1 ms", NULL, &strait_fluid);
        CU_ASSERT_EQUAL(o.payload_bytes, 3 * 2 * ACTIVATION + 2 * (3 - 1) * LAYERS * 12000);
        CU_ASSERT_EQUAL(o.n_messages, 3 * 2 * 8 + 2 * 3 * 2 * (3 - 1));
        strait_outcome_free(&o);
    }
}

/* bf16 halves what it codes: activations, gradients or both; beside its values a message has below
 * 32 bytes. There are 2 x 2 x 8 messages of activations, and 2 x 2 x 2 of sums. */
static void coded(void)
{
    static const struct {
        const char *form;
        uint64_t bytes;
    } cases[] = {
        {",\"stages\":2", (2 * 2 * ACTIVATION + 2 * LAYERS * 12000) / 2},
        {",\"stages\":2,\"coded\":\"stages\"", 2 * 2 * ACTIVATION / 2 + 2 * LAYERS * 12000},
        {",\"stages\":2,\"coded\":\"replicas\"", 2 * 2 * ACTIVATION + 2 * LAYERS * 12000 / 2},
    };
    for (int i = 0; i < 3; i++) {
        json_t *set = json_pack("{s:{s:s,s:i}}", "/codec", "name", "bf16", "cutoff", 0);
        struct strait_outcome o = run(cases[i].form, 4, "1 ms", set, &strait_fluid);
        strait_test_context("case %d", i);
        CU_ASSERT(o.payload_bytes >= cases[i].bytes);
        CU_ASSERT(o.payload_bytes < cases[i].bytes + 32 * (32 + 8));
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Two or three ranks share the layers: passes take a half or a third. For each microbatch t ranks
 * sum its activations in a ring, 2 x (t - 1) times them, twice a block each way; each of the s v -
 * 1 boundaries carries them once each way, and behind it t - 1 times inside. Replicas sum a t-th
 * each: 2 x (R - 1) models in all. */
static void shared(void)
{
    static const struct {
        int t, s, v, n_replicas, blocks;
    } cases[] = {{2, 1, 1, 1, 12}, {2, 3, 1, 1, 7}, {3, 2, 1, 2, 12}, {2, 3, 2, 1, 24}};
    enum { M = 6 };
    for (int i = 0; i < 4; i++) {
        char form[160];
        const int t = cases[i].t, s = cases[i].s, v = cases[i].v, R = cases[i].n_replicas;
        const uint64_t sums = 4 * (uint64_t)cases[i].blocks * (uint64_t)R,
                       hops = 2 * (uint64_t)(s * v - 1) * (uint64_t)R, u = (uint64_t)t;
        snprintf(form, sizeof(form),
                 ",\"tensor\":%d,\"stages\":%d,\"chunks\":%d,\"blocks\":%d,\"microbatches\":%d", t,
                 s, v, cases[i].blocks, M);
        struct strait_outcome o = run(form, t * s * R, "0.002 us", NULL, &strait_fluid);
        const double passes_s = (M + (double)(s - 1) / v) * (FORWARD_S + BACKWARD_S) / s / M / t,
                     step_s = o.experiment->model->opt_s / s / t;
        strait_test_context("%d of tensor, %d stages, %d chunks, %d replicas", t, s, v, R);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, passes_s + step_s, 1e-3 * passes_s);
        CU_ASSERT_EQUAL(o.payload_bytes, sums * 2 * (u - 1) * ACTIVATION + hops * u * ACTIVATION +
                                             2 * (uint64_t)(R - 1) * LAYERS * 12000);
        CU_ASSERT_EQUAL(o.n_messages, M * (sums * 2 * u * (u - 1) + hops * (u + u * (u - 1))) +
                                          u * (uint64_t)(s * v) * 2 * (uint64_t)(R * (R - 1)));
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* One stage of four blocks, two ranks, two microbatches, 1 ms between ranks: 2 x 2 x 4 x 2 sums,
 * each of two messages one after the other, beside passes of half the time. A message of 1200 bytes
 * takes below 0.2 us, and the sums' additions below a microsecond. */
static void sums_wait(void)
{
    struct strait_outcome o =
        run(",\"tensor\":2,\"blocks\":4,\"microbatches\":2", 2, "1 ms", NULL, &strait_fluid);
    const double expected =
        (FORWARD_S + BACKWARD_S) / 2 + 2 * 2 * 4 * 2 * 2 * 1e-3 + o.experiment->model->opt_s / 2;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 32 * 3e-6);
    strait_outcome_free(&o);
}

/* Four regions in a bad order, GPipe: every hop's round trip is paid once. London, Tokyo,
 * Frankfurt, Seoul takes 210 + 223 + 235 ms; the best order from London on, Frankfurt, Tokyo,
 * Seoul, 14 + 223 + 34.
 * A microbatch of 600 bytes takes below 20 us a hop. */
static void placed(void)
{
    static const struct {
        const char *neighbours;
        double rtts_s;
    } cases[] = {{"stages", 0.668}, {"network", 0.271}};
    for (int i = 0; i < 2; i++) {
        char form[128];
        snprintf(form, sizeof(form), ",\"schedule\":\"gpipe\",\"neighbours\":\"%s\"",
                 cases[i].neighbours);
        json_t *network = json_loads(
            "{\"topology\":\"regions\",\"client\":{\"rate\":\"100 Gbps\",\"rtt\":\"0 ms\"},"
            "\"tcp\":{\"initial_window\":\"1 GB\"},\"regions\":["
            "{\"name\":\"London\",\"ranks\":1},{\"name\":\"Tokyo\",\"ranks\":1},"
            "{\"name\":\"Frankfurt\",\"ranks\":1},{\"name\":\"Seoul\",\"ranks\":1}]}",
            0, NULL);
        struct strait_outcome o =
            run(form, 4, "1 ms", json_pack("{s:o}", "/network", network), &strait_fluid);
        const double passes_s = (8 + 4 - 1) * (FORWARD_S + BACKWARD_S) / 4 / 8,
                     step_s = o.experiment->model->opt_s / 4;
        strait_test_context("neighbours: %s", cases[i].neighbours);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, passes_s + step_s + cases[i].rtts_s, 2 * (8 + 4) * 20e-6);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

static void same_on_simgrid(void)
{
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        struct strait_outcome o =
            run(",\"stages\":3,\"tensor\":2,\"blocks\":5,\"microbatches\":5", 6, "20 ms",
                json_pack("{s:s}", "/codec", "bf16"), b == 0 ? &strait_fluid : &strait_sim);
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
}

static void refuses(void)
{
    static const struct {
        const char *settings, *part;
    } cases[] = {
        {"\"stages\":4", "a divisor of the 6 ranks, found 4"},
        {"\"stages\":2,\"chunks\":2,\"microbatches\":7", "found 2 chunks and 7 microbatches"},
        {"\"tensor\":4", "expected a divisor of the 6 ranks, found 4"},
        {"\"tensor\":2,\"blocks\":2", "each of the 3 stages"},
        {"\"stages\":2,\"activation\":\"28 B\"", "each of the 8 microbatches, found 28 B"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_experiment *e = NULL;
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":6,"
                 "\"strategy\":{\"name\":\"pipeline\",%s},\"network\":{\"client\":{\"rate\":"
                 "\"1 Gbps\",\"rtt\":\"1 ms\"}}}",
                 cases[i].settings);
        json_t *resolved = json_loads(text, 0, NULL);
        CU_ASSERT_EQUAL(strait_experiment_read(&e, "t.json", resolved, &err), -1);
        CU_ASSERT_CONTAINS(err.text, cases[i].part);
        strait_experiment_free(e);
        json_decref(resolved);
    }
}

static const struct strait_test tests[] = {
    {"a batch takes m + s - 1 times a microbatch's passes", bubble},
    {"with v chunks the bubble is a v-th and there are v times the messages", interleaved},
    {"a path's delay adds what the order of passes makes of it", delay},
    {"a backward pass may compute its forward pass again", recomputes},
    {"replicas of a stage sum its gradient alone", replicas},
    {"the codec codes what it is asked to", coded},
    {"ranks that share layers sum activations, to the byte", shared},
    {"a pass waits for the sums in its blocks", sums_wait},
    {"stages stand where the network is fast between them", placed},
    {"stages, replicas and codecs take the same time on SimGrid and fluid", same_on_simgrid},
    {"stages that do not divide the ranks are refused", refuses},
};
STRAIT_SUITE("workloads/train/parallel/pipeline", tests);
