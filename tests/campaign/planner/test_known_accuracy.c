/* Whose accuracy is known, of codecs both ways and of strategies that lose something. */
#include "campaign/planner/answer.h"

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

static struct strait_candidates find(const char *rest)
{
    struct strait_plan_question q;
    struct strait_candidates c;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(load(&q, rest, &err), 0);
    struct strait_plan_setup setup = {.file = q.file, .profile = profile, .control = ""};
    CU_ASSERT_EQUAL_FATAL(strait_plan_setup_hashes(&setup, &err), 0);
    CU_ASSERT_EQUAL(strait_candidates_find(&c, &q, &setup, false, 2, &err), 0);
    CU_ASSERT_STRING_EQUAL_FATAL(err.text, "");
    strait_plan_question_release(&q);
    return c;
}

/* What the server sends is compressed as what clients send: stated as such, or with a lossless
 * codec as accurate as without. */
static void same_both_ways(void)
{
    set_up();
    struct strait_candidates c =
        find("\"target\": {\"round\": \"1000 s\"}, \"accuracy\": [{\"codec\": \"sz:range=1e-2\", "
             "\"download_codec\": \"same\", \"accuracy\": 0.9, \"source\": \"a test\"}], "
             "\"vary\": {\"/codec\": [\"none\", \"zstd\", \"sz:range=1e-2\", \"sz:range=1e-3\"], "
             "\"/download_codec\": [\"same\"]}");
    CU_ASSERT_EQUAL_FATAL(c.n, 4);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT(c.all[i].eligible && c.all[i].accuracy.known);
    CU_ASSERT_STRING_EQUAL(strait_text_of(c.all[0].labels, "/codec"), "sz:range=1e-2");
    CU_ASSERT_STRING_EQUAL(strait_text_of(c.all[1].labels, "/codec"), "zstd");
    CU_ASSERT_STRING_EQUAL(strait_text_of(c.all[2].labels, "/codec"), "none");
    CU_ASSERT(!c.all[3].accuracy.known);
    strait_candidates_release(&c);
    tear_down();
}

/* Without a codec PowerSGD sends factors of low rank: it is as accurate as data parallelism only
 * where somebody says so; DeAR sums exactly. Nor is the lossy one what to buy next. */
static void lossy_strategies(void)
{
    static const char vary[] =
        "\"target\": {\"round\": \"1000 s\"}, "
        "\"set\": {\"/strategy\": \"bsp\", \"/network\": {\"client\": {\"rate\": \"1 Gbps\"}}}, "
        "\"vary\": {\"/strategy/name\": [\"bsp\", \"dear\", \"powersgd\"]}";
    char rest[800];
    set_up();
    struct strait_candidates c = find(vary);
    CU_ASSERT_EQUAL_FATAL(c.n, 3);
    CU_ASSERT_STRING_EQUAL(strait_text_of(c.all[2].row, "strategy"), "powersgd");
    CU_ASSERT(c.all[2].round_s < c.all[0].round_s && !c.all[2].accuracy.known);
    CU_ASSERT(c.all[0].eligible && c.all[1].eligible && !c.all[2].eligible);
    struct strait_plan_question q = {.title = ""};
    json_t *buy = strait_plan_answer_buy(&c, 0, &q);
    CU_ASSERT_EQUAL(json_array_size(buy), 0);
    json_decref(buy);
    strait_candidates_release(&c);
    snprintf(rest, sizeof(rest),
             "\"accuracy\": [{\"codec\": \"none\", \"accuracy\": 0.8, \"source\": \"a\"}, "
             "{\"codec\": \"none\", \"strategy\": \"powersgd\", \"accuracy\": 0.81, \"source\": "
             "\"b\"}], %s",
             vary);
    c = find(rest);
    CU_ASSERT_STRING_EQUAL(strait_text_of(c.all[0].row, "strategy"), "powersgd");
    CU_ASSERT_DOUBLE_EQUAL(c.all[0].accuracy.accuracy, 0.81, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.all[1].accuracy.accuracy, 0.8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c.all[2].accuracy.accuracy, 0.8, 1e-12);
    strait_candidates_release(&c);
    tear_down();
}

static const struct strait_test tests[] = {
    {"a codec of both directions is known as such", same_both_ways},
    {"a strategy that loses something by itself is not lossless", lossy_strategies},
};
STRAIT_SUITE("campaign/planner/known_accuracy", tests);
