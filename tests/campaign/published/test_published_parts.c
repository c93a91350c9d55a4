/* What follows from the parts of a published figure: arithmetic. */
#include "campaign/published/published.h"
#include "campaign/published/published_parts.h"
#include "tests/kit/suite.h"

static double number(const json_t *row, const char *key, const char *inner)
{
    const json_t *at = json_object_get(row, key);
    return json_number_value(inner ? json_object_get(at, inner) : at);
}

/* 100 MB at 1 Gbps take 0.8 s, of which 0.3 s may be hidden: 1 + 0.5 s. Published are 1.6 s, so 0.6
 * s of communication, and ours is 1.45 s. */
static void closed_form(void)
{
    const struct strait_published_parts p = {
        .compute_s = 1, .wire_bytes = 1e8, .bits_per_s = 1e9, .overlap_s = 0.3, .known = true};
    json_t *row = json_object();
    strait_published_parts_put(row, &p, 1.6, 1.45);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "closed", "ours"), 1.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "closed", "relative"), 1.5 / 1.6 - 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "communication", "published"), 0.6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "communication", "relative"), 0.45 / 0.6 - 1, 1e-12);
    CU_ASSERT(json_is_false(json_object_get(row, "linear")));
    CU_ASSERT_PTR_NULL(json_object_get(row, "unreachable"));
    json_decref(row);
}

/* The same as 640 samples a step: 400 samples/s are published. */
static void rates(void)
{
    const struct strait_published_parts p = {
        .compute_s = 1, .wire_bytes = 1e8, .bits_per_s = 1e9, .samples = 640, .known = true};
    json_t *row = json_object();
    strait_published_parts_put(row, &p, 400, 512);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "closed", "ours"), 640 / 1.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "communication", "published"), 0.6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(row, "communication", "ours"), 0.25, 1e-12);
    json_decref(row);
}

/* 1.09 s are within 10 % of 1 s of computing; of 1.04 s too little is communication to be judged.
 * 0.8 s of bytes do not pass in 0.4 s. */
static void doubts(void)
{
    struct strait_published_parts p = {
        .compute_s = 1, .wire_bytes = 1e6, .bits_per_s = 1e9, .known = true};
    json_t *near = json_object(), *nearer = json_object(), *never = json_object();
    strait_published_parts_put(near, &p, 1.09, 1.1);
    CU_ASSERT(json_is_true(json_object_get(near, "linear")));
    CU_ASSERT_PTR_NOT_NULL(json_object_get(near, "communication"));
    strait_published_parts_put(nearer, &p, 1.04, 1.1);
    CU_ASSERT_PTR_NULL(json_object_get(nearer, "communication"));
    p = (struct strait_published_parts){.wire_bytes = 1e8, .bits_per_s = 1e9, .known = true};
    strait_published_parts_put(never, &p, 0.4, 0.8);
    CU_ASSERT_DOUBLE_EQUAL(number(never, "unreachable", NULL), 2, 1e-12);
    json_decref(near);
    json_decref(nearer);
    json_decref(never);
}

#define ROW(more) "{\"case\":\"a\",\"kind\":\"figure\",\"model\":\"m\"," more "}"

/* Errors of 10 and 30 %, the first of a row that scales trivially; an input, a suspect row and a
 * claim do not count. Without launch, of 2 ms, they are 40 and 50 %; the second is of its own
 * model. */
static void models(void)
{
#define LAUNCH(own, without)                                                                       \
    "\"constants\":{\"launch\":{\"value\":0.002,\"model\":\"m\",\"device\":\"d\",\"figures\":1,"   \
    "\"error\":\"e\",\"own\":" own ",\"without\":" without "}}"
    json_t *rows = json_loads(
        "[" ROW("\"relative\":0.1,\"linear\":true," LAUNCH("false", "-0.4")) "," ROW(
            "\"relative\":-0.3,\"closed\":{\"relative\":0.6}," LAUNCH(
                "true", "0.5")) "," ROW("\"relative\":9,\"input\":true") "," ROW("\"relative\":9,"
                                                                                 "\"suspect\":"
                                                                                 "\"s\"") ","
                                                                                          "{\"case"
                                                                                          "\":"
                                                                                          "\"a\","
                                                                                          "\"kind\""
                                                                                          ":\"up "
                                                                                          "to\","
                                                                                          "\"model"
                                                                                          "\":"
                                                                                          "\"m\","
                                                                                          "\"relati"
                                                                                          "ve\":9}"
                                                                                          "]",
        0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    json_t *all = strait_published_models(rows), *constants = strait_published_constants(rows);
    const json_t *of = json_array_get(all, 0), *launch = json_array_get(constants, 0);
    CU_ASSERT_EQUAL(json_array_size(all), 1);
    CU_ASSERT_EQUAL(number(json_object_get(of, "all"), "rows", NULL), 2);
    CU_ASSERT_DOUBLE_EQUAL(number(of, "all", "mean"), 0.2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(of, "all", "worst"), 0.3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(of, "not_linear", "mean"), 0.3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(of, "closed", "mean"), 0.6, 1e-12);
    CU_ASSERT(json_is_null(json_object_get(of, "communication")));
    CU_ASSERT_EQUAL(json_array_size(constants), 1);
    CU_ASSERT_DOUBLE_EQUAL(number(launch, "others", "mean"), 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(launch, "others", "without"), 0.4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(launch, "own", "without"), 0.5, 1e-12);
    json_decref(rows);
    json_decref(all);
    json_decref(constants);
}

static const struct strait_test tests[] = {
    {"a closed form and communication alone follow from a figure's parts", closed_form},
    {"figures of samples a second are steps of so many samples", rates},
    {"what scales trivially and what cannot be reached is told", doubts},
    {"errors by model, and what a constant is worth to its own model and to others", models},
};
STRAIT_SUITE("campaign/published/published_parts", tests);
