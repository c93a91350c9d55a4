/* Tables from outside: which points were not simulated to their end, or not kept. */
#include <stdio.h>
#include <string.h>
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

/* One round cannot repeat; of 40 equal ones a few are simulated. */
#define EXPERIMENT(vary)                                                                           \
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,\"codec\":\"none\","      \
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1},"                           \
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"1 ms\"},"                            \
    "\"server\":{\"rate\":\"1 Gbps\"}},\"vary\":{" vary "}}"

static const char repeat_note[] =
    "* rounds repeat: simulated until they do, the rest follows exactly\n";
static const char full_note[] =
    "+ a log was full: shares and wait are those of the rounds before\n";

static struct said table_of(const char *experiment, const char *setting)
{
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--no-break-even", "--set", setting);
    CU_ASSERT_EQUAL(s.status, 0);
    return s;
}

/* Does the line that begins so end with that? */
static bool line_ends(const char *text, const char *start, const char *end)
{
    for (const char *line = text; *line;) {
        const size_t len = strcspn(line, "\n"), n = strlen(end);
        if (strncmp(line, start, strlen(start)) == 0)
            return len >= n && strncmp(line + len - n, end, n) == 0;
        line += len + (line[len] == '\n');
    }
    return false;
}

static void repeats(void)
{
    program_set_up(&program);
    struct said s = table_of(EXPERIMENT("\"/strategy/rounds\":[1,40]"), "/clients=2");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, repeat_note));
    CU_ASSERT_TRUE(line_ends(s.out, "40 ", "  *"));
    CU_ASSERT_FALSE(line_ends(s.out, "1 ", "*"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "log was full"));
    said_release(&s);
    s = table_of(EXPERIMENT("\"/strategy/rounds\":[1,40]"), "/strategy/rounds=1");
    CU_ASSERT_PTR_NULL(strstr(s.out, "repeat"));
    said_release(&s);
    program_tear_down(&program);
}

/* A value a message: 106 thousand of them are sent twice a round by each of two ranks, received,
 * and added or copied, where a log holds 2^20 spans. */
static void full(void)
{
    program_set_up(&program);
    struct said s =
        table_of(EXPERIMENT("\"/strategy\":["
                            "{\"name\":\"bytescheduler\",\"rounds\":2,\"partition\":\"4 B\"},"
                            "{\"name\":\"bytescheduler\",\"rounds\":2,\"partition\":\"4 MB\"}]"),
                 "/clients=2");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, full_note));
    CU_ASSERT_TRUE(line_ends(s.out, "bytescheduler rounds=2,partition=4 B ", "  +"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "\nbytescheduler rounds=2,partition=4 MB "));
    CU_ASSERT_FALSE(line_ends(s.out, "bytescheduler rounds=2,partition=4 MB ", "+"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "repeat"));
    said_release(&s);
    program_tear_down(&program);
}

/* More points than lines: a grid, whose cells have no room for marks. */
static void in_a_grid(void)
{
    program_set_up(&program);
    struct said s = table_of(EXPERIMENT("\"/strategy/rounds\":[1,40],\"/strategy/local_steps\":["
                                        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,"
                                        "23,24,25,26,27,28,29,30,31]"),
                             "/clients=2");
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "\nin 31 of 62 points rounds repeat: simulated until they "
                                         "do, the rest follows exactly\n"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "log was full"));
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"rounds that repeat are marked below the table, others are not", repeats},
    {"a log that was full is marked below the table", full},
    {"a grid says how many of its points repeat", in_a_grid},
};
STRAIT_SUITE("cli/show/cli_notes", tests);
