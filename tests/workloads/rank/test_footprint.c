/* What ranks will allocate with real payload, counted by sized runs. gpt has 2971776 elements: its
 * plain packet takes P = 11887104 B, a tensor of it, made of huge pages (floor(P / 2 MiB) + 1 of
 * them), B = 6 x 2097152 = 12582912 B. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/buffer.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"
#include "workloads/timing/turns.h"

#define P 11887104.0
#define B 12582912.0

static const char text[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"gpt\", \"strategy\": {\"name\": \"fedavg\","
    " \"rounds\": 1}, \"codec\": \"none\", \"network\": {\"overhead\": \"0 B\", \"client\":"
    " {\"rate\": \"1 Gbps\", \"rtt\": \"10 ms\"}, \"server\": {\"rate\": \"1 Gbps\"}},"
    " \"clients\": 2, \"seed\": 1}";

static struct strait_outcome planned(const char *strategy, const char *codec, int n_clients)
{
    json_t *settings =
        json_pack("{s:o, s:i}", "/strategy", json_loads(strategy, 0, NULL), "/clients", n_clients);
    if (codec)
        json_object_set_new(settings, "/codec", json_loads(codec, 0, NULL));
    return strait_outcome_of(text, settings, "default", &strait_fluid,
                             (struct strait_trial_options){.plans_memory = true});
}

static double allocated(const struct strait_outcome *o, int rank)
{
    return o->point->logs[rank].allocated_bytes;
}

#define ADAPTIVE(rounds) "{\"name\": \"adaptive\", \"overlap\": \"none\", \"rounds\": " #rounds "}"

/* Without a codec tensors take over the packets that came, and a packet is there since it began. */
static void plain(void)
{
    const struct {
        const char *strategy;
        double server_bytes, client_bytes;
    } cases[] = {
        /* the model and the updates of two; the model that came and the prepared update */
        {"{\"name\": \"fedavg\", \"rounds\": 1}", B + 2 * P, P + B},
        /* beside those of the round before come the next */
        {"{\"name\": \"fedavg\", \"rounds\": 2}", B + 4 * P, 2 * P + B},
        {ADAPTIVE(1), B + 2 * P, P + B},
        /* two waves of updates, two updates of a client, the second made when the model is there;
         * in round 2 the first wave is replaced, and a model comes when both updates are there */
        {ADAPTIVE(2), B + 4 * P, P + 2 * B},
        {ADAPTIVE(3), B + 6 * P, 2 * P + 2 * B},
        {ADAPTIVE(9), B + 6 * P, 2 * P + 2 * B},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_outcome o = planned(cases[i].strategy, NULL, 2);
        CU_ASSERT_EQUAL(allocated(&o, 0), cases[i].server_bytes);
        CU_ASSERT_EQUAL(allocated(&o, 1), cases[i].client_bytes);
        CU_ASSERT_EQUAL(allocated(&o, 2), cases[i].client_bytes);
        if (allocated(&o, 0) != cases[i].server_bytes || allocated(&o, 2) != cases[i].client_bytes)
            fprintf(stderr, "%s: %.0f and %.0f, expected %.0f and %.0f\n", cases[i].strategy,
                    allocated(&o, 0), allocated(&o, 2), cases[i].server_bytes,
                    cases[i].client_bytes);
        strait_outcome_free(&o);
    }
}

/* With a codec a rank has a room for what it encodes, of 2 to 4 bytes an element with fp16; the
 * server a tensor to decode into for each client. It takes readings first, which is when it has
 * most: beside these the memory that empties the caches, a tensor to send, one that sums, and of so
 * many senders as pass through its caches what is decoded and twice a room. */
static void coded(void)
{
    static const char fp16[] = "{\"name\": \"fp16\"}";
    const double n_turns = (double)strait_n_turns((size_t)P);
    for (int n = 2; n <= 8; n *= 2) {
        struct strait_outcome o = planned("{\"name\": \"fedavg\", \"rounds\": 1}", fp16, n);
        const double room_bytes = allocated(&o, 2) - (P + B);
        CU_ASSERT(room_bytes >= P / 2 && room_bytes <= B);
        const double readings_bytes = allocated(&o, 0) - (1 + n) * B - room_bytes -
                                      (double)strait_sweep_bytes() - (2 + n_turns) * B;
        CU_ASSERT(readings_bytes >= n_turns * P && readings_bytes <= 2 * n_turns * B);
        CU_ASSERT(allocated(&o, 1) >= allocated(&o, 2)); /* it checks a sample in the end */
        strait_outcome_free(&o);
    }
}

/* 512 clients with 12 MB each hold more than 4 GB: they share what they send. */
static void shared(void)
{
    struct strait_outcome o = planned("{\"name\": \"fedavg\", \"rounds\": 1}", NULL, 512);
    CU_ASSERT_EQUAL(allocated(&o, 0), B + 512 * P);
    CU_ASSERT_EQUAL(allocated(&o, 2), P);
    strait_outcome_free(&o);
    /* of a room for what is encoded the pages that were written, 2 bytes a value and heads */
    o = planned("{\"name\": \"fedavg\", \"rounds\": 1}", "{\"name\": \"fp16\"}", 512);
    CU_ASSERT_AT_LEAST(allocated(&o, 2), P + P / 2);
    CU_ASSERT_AT_MOST(allocated(&o, 2), P + 0.51 * P);
    strait_outcome_free(&o);
}

/* The sum of the ranks', and of what they share; and a plan for a codec that the profile lacks. */
static void sum(void)
{
    struct strait_error err = {0};
    json_t *json = json_loads(text, 0, NULL);
    struct strait_experiment *e = NULL;
    struct strait_profile *profile = NULL;
    struct strait_trial *p = NULL;
    const struct strait_trial_options real = {.real_payload = true};
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", json, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&p, e, profile, &real, &err), 0);
    CU_ASSERT_EQUAL(strait_trial_check(p, &strait_fluid, &err), 0);
    CU_ASSERT_EQUAL(p->run.allocated_bytes, B + 2 * P + 2 * (P + B));
    strait_trial_free(p);
    /* a guest's memory is planned where the host may not be able to run the point: unchecked */
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&p, e, profile, &real, &err), 0);
    CU_ASSERT_EQUAL(strait_trial_measure_need(p, &err), 0);
    CU_ASSERT_EQUAL(p->run.allocated_bytes, B + 2 * P + 2 * (P + B));
    CU_ASSERT(p->run.expected_s > 0);
    strait_trial_free(p);
    strait_experiment_free(e);
    json_decref(json);
    strait_profile_free(profile);
}

static void rounding(void)
{
    CU_ASSERT_EQUAL(strait_buffer_bytes(0), 64);
    CU_ASSERT_EQUAL(strait_buffer_bytes(64), 128);
    CU_ASSERT_EQUAL(strait_buffer_bytes((2 << 20) - 1), 2 << 20);
    CU_ASSERT_EQUAL(strait_buffer_bytes((size_t)P), B);
}

static const struct strait_test tests[] = {
    {"plain packets: who holds how many models, by strategy and round", plain},
    {"a codec's rooms, what it decodes into and its readings count", coded},
    {"clients that share what they send count it once", shared},
    {"a run's need is that of all its ranks", sum},
    {"memory is taken in cache lines and huge pages", rounding},
};
STRAIT_SUITE("workloads/rank/footprint", tests);
