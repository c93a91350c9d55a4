/* strait run --on both: one client, so that nothing is sent and nothing can come late but the
 * processes' start; the comparison is said as a table, as JSON, and again of the stored rows. */
#include <jansson.h>
#include <string.h>
#include "tests/kit/program.h"

static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"alone\", \"clients\": 1,"
    " \"model\": {\"params\": \"1 k\", \"step\": \"1 ms\"}, \"codec\": \"none\","
    " \"strategy\": {\"name\": \"bsp\", \"rounds\": 1},"
    " \"network\": {\"client\": {\"rate\": \"90 Mbps\"}}}";

#define BOTH(...)                                                                                  \
    PROGRAM_CALL(&p, "run", "alone.json", "--on", "both", "--out", "r", "--profile", "default",    \
                 "--timing", "replay", "--floor", "100 s", __VA_ARGS__)

static void compared(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "alone.json", experiment);
    struct said s = BOTH("--tolerance", "5 %");
    const bool can = s.status != 3, valid = strstr(s.err, "INVALID") == NULL;
    if (!can || !valid) {
        CU_ASSERT(s.status == 3 || s.status == 1);
        strait_test_skip(can ? "the emulation was disturbed" : s.err);
    } else {
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_CONTAINS(s.out, "; backend sim\n");
        CU_ASSERT_CONTAINS(s.out, "; backend emu\n");
        CU_ASSERT_CONTAINS(s.out, "\n\nPredicted (sim) against measured (emu), seconds a round; "
                                  "within 5 % or 100.0 s\n");
        CU_ASSERT_CONTAINS(s.out, "\n1 of 1 pairs within tolerance\n");
        CU_ASSERT_CONTAINS(s.err, "r/results.jsonl: 2 rows, 2 computed now, ");
    }
    said_release(&s);
    if (can && valid) {
        s = BOTH("--json");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_EQUAL(program_n_lines(s.out), 3);
        CU_ASSERT_CONTAINS(s.err, "r/results.jsonl: 2 rows, 0 computed now, ");
        json_t *last = json_loads(strstr(s.out, "{\"title\":\"alone\""), 0, NULL);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(last, "record")), "comparison");
        CU_ASSERT_TRUE(json_is_true(json_object_get(last, "within")));
        CU_ASSERT_EQUAL(json_array_size(json_object_get(last, "pairs")), 1);
        json_decref(last);
        said_release(&s);
    }
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"what was predicted stands against what was measured", compared},
};
STRAIT_SUITE("cli/cli_both", tests);
