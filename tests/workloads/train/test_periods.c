/* After how many rounds the schedule of each strategy repeats, from which long runs are
 * extrapolated: a wrong number costs time, or gives other results. */
#include <jansson.h>
#include <stdio.h>
#include "tests/kit/suite.h"
#include "workloads/ask/experiment.h"
#include "workloads/ask/strategy.h"

static int period_of(const char *strategy, const char *codec, int n_clients)
{
    char text[1024];
    struct strait_experiment *e = NULL;
    struct strait_error err = {0};
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": %d,"
             " \"strategy\": %s, \"codec\": %s, \"network\": {\"client\": {\"rate\": \"1 Gbps\","
             " \"rtt\": \"1 ms\"}, \"server\": {\"rate\": \"1 Gbps\"}}}",
             n_clients, strategy, codec);
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    const int failed = strait_experiment_read(&e, "x.json", json, &err);
    strait_test_context("%s: %s %s", strategy, err.where, err.text);
    CU_ASSERT_EQUAL(failed, 0);
    if (failed) {
        json_decref(json);
        return -1;
    }
    const int period = e->strategy->period ? e->strategy->period(e) : 0;
    strait_experiment_free(e);
    json_decref(json);
    return period;
}

static void periods(void)
{
    static const char none[] = "\"none\"";
    static const struct {
        const char *strategy, *codec;
        int n_clients, period;
    } cases[] = {
        {"{\"name\": \"fedavg\"}", none, 3, 1},
        {"{\"name\": \"adaptive\"}", none, 3, 1},
        {"{\"name\": \"acpsgd\"}", none, 4, 2}, /* one factor, then the other */
        /* chunks, and steps from one averaging to the next: their least common multiple */
        {"{\"name\": \"slamb\", \"ratio\": 0.1, \"local_steps\": 50}", none, 4, 50},
        {"{\"name\": \"slamb\", \"ratio\": 0.1, \"local_steps\": 15}", none, 4, 30},
        {"{\"name\": \"slamb\", \"ratio\": 0.1, \"local_steps\": 7}", none, 4, 70},
        {"{\"name\": \"slamb\", \"ratio\": 0.001, \"local_steps\": 999}", none, 4, 999000},
        {"{\"name\": \"slamb\", \"ratio\": 0.001, \"local_steps\": 1001}", none, 4, 0},
        {"{\"name\": \"slamb\", \"ratio\": 1, \"local_steps\": 1000000}", none, 4, 0},
        {"{\"name\": \"dear\"}", none, 4, 1},
        {"{\"name\": \"dear\", \"tuner\": \"bayes\", \"rounds\": 200}", none, 4, 0},
        {"{\"name\": \"dgc\"}", none, 4, 1},
        {"{\"name\": \"dgc\", \"epoch_steps\": 1}", none, 4, 0},
        {"{\"name\": \"dpsgd\", \"graph\": \"ring\"}", none, 8, 1},
        {"{\"name\": \"dpsgd\", \"graph\": \"one_peer\"}", none, 8, 3}, /* 1, 2 and 4 away */
        {"{\"name\": \"dpsgd\", \"graph\": \"one_peer\"}", none, 9, 4},
        {"{\"name\": \"streaming-diloco\", \"fragments\": 3, \"local_steps\": 3,"
         " \"overlap_steps\": 0}",
         none, 4, 1},
        {"{\"name\": \"streaming-diloco\", \"fragments\": 4, \"local_steps\": 3,"
         " \"overlap_steps\": 0, \"sends\": \"layers\"}",
         none, 4, 0},
        {"{\"name\": \"decoupled-diloco\"}", none, 4, 1},
        {"{\"name\": \"decoupled-diloco\", \"quorum\": 4}", none, 4, 1},
        {"{\"name\": \"decoupled-diloco\", \"quorum\": 3}", none, 4, 0},
        {"{\"name\": \"decoupled-diloco\", \"straggler_spread\": 0.1}", none, 4, 0},
        {"{\"name\": \"atp\"}", none, 4, 1},
        {"{\"name\": \"atp\", \"jobs\": 2}", none, 7, 0},
        {"{\"name\": \"atp\", \"pool\": \"100 KB\", \"window\": \"100 KB\"}", none, 4, 1},
        {"{\"name\": \"atp\", \"pool\": \"100 KB\", \"window\": \"200 KB\"}", none, 4, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CU_ASSERT_EQUAL(period_of(cases[i].strategy, cases[i].codec, cases[i].n_clients),
                        cases[i].period);
}

static const struct strait_test tests[] = {
    {"schedules repeat after as many rounds as they say", periods},
};
STRAIT_SUITE("workloads/train/periods", tests);
