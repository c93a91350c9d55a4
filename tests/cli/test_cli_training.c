/* Real training from outside: a point that diverges beside others, and time to a target. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/program.h"

/* Steps of 1e6 on a bowl of curvatures up to 1 multiply the error by a million each. */
static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"strategy\":{\"name\":\"fedavg\",\"rounds\":4,"
    "\"local_steps\":20},\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},"
    "\"server\":{\"rate\":\"1 Gbps\"}},\"clients\":2,\"seeds\":2,\"until\":{\"loss\":1e-9},"
    "\"vary\":{\"/training\":[{\"task\":\"quadratic\",\"lr\":0.01},"
    "{\"task\":\"quadratic\",\"lr\":1e6},{\"task\":\"quadratic\",\"lr\":0.02}]}}";

static struct said run(struct program *p, const char *set)
{
    program_set_up(p);
    program_write(p, "e.json", experiment);
    return set ? PROGRAM_CALL(p, "run", "e.json", "--on", "fluid", "--set", set)
               : PROGRAM_CALL(p, "run", "e.json", "--on", "fluid");
}

static void others_go_on(void)
{
    struct program p;
    struct said s = run(&p, NULL);
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "strait: /training={\"lr\":1000000.0,\"task\":"
                                         "\"quadratic\"}: round "));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "training diverged: the loss is "));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "2 rows, 2 computed now"));
    const char *first = strstr(s.out, "not reached"); /* a line of each of the others */
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    const char *second = strstr(first + 1, "not reached");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_PTR_NULL(strstr(second + 1, "not reached"));
    said_release(&s);
    program_tear_down(&p);
}

static void alone(void)
{
    struct program p;
    struct said s = run(&p, "/training={\"task\":\"quadratic\",\"lr\":1e6}");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "strait: round "));
    CU_ASSERT_STRING_EQUAL(s.out, "");
    said_release(&s);
    program_tear_down(&p);
}

/* The plain run beside a codec's goes on, and nothing is varied that would name the point. A client
 * reaches its optimum, 0, in each round, so its update is -w. One element of 20 is sent, 20 times
 * as large: w becomes -19 w, in 20 rounds for each element, and 19^31 is above what a float holds:
 * 620 rounds if elements took turns, fewer for those that are drawn more often. */
static void the_codec_alone(void)
{
    struct program p;
    program_set_up(&p);
    program_write(
        &p, "e.json",
        "{\"schema\":\"strait-experiment/1\",\"strategy\":{\"name\":\"fedavg\","
        "\"rounds\":2000,\"local_steps\":20},\"codec\":{\"name\":\"randomk\",\"ratio\":0.05,"
        "\"scale\":\"yes\",\"cutoff\":0,\"vectors\":true,\"error_feedback\":false},\"network\":{"
        "\"client\":"
        "{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 Gbps\"}},"
        "\"clients\":2,\"training\":{\"task\":\"quadratic\",\"lr\":0.5,\"momentum\":0,"
        "\"condition\":1}}");
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--no-break-even");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_CONTAINS(s.err, "strait: round ");
    CU_ASSERT_CONTAINS(s.err, ", with codec \"randomk:ratio=0.05,scale=yes,error_feedback=no\"\n");
    CU_ASSERT_CONTAINS(s.err, "1 row, 1 computed now");
    said_release(&s);
    program_tear_down(&p);
}

/* Speeds of qsgd with error feedback are in no profile: those of qsgd are taken, and said. */
static void nearest_speeds(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json", experiment);
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--json", "--set",
                                 "/codec={\"name\":\"qsgd\",\"error_feedback\":true,\"cutoff\":0}",
                                 "--set", "/training={\"task\":\"quadratic\",\"lr\":0.01}");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "speeds of the codec are those of qsgd: the profile has "
                                         "none of its own"));
    said_release(&s);
    program_tear_down(&p);
}

/* Of each seed a file of its own in the folder, by the row's key, which is gone when the row is
 * there. What lies there already is read: here it is no state. */
static void saved_state(void)
{
    static const char *const ends[] = {"0", "1"};
    char name[128], said[256];
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json", experiment);
#define SAVING "--set", "/training={\"task\":\"quadratic\",\"lr\":0.01}", "--save-state", "kept"
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--json", SAVING);
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *row = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
    const char *key = json_string_value(json_object_get(row, "key"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(key);
    said_release(&s);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "kept/%s-%s.state", key, ends[i]);
        CU_ASSERT_FALSE(program_has(&p, name));
        program_write(&p, name, "this is the state of no training");
        s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--out", ends[i], SAVING);
        CU_ASSERT_EQUAL(s.status, 2);
        snprintf(said, sizeof(said), "strait: %s: expected the saved state of a run with ", name);
        CU_ASSERT_CONTAINS(s.err, said);
        said_release(&s);
        snprintf(name, sizeof(name), "%s/kept/%s-%s.state", p.folder, key, ends[i]);
        unlink(name);
    }
    s = PROGRAM_CALL(&p, "run", "e.json", "--on", "emu", SAVING);
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "with --save-state, found --on emu\n");
    said_release(&s);
    json_decref(row);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"a point that diverges leaves the rows of the others", others_go_on},
    {"the only point that diverges ends the run with its line", alone},
    {"a codec that diverges beside the plain run is named by its line", the_codec_alone},
    {"a codec without speeds of its own trains with the nearest entry's, and says so",
     nearest_speeds},
    {"the state of a training is kept in a file for each seed", saved_state},
};
STRAIT_SUITE("cli/cli_training", tests);
