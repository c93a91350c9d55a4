/* Timelines of stored rows. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"title\":\"Rounds\",\"model\":\"cnn\",\"clients\":2,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":1},\"codec\":\"none\","
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 "
    "Gbps\"}},\"vary\":{\"/clients\":[2,3]}}";

/* Seconds of the slices of a category of a trace. */
static double seconds_of(const char *text, const char *category, size_t *n)
{
    json_t *trace = json_loads(text, 0, NULL), *event;
    double sum_s = 0;
    size_t i;
    *n = 0;
    json_array_foreach (json_object_get(trace, "traceEvents"), i, event) {
        const char *own = json_string_value(json_object_get(event, "cat"));
        if (!own || strcmp(own, category) != 0)
            continue;
        sum_s += 1e-6 * json_number_value(json_object_get(event, "dur"));
        ++*n;
    }
    json_decref(trace);
    return sum_s;
}

/* The path fills the rounds, whose sum is the row's. */
static void simulated_again(void)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "sim", "--out", "r", "--json");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    const char *second = strstr(s.out, "\n") + 1;
    json_t *row = json_loadb(second, strcspn(second, "\n"), 0, NULL);
    const double total_s = 3 * json_number_value(json_object_get(row, "round_s"));
    json_decref(row);
    said_release(&s);
    s = CALL("timeline", "r", "--point", "2", "--format", "chrome");
    CU_ASSERT_EQUAL(s.status, 0);
    size_t n;
    CU_ASSERT_DOUBLE_EQUAL(seconds_of(s.out, "round", &n), total_s, 1e-6 * total_s);
    CU_ASSERT_EQUAL(n, 3);
    CU_ASSERT_DOUBLE_EQUAL(seconds_of(s.out, "critical", &n), total_s, 1e-6 * total_s);
    CU_ASSERT_CONTAINS(s.out, "client 3");
    struct said same = CALL("timeline", "r", "--point", "2", "--json");
    CU_ASSERT_EQUAL(same.status, 0);
    CU_ASSERT_STRING_EQUAL(same.out, s.out);
    said_release(&same);
    said_release(&s);
    s = CALL("timeline", "r", "--where", "/clients=2");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "Rounds: sim, codec none, /clients=2\n");
    CU_ASSERT_CONTAINS(s.out, "\nclient 2 ");
    CU_ASSERT_PTR_NULL(strstr(s.out, "client 3"));
    said_release(&s);
    s = CALL("timeline", "r", "--point", "3");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "expected a row from 1 to 2 after --point, found 3");
    said_release(&s);
    s = CALL("timeline", "r", "--round", "4");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    s = CALL("timeline", "r", "--format", "svg");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    s = CALL("timeline", "r", "--json", "--out", "t.json");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_STRING_EQUAL(s.err, "strait: timeline: expected --json or --out, not both\n");
    CU_ASSERT_FALSE(program_has(&program, "t.json"));
    said_release(&s);
    s = CALL("timeline", "r", "--json", "--format", "paje");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: timeline: expected --json or --format, not both\n");
    said_release(&s);
    program_tear_down(&program);
}

/* 2 clients compute 3 steps of 0.4 s in each of 2 rounds: 2 x 2 spans, 4.8 s together, or of one
 * round half of that. */
static void for_programs(void)
{
    size_t n;
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "r", "--set",
                         "/model={\"params\": \"2 M\", \"step\": \"0.4 s\"}", "--set",
                         "/strategy/local_steps=3", "--set", "/strategy/rounds=2");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    s = CALL("timeline", "r", "--where", "/clients=2", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "");
    CU_ASSERT_DOUBLE_EQUAL(seconds_of(s.out, "compute", &n), 4.8, 1e-5);
    CU_ASSERT_EQUAL(n, 4);
    said_release(&s);
    s = CALL("timeline", "r", "--where", "/clients=2", "--round", "2", "--json");
    CU_ASSERT_DOUBLE_EQUAL(seconds_of(s.out, "compute", &n), 2.4, 1e-5);
    CU_ASSERT_EQUAL(n, 2);
    said_release(&s);
    program_tear_down(&program);
}

/* What run --spans kept is shown, and gives the same picture. */
static void kept(void)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s =
        CALL("run", "e.json", "--on", "fluid", "--out", "r", "--spans", "--every-round");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    s = CALL("run", "e.json", "--on", "fluid", "--out", "q");
    said_release(&s);
    CU_ASSERT(program_has(&program, "r/spans"));
    CU_ASSERT_FALSE(program_has(&program, "q/spans"));
    s = CALL("timeline", "r", "--point", "1", "--out", "r.json");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    s = CALL("timeline", "q", "--point", "1", "--out", "q.json");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    char *with = program_read(&program, "r.json"), *without = program_read(&program, "q.json");
    CU_ASSERT_STRING_EQUAL(with, without);
    free(with);
    free(without);
    program_tear_down(&program);
}

#define TWO_CODECS                                                                                 \
    "\"vary\":{\"/codec\":[{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},"                          \
    "{\"name\":\"sz\",\"bound\":{\"range\":1e-3},\"cutoff\":64}]}}"

/* Two codecs whose short names are alike are told apart by all who name a point. */
static void told_apart(void)
{
    static const char own[] = "sz 1e-3 cutoff=64";
    char text[sizeof(experiment) + sizeof(TWO_CODECS)];
    snprintf(text, sizeof(text), "%.*s" TWO_CODECS,
             (int)(strstr(experiment, "\"vary\"") - experiment), experiment);
    program_set_up(&program);
    program_write(&program, "e.json", text);
    program_write(&program, "p.json",
                  "{\"schema\":\"strait-plan/1\",\"experiment\":\"e.json\","
                  "\"target\":{\"round\":\"9 s\"}," TWO_CODECS);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "r", "--set", "/seed=2");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    s = CALL("why", "r");
    CU_ASSERT_CONTAINS(s.out, own);
    CU_ASSERT_CONTAINS(s.out, "set: /seed=2\n");
    said_release(&s);
    s = CALL("why", "r", "--point", "2");
    CU_ASSERT_CONTAINS(s.out, own);
    CU_ASSERT_CONTAINS(s.out, "set: /seed=2\n");
    said_release(&s);
    s = CALL("why", "r", "--json"); /* the list, for programs, with the uncompressed point */
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *list = json_loads(s.out, 0, NULL), *points = json_object_get(list, "points");
    CU_ASSERT_EQUAL(json_array_size(points), 3);
    const json_t *second = json_array_get(points, 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(second, "point")), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(second, "codec")), own);
    CU_ASSERT_TRUE(json_is_string(json_object_get(json_object_get(second, "limits"), "text")));
    json_decref(list);
    said_release(&s);
    s = CALL("timeline", "r", "--point", "2");
    CU_ASSERT_CONTAINS(s.out, own);
    CU_ASSERT_CONTAINS(s.out, "set: /seed=2\n");
    said_release(&s);
    s = CALL("plan", "p.json", "--any-accuracy", "--all");
    CU_ASSERT_CONTAINS(s.out, own);
    said_release(&s);
    s = CALL("report", "r", "--out", "r.html");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    char *page = program_read(&program, "r.html");
    CU_ASSERT_CONTAINS(page, "<td>2 clients, sz 1e-3 cutoff=64</td>");
    free(page);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"points whose codecs have one short name are told apart", told_apart},
    {"a simulated row is simulated again: its path fills its rounds", simulated_again},
    {"the spans of all rounds or of one are JSON for programs", for_programs},
    {"kept spans give the same timeline", kept},
};
STRAIT_SUITE("cli/cli_timeline", tests);
