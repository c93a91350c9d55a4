/* What the page shows first: estimates against arithmetic and against what they stand for. */
#include <string.h>
#include "serve/rows_answer.h"
#include "serve/estimate.h"
#include "sim/loss_formula.h"
#include "tests/kit/suite.h"

/* The first row of the answer to the body; a new reference. */
static json_t *ask(const char *experiment, bool estimate)
{
    char body[1024];
    struct strait_answers answers;
    struct strait_asked q;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_answers_load(&answers, &err), 0);
    snprintf(body, sizeof(body), "{\"experiment\": %s, \"estimate\": %s}", experiment,
             estimate ? "true" : "false");
    CU_ASSERT_EQUAL_FATAL(strait_asked_read(&q, body, strlen(body), &err), 0);
    json_t *answer = strait_asked_answer(&answers, &q, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
    json_t *row = json_incref(json_array_get(json_object_get(answer, "rows"), 0));
    json_decref(answer);
    strait_asked_release(&q);
    strait_answers_release(&answers);
    return row;
}

static double round_s(const json_t *row)
{
    return json_number_value(json_object_get(row, "round_s"));
}

/* One client alone sends and receives the model, each way no faster than the formula. */
static void a_lossy_round(void)
{
    static const char experiment[] =
        "{\"schema\": \"strait-experiment/1\", \"model\": \"resnet\", \"clients\": 1, \"strategy\":"
        " {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 0}, \"network\": {\"client\":"
        " {\"rate\": \"1 Gbps\", \"rtt\": \"100 ms\", \"loss\": \"1 %\"},"
        " \"server\": {\"rate\": \"1 Gbps\"}}}";
    const struct strait_tcp tcp = {.segment_bytes = 1448, .rto_min_s = 0.2, .n_connections = 1};
    json_t *row = ask(experiment, true), *texts = json_object_get(row, "estimate");
    const double bytes =
                     json_number_value(json_object_get(json_object_get(row, "bytes"), "payload")),
                 least_s = bytes / strait_lossy_bytes_per_s(&tcp, 0.01, 0.1);
    CU_ASSERT_EQUAL(json_array_size(texts), 1);
    CU_ASSERT_CONTAINS(json_string_value(json_array_get(texts, 0)), "losses by formula");
    CU_ASSERT_AT_LEAST(round_s(row), least_s);
    /* Slow start, the delays and the sums, which are far quicker. */
    CU_ASSERT_AT_MOST(round_s(row), 1.02 * least_s + 1);
    json_decref(row);
}

static const char *ring(char buf[512], const char *model, const char *strategy, int clients)
{
    snprintf(buf, 512,
             "{\"schema\": \"strait-experiment/1\", \"model\": \"%s\", \"clients\": %d, "
             "\"strategy\": {\"name\": \"%s\", \"rounds\": 2}, \"network\": {\"client\": {\"rate\":"
             " \"1 Gbps\", \"rtt\": \"20 ms\"}}}",
             model, clients, strategy);
    return buf;
}

/* Where a run is short nothing is estimated: the same digits. */
static void short_runs(void)
{
    char text[512];
    json_t *quick = ask(ring(text, "resnet", "bsp", 16), true), *exact = ask(text, false);
    CU_ASSERT_PTR_NULL(json_object_get(quick, "estimate"));
    CU_ASSERT_TRUE(round_s(quick) == round_s(exact));
    CU_ASSERT_FALSE(json_is_array(json_object_get(quick, "interval_s")));
    CU_ASSERT_TRUE(json_is_array(json_object_get(exact, "interval_s")));
    static const char *const of_exact[] = {
        "interval_s", "interval_level", "evidence",         "wall_s",
        "profile",    "uncertainty",    "total_interval_s", "key"};
    for (size_t i = 0; i < sizeof(of_exact) / sizeof(*of_exact); i++) {
        json_object_del(quick, of_exact[i]);
        json_object_del(exact, of_exact[i]);
    }
    const char *key;
    json_t *value;
    json_object_foreach (exact, key, value) {
        strait_test_context("%s", key);
        CU_ASSERT_TRUE(json_equal(value, json_object_get(quick, key)));
    }
    CU_ASSERT_EQUAL(json_object_size(quick), json_object_size(exact));
    json_decref(quick);
    json_decref(exact);
}

/* 2 x 64 x 126 messages are more than 16,000: from 2, 4 and 6 clients, within 1 % of the run where
 * parts are large; a small model's parts end in slow start, which the form does not have. */
static void many_messages(void)
{
    char text[512];
    json_t *quick = ask(ring(text, "gpt2-small", "bsp", 64), true), *exact = ask(text, false);
    const json_t *texts = json_object_get(quick, "estimate");
    CU_ASSERT_EQUAL(json_array_size(texts), 1);
    CU_ASSERT_CONTAINS(json_string_value(json_array_get(texts, 0)), "2, 4 and 6 clients");
    CU_ASSERT_DOUBLE_EQUAL(round_s(quick), round_s(exact), 0.01 * round_s(exact));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(quick, "clients")), 64);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(quick, "ranks")), 64);
    static const char *const left_out[] = {"limits", "critical_path", "utilisation", "busy_s",
                                           "bytes",  "rounds_s",      "peak_bytes"};
    for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
        CU_ASSERT_PTR_NULL(json_object_get(quick, left_out[i]));
    const double n_rounds = (double)json_array_size(json_object_get(exact, "rounds_s"));
    double path_s = 0;
    const char *key;
    json_t *part;
    json_object_foreach (json_object_get(quick, "path_s"), key, part)
        path_s += json_number_value(part);
    CU_ASSERT_DOUBLE_EQUAL(path_s, round_s(quick), 1e-9 * path_s);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(quick, "total_s")),
                           n_rounds * round_s(quick), 1e-9 * n_rounds * path_s);
    json_decref(quick);
    json_decref(exact);
}

/* A pipeline's stages send to the next one alone: it is run whole. */
static void few_messages(void)
{
    char text[512];
    json_t *quick = ask(ring(text, "resnet", "pipeline", 24), true), *exact = ask(text, false);
    CU_ASSERT_PTR_NULL(json_object_get(quick, "estimate"));
    CU_ASSERT_TRUE(round_s(quick) == round_s(exact));
    json_decref(quick);
    json_decref(exact);
}

/* The steps of PAT's trees grow with log2 n, rounded up: 1, 2 and 3 for 2, 4 and 6 ranks give 4 for
 * 8 by the form (c = (3 - 1) / 4 and b = 0), where there are 3, and 32 for 64, where there are 6. It
 * is run whole. */
static void another_form(void)
{
    char text[512];
    json_t *quick = ask(ring(text, "resnet", "bsp\", \"collective\": \"pat", 64), true),
           *exact = ask(text, false);
    CU_ASSERT_PTR_NULL(json_object_get(quick, "estimate"));
    CU_ASSERT_TRUE(round_s(quick) == round_s(exact));
    json_decref(quick);
    json_decref(exact);
}

static const struct strait_test tests[] = {
    {"a round over a lossy link takes what the formula says, and says so", a_lossy_round},
    {"a short run is no estimate", short_runs},
    {"a ring of 64 is extended from 2, 4 and 6 clients, within 3 %", many_messages},
    {"a tree, which does not grow as a ring, is run whole", another_form},
    {"a pipeline, which sends little, is run whole", few_messages},
};
STRAIT_SUITE("serve/estimate", tests);
