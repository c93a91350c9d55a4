/* strait compare --published from outside: figures against closed forms, orders, what is refused.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

/* A gradient of 105866 float32 in a ring of n: every rank sends 2 (n - 1) / n of it. */
static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":4,"
    "\"strategy\":{\"name\":\"bsp\",\"rounds\":2},"
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"1 ms\"}}}";

#define ROW(more, measure)                                                                         \
    "{\"case\":\"a\",\"claim\":\"c\",\"source\":\"s\",\"unit\":\"MB\"," more ",\"measure\":{"      \
    "\"experiment\":\"e.json\"," measure "}}"
#define BOOK(rows) "{\"schema\":\"strait-published/1\",\"rows\":[" rows "]}"
#define PER_RANK   "\"metric\":\"payload_mb_per_rank\""

static json_t *published(const char *book, int status)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    program_write(&program, "p.json", book);
    struct said s = CALL("compare", "--published", "--figures", "p.json", "--json");
    json_t *json = json_loads(s.out, 0, NULL);
    CU_ASSERT_EQUAL(s.status, status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    said_release(&s);
    program_tear_down(&program);
    return json;
}

static json_t *row(const json_t *json, size_t i)
{
    return json_array_get(json_object_get(json, "rows"), i);
}

static double ours(const json_t *json, size_t i)
{
    return json_number_value(json_object_get(row(json, i), "ours"));
}

static void figures(void)
{
    const double mb = 4e-6 * 105866;
    json_t *json = published(
        BOOK(ROW("\"published\":0.7", PER_RANK) "," ROW(
            "\"published\":0.7,\"kind\":\"up to\"", PER_RANK
            ",\"over\":{\"/clients\":[2,8]}") "," ROW("\"published\":1,\"kind\":\"up to\"", PER_RANK
                                                      ",\"as\":\"times\",\"set\":{\"/clients\":2},"
                                                      "\"against\":[{\"/clients\":8},{\"/"
                                                      "clients\":4}]") "," ROW("\"published\":3,"
                                                                               "\"kind\":\"from\"",
                                                                               PER_RANK
                                                                               ",\"as\":"
                                                                               "\"threshold\","
                                                                               "\"against\":[{\"/"
                                                                               "strategy/"
                                                                               "name\":\"ps\"}],"
                                                                               "\"over\":{\"/"
                                                                               "clients\":[2,4,8]"
                                                                               "}")),
        0);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 0), 2 * 3 / 4.0 * mb, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(row(json, 0), "relative")),
                           1.5 * mb / 0.7 - 1, 1e-9);
    /* the largest of 2 (n - 1) / n counts, n = 8; it is as much as was claimed */
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 1), 2 * 7 / 8.0 * mb, 1e-12);
    CU_ASSERT(json_is_true(json_object_get(row(json, 1), "reached")));
    /* the best of those compared with is n = 4: 1.5 / 1 */
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 2), 1.5, 1e-12);
    /* one server and n - 1 others: (n - 1) up and as many down, over n ranks: never above a ring */
    CU_ASSERT(json_is_null(json_object_get(row(json, 3), "ours")));
    CU_ASSERT(json_is_false(json_object_get(row(json, 3), "reached")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "orders")), 0);
    json_decref(json);
}

static void orders(void)
{
    /* bytes rise with n; published as 1 and 2 for n = 2 and 4, then the other way round */
#define ONE(published, n)                                                                          \
    ROW("\"group\":\"g\",\"published\":" published, PER_RANK ",\"set\":{\"/clients\":" n "}")
    json_t *kept = published(BOOK(ONE("1", "2") "," ONE("2", "4")), 0);
    json_t *order = json_array_get(json_object_get(kept, "orders"), 0);
    CU_ASSERT(json_is_true(json_object_get(order, "kept")));
    json_t *broken = published(BOOK(ONE("2", "2") "," ONE("1", "4")), 1);
    order = json_array_get(json_object_get(broken, "orders"), 0);
    CU_ASSERT(json_is_false(json_object_get(order, "kept")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(order, "broken")), 1);
    json_decref(kept);
    json_decref(broken);
}

static void refused(void)
{
    static const struct {
        const char *book, *message;
    } cases[] = {
        {"{\"schema\":\"x\",\"rows\":[]}",
         "strait: p.json: expected schema \"strait-published/1\""},
        {BOOK(ROW("\"published\":1,\"kind\":\"best\"", PER_RANK)),
         "strait: p.json#/rows/0/kind: expected one of figure, up to, from, found \"best\""},
        {BOOK(ROW("\"published\":1", PER_RANK ",\"as\":\"gain\"")),
         "strait: p.json#/rows/0/measure/against: expected settings to compare with"},
        {BOOK(ROW("\"published\":1", "\"metric\":\"speed\"")),
         "strait: e.json: expected a metric of the row, found \"speed\""},
        {BOOK(ROW("\"published\":1", PER_RANK ",\"set\":{\"/clients\":0}")),
         "strait: e.json#/clients: "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        program_set_up(&program);
        program_write(&program, "e.json", experiment);
        program_write(&program, "p.json", cases[i].book);
        struct said s = CALL("compare", "--published", "--figures", "p.json");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
        const bool said = strncmp(s.err, cases[i].message, strlen(cases[i].message)) == 0;
        CU_ASSERT(said);
        if (!said)
            fprintf(stderr, "found %sexpected %s\n", s.err, cases[i].message);
        said_release(&s);
        program_tear_down(&program);
    }
}

/* Every row of the file that ships has a setting that runs, or says why there is none. */
static void shipped(void)
{
    program_set_up(&program);
    struct said s =
        CALL("compare", "--published", "ddl-benchmarks", "deepreduce-ncf", "spd-kfac", "--json");
    CU_ASSERT_EQUAL(s.status, 0); /* the orders are those of the papers */
    json_t *json = json_loads(s.out, 0, NULL), *of;
    size_t i;
    json_array_foreach(json_object_get(json, "rows"), i, of)
        CU_ASSERT(json_is_number(json_object_get(of, "ours")) ||
                  json_is_string(json_object_get(of, "reason")));
    CU_ASSERT(i > 20);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "orders")), 4 + 1 + 2);
    json_decref(json);
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"figures are those of the setting, and claims are reached or not", figures},
    {"an order that is not the published one is told, and the exit status is 1", orders},
    {"a file that cannot be answered is one line and exit status 2", refused},
    {"the orders of the shipped figures are the papers'", shipped},
};
STRAIT_SUITE("cli/published", tests);
