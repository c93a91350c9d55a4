/* strait compare --coverage on a prediction and measurements made by hand. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/intervals/learned.h"
#include "analysis/store.h"
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"title\":\"t\",\"model\":\"cnn\",\"clients\":2,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1},\"codec\":\"none\","
    "\"network\":{\"client\":{\"rate\":\"50 Mbps\",\"rtt\":\"5 ms\"},\"server\":{\"rate\":\"1 "
    "Gbps\"}}}";

/* A folder with one measured row of the same point, whose round is the prediction's times this. */
static void measure(const char *name, const char *predicted, double factor)
{
    char folder[128];
    struct strait_store *store;
    struct strait_error err = {0};
    json_t *row = json_loads(predicted, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    snprintf(folder, sizeof(folder), "%s/%s", program.folder, name);
    json_object_set_new(row, "backend", json_string("emu"));
    json_object_set_new(row, "round_s",
                        json_real(factor * json_number_value(json_object_get(row, "round_s"))));
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, folder, true, &err), 0);
    json_t *header = json_pack("{s:s, s:s}", "record", "header", "schema", STRAIT_RESULTS_SCHEMA);
    CU_ASSERT_EQUAL(strait_store_begin(store, header, &err), 0);
    CU_ASSERT_EQUAL(strait_store_add(store, row, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    strait_store_free(store);
    json_decref(header);
    json_decref(row);
}

/* The line of a group in the table: its blanks are the table's. */
static void expect_row(const char *out, const json_t *group)
{
    static const char *const keys[][2] = {
        {"width", "mean"},   {"width", "median"}, {"round", "mean"},
        {"round", "median"}, {"round", "p90"},    {"round", "p95"},
        {"round", "worst"},  {"rest", "mean"},    {"rest", "p95"}};
    const char *of = json_string_value(json_object_get(group, "of"));
    const char *line = strstr(out, "\nall ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_STRING_EQUAL(of, "all");
    const char *at = line + strlen("\nall ");
    char *end;
    CU_ASSERT_EQUAL(strtol(at, &end, 10), json_integer_value(json_object_get(group, "settings")));
    CU_ASSERT_DOUBLE_EQUAL(strtod(end, &end),
                           100 * json_number_value(json_object_get(group, "covered")), 0.5);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const json_t *figure = json_object_get(json_object_get(group, keys[i][0]), keys[i][1]);
        strait_test_context("%s %s", keys[i][0], keys[i][1]);
        CU_ASSERT(json_is_number(figure));
        CU_ASSERT_DOUBLE_EQUAL(strtod(end, &end), 100 * json_number_value(figure), 0.05001);
    }
    CU_ASSERT_EQUAL(*end, '\n');
}

/* The prediction itself lies in its interval; a hundred times as long as it does not, and that is
 * status 1. The table that is learned from it has that factor, and is read again. */
static void covered(void)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "p", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    measure("same", s.out, 1);
    measure("slow", s.out, 100);
    said_release(&s);
    s = CALL("compare", "--coverage", "p", "same");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "Measured rounds inside of the predicted 90 % intervals");
    CU_ASSERT_CONTAINS(s.out, "\nall ");
    said_release(&s);
    /* each figure of the table is the one of --json, in % */
    s = CALL("compare", "--coverage", "p", "slow", "--json");
    json_t *figures = json_loads(s.out, 0, NULL);
    said_release(&s);
    s = CALL("compare", "--coverage", "p", "slow");
    expect_row(s.out, json_array_get(json_object_get(figures, "groups"), 0));
    json_decref(figures);
    said_release(&s);
    s = CALL("compare", "--coverage", "p", "slow", "--json");
    CU_ASSERT_EQUAL(s.status, 1);
    json_t *out = json_loads(s.out, 0, NULL);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(out, "covered")), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(out, "settings")), 1);
    json_decref(out);
    said_release(&s);
    s = CALL("compare", "--coverage", "p", "slow", "--learn", "table.csv");
    said_release(&s);
    char path[128];
    struct strait_learned learned;
    struct strait_error err = {0};
    snprintf(path, sizeof(path), "%s/table.csv", program.folder);
    CU_ASSERT_EQUAL(strait_learned_load(&learned, path, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL_FATAL(learned.n, 1);
    CU_ASSERT_DOUBLE_EQUAL(learned.settings[0].error, 0.01 - 1, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(learned.settings[0].features[STRAIT_FEATURE_RATE], 50, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(learned.settings[0].features[STRAIT_FEATURE_RTT], 5, 1e-9);
    CU_ASSERT_STRING_EQUAL(learned.settings[0].family, "server");
    strait_learned_release(&learned);
    program_tear_down(&program);
}

static void refused(void)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "p", "--json");
    said_release(&s);
    s = CALL("compare", "--coverage", "p");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: coverage: expected a point with a predicted and a valid "
                                  "measured row, found none\n");
    said_release(&s);
    s = CALL("compare", "--coverage", "p", "--learn", "no/such/table.csv");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a measurement lies inside or outside, and the table says by how much", covered},
    {"without pairs there is nothing to judge", refused},
};
STRAIT_SUITE("cli/cli_coverage", tests);
