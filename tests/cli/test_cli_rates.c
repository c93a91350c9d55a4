/* Networks whose rates change, from outside: a trace by its contents, and who refuses them. */
#include <stdio.h>
#include <string.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":{\"params\":\"1 M\",\"step\":\"1 s\"},"
    "\"clients\":1,\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1},"
    "\"network\":{\"client\":{\"rate\":{\"mahimahi\":\"lte.up\"}},"
    "\"server\":{\"rate\":\"1 Gbps\"}}}";

/* A packet every 2 ms is 6 Mbps, every ms 12: 4 MB and their headers take 5.6 s each way, or half.
 * Between both ways is the step of a second. */
static void by_contents(void)
{
    static const char *const lines[] = {"2\n", "1\n"};
    static const double mbps[] = {6, 12};
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    for (int i = 0; i < 2; i++) {
        program_write(&program, "lte.up", lines[i]);
        struct said s = CALL("run", "e.json", "--on", "fluid", "--json");
        strait_test_context("%s", s.err);
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_CONTAINS(s.err, "1 computed now");
        CU_ASSERT_CONTAINS(s.out, "the rates of 2 links change while the run goes on");
        const char *found = strstr(s.out, "\"round_s\"");
        double round_s = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        CU_ASSERT_EQUAL(sscanf(found, "\"round_s\": %lf", &round_s), 1);
        const double way_s = 4e6 * 8 * 1538 / 1448 / (mbps[i] * 1e6);
        CU_ASSERT_DOUBLE_EQUAL(round_s, 1 + 2 * way_s, 0.02);
        said_release(&s);
    }
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a trace that was changed is another network", by_contents},
};
STRAIT_SUITE("cli/cli_rates", tests);
