/* Errors of plan files: each names its place in the file. */
#include "campaign/planner/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[64];
static struct strait_profile *profile;

static void set_up(void)
{
    struct strait_error err = {0};
    snprintf(folder, sizeof(folder), "/tmp/strait-plan-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
}

static void tear_down(void)
{
    strait_profile_free(profile);
    folder_remove(folder);
}

/* The rest of a plan file behind its experiment: a model of 40 MB, four clients at 1 Gbps. */
static int load(struct strait_plan_question *q, const char *rest, struct strait_error *err)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/plan.json", folder);
    FILE *f = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(
        f,
        "{\"schema\": \"strait-plan/1\", \"experiment\": {\"model\": {\"params\": \"10 M\", "
        "\"step\": \"0.1 s\"}, \"codec\": \"none\", \"clients\": 4, \"strategy\": "
        "{\"name\": \"fedavg\", \"rounds\": 1}, \"network\": {\"client\": {\"rate\": \"1 Gbps\", "
        "\"rtt\": \"10 ms\"}, \"server\": {\"rate\": \"1 Gbps\"}}}, %s}",
        rest);
    CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
    return strait_plan_question_load(q, path, err);
}

/* Where what is wrong stands in the plan's file. */
static void places(void)
{
#define CODEC_ONLY "\"vary\": {\"/codec\": [\"none\", \"fp16\"]}"
    static const struct {
        const char *rest, *pointer, *text;
    } cases[] = {
        {"\"target\": {\"round\": \"9 s\"}, \"vary\": {\"/network/server/rate\": [\"fast\"]}",
         "#/vary/~1network~1server~1rate", "expected a rate such as \"1 Gbps\", found \"fast\""},
        {"\"target\": {\"round\": \"9 s\"}, \"set\": {\"/network/server/rate\": \"-1 "
         "Gbps\"}, " CODEC_ONLY,
         "#/set/~1network~1server~1rate", "expected a rate above 0, found \"-1 Gbps\""},
        {"\"target\": {\"round\": \"9 s\"}, \"set\": [1], " CODEC_ONLY, "#/set",
         "expected an object of JSON Pointers with one value each"},
        {"\"target\": {\"round\": \"9 s\"}, \"vary\": {\"/strategy/stepz\": [1]}",
         "#/vary/~1strategy~1stepz", "unknown key \"stepz\""},
        {"\"target\": {\"round\": \"9 s\"}, \"vary\": {\"/codec\": [{\"name\": \"sz\", \"bound\": "
         "{\"range\": \"x\"}}]}",
         "#/vary/~1codec/bound/range", "expected a number"},
        {"\"target\": {\"round\": \"9 s\"}, \"vary\": {\"codec\": [\"none\"]}", "#/vary",
         "expected a JSON Pointer such as /clients, found \"codec\", did you mean \"/codec\"?"},
        {"\"target\": {\"round\": \"9 s\"}, \"set\": {\"/clients\": 3}, \"vary\": {\"/clients\": "
         "[2]}",
         "#/set", "expected what does not vary, found \"/clients\", which \"vary\" has too"},
        {"\"target\": {\"round\": \"9 s\", \"accuracy\": 0.9}, " CODEC_ONLY, "#/target",
         "expected one of \"round\", \"accuracy\" and \"budget\", found 2"},
        {"\"target\": {\"accuracy\": 0.9}, \"accuracy\": [{\"codec\": \"fp16\", \"accuracy\": 0.8, "
         "\"rounds\": 9, \"source\": \"a\"}], " CODEC_ONLY,
         "#/accuracy/0/rounds", "expected no rounds to accuracy 0.9 of a codec that ends at 0.8"},
        {"\"target\": {\"round\": \"9 s\"}, \"accuracy\": [{\"codec\": \"fpp16\", \"accuracy\": "
         "0.8, \"source\": \"a\"}], " CODEC_ONLY,
         "#/accuracy/0/codec",
         "expected a codec (strait list codecs), found \"fpp16\", did you mean \"fp16\"?"},
        {"\"target\": {\"round\": \"9 s\"}, \"accuracy\": [{\"codec\": \"fp16\", \"strategy\": "
         "\"deer\", \"accuracy\": 0.8, \"source\": \"a\"}], " CODEC_ONLY,
         "#/accuracy/0/strategy",
         "expected a strategy (strait list strategies), found \"deer\", did you mean \"dear\"?"},
        {"\"target\": {\"round\": \"9 s\"}, \"accuracy\": [{\"codec\": \"fp16\", \"accuracy\": "
         "0.8, "
         "\"source\": \"a\"}, {\"codec\": \"fp16\", \"accuracy\": 0.7, \"source\": "
         "\"b\"}], " CODEC_ONLY,
         "#/accuracy/1", "expected each codec once, found that of /accuracy/0"}};
    set_up();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_plan_question q;
        struct strait_candidates c = {.n = 0};
        struct strait_error err = {0};
        char where[200];
        strait_test_context("%s", cases[i].rest);
        if (load(&q, cases[i].rest, &err) == 0) {
            struct strait_plan_setup setup = {.file = q.file, .profile = profile, .control = ""};
            CU_ASSERT_EQUAL_FATAL(strait_plan_setup_hashes(&setup, &err), 0);
            CU_ASSERT_EQUAL(strait_candidates_find(&c, &q, &setup, false, 1, &err), -1);
            strait_candidates_release(&c);
        }
        strait_plan_question_place(&q, &err);
        snprintf(where, sizeof(where), "%s/plan.json%s", folder, cases[i].pointer);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, where);
        CU_ASSERT_CONTAINS(err.text, cases[i].text);
        strait_plan_question_release(&q);
    }
    tear_down();
}

/* The detail of the first point's network, whose clients lose so much. */
static void expect_detail(const char *loss, const char *set, const char *detail)
{
    struct strait_plan_question q;
    struct strait_error err = {0};
    char rest[400];
    snprintf(rest, sizeof(rest),
             "\"target\": {\"round\": \"9 s\"}, \"set\": {\"/network/client/loss\": \"%s\", "
             "\"/strategy/rounds\": %s}, " CODEC_ONLY,
             loss, set);
    strait_test_context("%s", set);
    CU_ASSERT_EQUAL_FATAL(load(&q, rest, &err), 0);
    json_t *point = strait_plan_question_point(&q, 0, NULL, &err);
    CU_ASSERT_STRING_EQUAL(strait_text_of(json_object_get(point, "network"), "detail"), detail);
    json_decref(point);
    strait_plan_question_release(&q);
}

/* 10 M parameters are 40 MB, 27,624.3 segments of 1448 B, which cross the network 2 x 5 times a
 * round: 276,243. 18 rounds are 4.97 million, 19 are 5.25. */
static void long_by_formula(void)
{
    set_up();
    expect_detail("0.1 %", "18", "");
    expect_detail("0.1 %", "19", "formula");
    expect_detail("0.1 %", "19, \"/network/detail\": \"packets\"", "packets");
    expect_detail("0 %", "19", "");
    tear_down();
}

static const struct strait_test tests[] = {
    {"what is wrong is named at its place in the plan's file", places},
    {"losses are taken by formula where packets would be more than five million", long_by_formula},
};
STRAIT_SUITE("campaign/planner/question", tests);
