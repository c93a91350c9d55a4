/* strait plan --check: the first two candidates are emulated. Whether a busy machine's rows are
 * valid, and what they measure, is not asked. */
#include <math.h>
#include <string.h>
#include "analysis/fields.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

static const char plan[] =
    "{\"schema\": \"strait-plan/1\", \"experiment\": {\"schema\": \"strait-experiment/1\", "
    "\"model\": \"cnn\", \"clients\": 2, \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, "
    "\"local_steps\": 1}, \"codec\": \"none\", \"network\": {\"client\": {\"rate\": \"100 Mbps\", "
    "\"rtt\": \"10 ms\"}, \"server\": {\"rate\": \"100 Mbps\"}}}, \"target\": {\"round\": \"10 "
    "s\"}, \"vary\": {\"/codec\": [\"none\", \"zstd\"]}}";

static void emulates_two(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "plan.json", plan);
    struct said s = PROGRAM_CALL(&p, "plan", "plan.json", "--check", "--json");
    json_t *answer = NULL, *one;
    size_t i;
    if (s.status == 3) { /* this machine cannot emulate */
        s.err[strcspn(s.err, "\n")] = '\0';
        strait_test_skip(s.err);
    } else {
        CU_ASSERT_EQUAL(s.status, 0);
        answer = json_loads(s.out, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
        const json_t *check = json_object_get(answer, "check"),
                     *best = json_object_get(answer, "best");
        CU_ASSERT_EQUAL(json_array_size(check), 2);
        json_array_foreach (check, i, one) {
            CU_ASSERT_STRING_EQUAL(strait_text_of(one, "name"),
                                   strait_text_of(json_array_get(best, i), "name"));
            CU_ASSERT(strait_row_number(one, "measured_s") > 0);
            CU_ASSERT(json_is_boolean(json_object_get(one, "inside")));
            CU_ASSERT(json_is_boolean(json_object_get(one, "valid")));
        }
    }
    json_decref(answer);
    said_release(&s);
    program_tear_down(&p);
}

/* 2,000 ranks of several GB each fit no machine. */
static void says_why_it_did_not(void)
{
    static const char large[] =
        "{\"schema\": \"strait-plan/1\", \"experiment\": {\"schema\": "
        "\"strait-experiment/1\", \"model\": {\"params\": \"350 M\", \"step\": \"1 s\"}, "
        "\"clients\": 2000, \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, "
        "\"local_steps\": 1}, \"codec\": \"none\", \"network\": {\"client\": {\"rate\": "
        "\"100 Mbps\", \"rtt\": \"10 ms\"}, \"server\": {\"rate\": \"100 Gbps\"}}}, "
        "\"target\": {\"round\": \"10 h\"}, \"vary\": {\"/codec\": [\"none\", \"zstd\"]}}";
    struct program p;
    program_set_up(&p);
    program_write(&p, "plan.json", large);
    struct said s = PROGRAM_CALL(&p, "plan", "plan.json", "--check");
    CU_ASSERT_EQUAL(s.status, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "Take none"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "not emulated"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "strait: emu: "));
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"an answer stands where the machine cannot emulate it, and why is said", says_why_it_did_not},
    {"a plan's first two candidates are emulated", emulates_two},
};
STRAIT_SUITE_WITH("cli/cli_plan_check", tests, .slow_s = 3, .release = true);
