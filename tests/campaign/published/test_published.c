/* strait compare --published from outside: figures against closed forms, orders, what is refused.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

/* A gradient of 105866 float32 in a ring of n: every rank sends 2 (n - 1) / n of it. */
static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":4,"
    "\"strategy\":{\"name\":\"bsp\",\"rounds\":2},"
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"1 ms\"}}}";

static const char coder[] =
    "{\"schema\":\"strait-profile/"
    "1\",\"title\":\"t\",\"machine\":\"m\",\"date\":\"2026-01-01\",\"version\":\"1\","
    "\"source\":\"s\",\"stated\":true,\"add\":\"12 GB/s\",\"copy\":\"12 GB/s\",\"entries\":[{"
    "\"codec\":\"sz\",\"bound\":{\"range\":0.01},\"kind\":\"any\",\"ratio\":{\"aggregate\":5},"
    "\"encode\":{\"speed\":\"30 MB/s\"},\"decode\":{\"speed\":\"60 MB/s\"}}]}";

#define ROW(more, measure)                                                                         \
    "{\"case\":\"a\",\"claim\":\"c\",\"source\":\"s\",\"unit\":\"MB\"," more ",\"measure\":{"      \
    "\"experiment\":\"e.json\"," measure "}}"
#define BOOK(rows) "{\"schema\":\"strait-published/1\",\"rows\":[" rows "]}"
#define PER_RANK   "\"metric\":\"payload_mb_per_rank\""

static json_t *published(const char *book, int status)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    program_write(&program, "c.json", coder);
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

static void book_of(char book[4096], const char *const *rows, size_t n)
{
    size_t used = (size_t)snprintf(book, 4096, "{\"schema\":\"strait-published/1\",\"rows\":[");
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(book + used, 4096 - used, "%s%s", i > 0 ? "," : "", rows[i]);
    used += (size_t)snprintf(book + used, 4096 - used, "]}");
    CU_ASSERT_FATAL(used < 4096);
}

#define EIGHT_FOUR "[{\"/clients\":8},{\"/clients\":4}]"
#define FOUR_TWO   "[{\"/clients\":4},{\"/clients\":2}]"
#define THRESHOLD                                                                                  \
    ",\"as\":\"threshold\",\"against\":[{\"/strategy/name\":\"ps\"}],\"over\":{\"/clients\":"      \
    "[2,4,8]}"

static void figures(void)
{
    const double mb = 4e-6 * 105866;
    static const char *const rows[] = {
        ROW("\"published\":0.7", PER_RANK),
        ROW("\"published\":0.7,\"kind\":\"up to\"", PER_RANK ",\"over\":{\"/clients\":[2,8]}"),
        ROW("\"published\":1,\"kind\":\"up to\"",
            PER_RANK ",\"as\":\"times\",\"set\":{\"/clients\":2},\"against\":" EIGHT_FOUR),
        ROW("\"published\":3,\"kind\":\"from\"", PER_RANK THRESHOLD),
        ROW("\"published\":1",
            PER_RANK ",\"as\":\"difference\",\"set\":{\"/clients\":8},\"against\":" FOUR_TWO),
        ROW("\"published\":1", PER_RANK ",\"pick\":\"mean\",\"over\":{\"/clients\":[2,4,8]}")};
    char book[4096];
    book_of(book, rows, sizeof(rows) / sizeof(rows[0]));
    json_t *json = published(book, 0);
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
    /* the best of those compared with is n = 2: 1.75 - 1 */
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 4), 0.75 * mb, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 5), (1 + 1.5 + 1.75) / 3 * mb, 1e-12);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json, "orders")), 0);
    json_decref(json);
}

/* Compute of a device `speed` times as fast is less than with a speed of 3 from 4 on, of 1, 2, 4
 * and 8. A range from 3 or 4 begins there, as far as these values tell; one from 8 is part of ours,
 * which was said not to hold before; one from 2 holds from 4 on alone; with 1 last there is none.
 * Where nothing is varied, a figure is the beginning itself: 1.5 x 0.423 = 0.635 MB is not 0.6 or
 * 0.7. */
static void ranges(void)
{
#define FROM(published, over)                                                                      \
    ROW("\"published\":" published ",\"kind\":\"from\"",                                           \
        "\"metric\":\"busy_s/client/compute\",\"as\":\"threshold\",\"set\":{\"/device\":{"         \
        "\"speed\":1}},\"against\":[{\"/device/speed\":3}],\"over\":{\"/device/speed\":" over "}")
#define BARE(published) ROW("\"published\":" published ",\"kind\":\"from\"", PER_RANK)
    static const struct {
        const char *row;
        bool reached, covered;
    } cases[] = {{FROM("3", "[1,2,4,8]"), true, true},
                 {FROM("4", "[1,2,4,8]"), true, true},
                 {FROM("8", "[1,2,4,8]"), false, true},
                 {FROM("2", "[1,2,4,8]"), false, false},
                 {FROM("4", "[1,4,1]"), false, false},
                 {FROM("5", "[4,8]"), false, true},
                 {FROM("4", "[4,8]"), true, true},
                 {BARE("0.6"), false, false},
                 {BARE("0.7"), false, true}};
    enum { N = sizeof(cases) / sizeof(cases[0]) };
    const char *rows[N];
    char book[4096];
    for (size_t i = 0; i < N; i++)
        rows[i] = cases[i].row;
    book_of(book, rows, N);
    json_t *json = published(book, 0);
    for (size_t i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(json_is_true(json_object_get(row(json, i), "reached")), cases[i].reached);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(row(json, i), "covered")), cases[i].covered);
    }
    CU_ASSERT_EQUAL(ours(json, 0), 4);
    json_decref(json);
}

/* Of 8, 4 and 2 ranks' rings 0.741, 0.635 and 0.423 MB a rank: 0.7 and less from 4 on, 0.4 never;
 * 0.7 of 2, 4 and 8 never to the last, 0.8 from 2 on. */
static void within(void)
{
#define WITHIN(limit, over)                                                                        \
    ROW("\"published\":4",                                                                         \
        PER_RANK ",\"as\":\"within\",\"limit\":" limit ",\"over\":{\"/clients\":" over "}")
    static const char *const rows[] = {WITHIN("0.7", "[8,4,2]"), WITHIN("0.4", "[8,4,2]"),
                                       WITHIN("0.7", "[2,4,8]"), WITHIN("0.8", "[2,4,8]")};
    char book[4096];
    book_of(book, rows, sizeof(rows) / sizeof(rows[0]));
    json_t *json = published(book, 0);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 0), 4, 1e-12);
    CU_ASSERT(json_is_null(json_object_get(row(json, 1), "ours")));
    CU_ASSERT(json_is_null(json_object_get(row(json, 2), "ours")));
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 3), 2, 1e-12);
    json_decref(json);
}

/* What a codec takes of a round of one client, and saves. Of n ranks' rings 2 sends 1 and 8 sends
 * 1.75 of a gradient: 42.9 % saved. A round is faster than at 50 Mbps from 60 on. Computing is no
 * communication: a device of three times the speed changes nothing. The stated encoder takes 30
 * MB/s and its decoder 60, which are all of the codec's share of the round but for some 25 us of
 * copying. */
static void codec_figures(void)
{
#define CODED                                                                                      \
    "\"set\":{\"/clients\":1,\"/network/server\":{\"rate\":\"1 Gbps\"},\"/strategy\":{\"name\":"   \
    "\"fedavg\",\"rounds\":2,\"local_steps\":1},\"/codec\":{\"name\":\"sz\",\"bound\":{"           \
    "\"range\":0.01},\"cutoff\":0,\"profile\":\"./c.json\"}}"
    static const char *const rows[] = {
        ROW("\"published\":1",
            PER_RANK ",\"as\":\"saved\",\"set\":{\"/clients\":2},\"against\":[{\"/clients\":8}]"),
        ROW("\"published\":1", "\"metric\":\"round_s\",\"as\":\"threshold\",\"against\":"
                               "[{\"/network/client/rate\":\"50 Mbps\"}],\"over\":{"
                               "\"/network/client/rate\":[\"10 Mbps\",\"40 Mbps\",\"60 Mbps\","
                               "\"0.1 Gbps\"]}"),
        ROW("\"published\":1", "\"metric\":\"communication_s\",\"as\":\"difference\",\"set\":{"
                               "\"/device\":{\"speed\":3}},\"against\":[{\"/device/speed\":1}]"),
        ROW("\"published\":1", "\"metric\":\"communication_s\""),
        ROW("\"published\":1", "\"metric\":\"encode_mb_per_s\"," CODED),
        ROW("\"published\":1", "\"metric\":\"codec_percent\"," CODED),
        ROW("\"published\":1", "\"metric\":\"round_s\"," CODED),
        ROW("\"published\":1", "\"metric\":\"round_s\""),
        ROW("\"published\":1", "\"metric\":\"compute_percent\"")};
    const double mb = 4e-6 * 105866;
    char book[4096];
    book_of(book, rows, sizeof(rows) / sizeof(rows[0]));
    json_t *json = published(book, 0);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 0), 100 * (1 - 1 / 1.75), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 1), 60, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 2), 0, 1e-9);
    CU_ASSERT(ours(json, 3) > 1.5 * mb / 12.5); /* MB/s of 100 Mbps */
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 4), 30, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 5) / 100 * ours(json, 6), mb / 30 + mb / 60, 5e-5);
    /* what is not communication */
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 8) / 100 * ours(json, 7), ours(json, 7) - ours(json, 3),
                           1e-9);
    CU_ASSERT(ours(json, 8) > 0);
    json_decref(json);
}

/* Four figures of 2 (n - 1) / n: one is an input, one a claim; the others are 10 % above and 60 %
 * below what was published. */
static void errors(void)
{
    const double mb = 4e-6 * 105866;
    char above[512], below[512], book[4096];
    snprintf(above, sizeof(above), ROW("\"published\":%.15g", PER_RANK), 1.5 * mb / 1.1);
    snprintf(below, sizeof(below), ROW("\"published\":%.15g", PER_RANK), 1.5 * mb / 0.4);
    const char *const rows[] = {above, below, ROW("\"published\":9,\"input\":true", PER_RANK),
                                ROW("\"published\":9,\"kind\":\"up to\"", PER_RANK)};
    book_of(book, rows, sizeof(rows) / sizeof(rows[0]));
    json_t *json = published(book, 0);
    const json_t *of = json_object_get(json_object_get(json, "errors"), "a");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(of, "rows")), 2);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(of, "median")), 0.35, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(of, "worst")), -0.6, 1e-9);
    json_decref(json);
}

/* The rounds of a run that lie between its first and its last; of two rounds both. DeAR's differ.
 */
static void steady(void)
{
#define DEAR(rounds, metric)                                                                       \
    ROW("\"published\":1", "\"metric\":\"" metric "\",\"set\":{\"/strategy\":{\"name\":\"dear\","  \
                           "\"rounds\":" rounds "}}")
    static const char *const rows[] = {DEAR("4", "steady_s"), DEAR("2", "round_s"),
                                       DEAR("2", "steady_s")};
    char book[4096];
    book_of(book, rows, sizeof(rows) / sizeof(rows[0]));
    json_t *json = published(book, 0);
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--json", "--set",
                         "/strategy={\"name\":\"dear\",\"rounds\":4}");
    json_t *run = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *all = json_object_get(run, "rounds_s");
    double rounds_s[4] = {0};
    CU_ASSERT_EQUAL_FATAL(json_array_size(all), 4);
    for (size_t i = 0; i < 4; i++)
        rounds_s[i] = json_number_value(json_array_get(all, i));
    CU_ASSERT(fabs(rounds_s[0] - rounds_s[1]) > 1e-6 && fabs(rounds_s[3] - rounds_s[1]) > 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 0), (rounds_s[1] + rounds_s[2]) / 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ours(json, 2), ours(json, 1), 1e-9);
    json_decref(run);
    json_decref(json);
    said_release(&s);
    program_tear_down(&program);
}

static void orders(void)
{
    /* bytes rise with n; published as 1 and 2 for n = 2 and 4, then the other way round */
#define ONE(claim, published, n)                                                                   \
    "{\"case\":\"a\",\"claim\":\"" claim "\",\"source\":\"s\",\"unit\":\"MB\",\"group\":\"g\","    \
    "\"reason\":\"why " claim "\",\"published\":" published ",\"measure\":{\"experiment\":"        \
    "\"e.json\"," PER_RANK ",\"set\":{\"/clients\":" n "}}}"
    json_t *kept = published(BOOK(ONE("x", "1", "2") "," ONE("y", "2", "4")), 0);
    json_t *order = json_array_get(json_object_get(kept, "orders"), 0);
    CU_ASSERT(json_is_true(json_object_get(order, "kept")));
    CU_ASSERT(json_is_true(json_object_get(json_object_get(order, "wins"), "same")));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(order, "pairs")), 1);
    json_t *broken = published(BOOK(ONE("x", "2", "2") "," ONE("y", "1", "4")), 1);
    order = json_array_get(json_object_get(broken, "orders"), 0);
    CU_ASSERT(json_is_false(json_object_get(order, "kept")));
    CU_ASSERT(json_is_false(json_object_get(json_object_get(order, "wins"), "same")));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(order, "pairs")), 1);
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(order, "broken")), 1);
    const json_t *pair = json_array_get(json_object_get(order, "broken"), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(pair, "low")), "y");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(pair, "high")), "x");
    /* x is 0.42 for 2, y 0.64 for 1: x is farther off */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(pair, "reason")), "why x");
    json_decref(kept);
    json_decref(broken);
    /* figures that their spread does not tell apart, or 2 %, are no order */
    static const char *const spread[] = {ONE("x", "2,\"spread\":0.8", "2"),
                                         ONE("y", "1,\"spread\":0.7", "4")},
                             *const near[] = {ONE("x", "1.01", "2"), ONE("y", "1", "4")};
    char book[4096];
    book_of(book, spread, 2);
    json_decref(published(book, 0));
    book_of(book, near, 2);
    json_decref(published(book, 0));
}

/* As a reader sees them. */
static void shown(void)
{
    static const char *const rows[] = {ONE("x", "2", "2"), ONE("y", "1", "4"),
                                       ROW("\"published\":9,\"kind\":\"up to\"", PER_RANK)};
    char book[4096];
    book_of(book, rows, 3);
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    program_write(&program, "p.json", book);
    struct said s = CALL("compare", "--published", "--figures", "p.json");
    CU_ASSERT_EQUAL(s.status, 1);
    /* 1.5 x 0.423464 MB for n = 4, once for n = 2 */
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "order broken: published y < x (1, 2), ours x < y "
                                         "(0.4235, 0.6352)\n        why x\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "wins: published y, ours x: another\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "not reached, -92.9 %"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "a, 2 figures: median error 57.7 %, worst -78.8 % (x)\n"));
    said_release(&s);
    program_tear_down(&program);
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
        {BOOK(ROW("\"published\":1", "\"metric\":\"round_s\",\"as\":\"within\",\"over\":{"
                                     "\"/clients\":[2]}")),
         "strait: p.json#/rows/0/measure/limit: expected a number for \"within\""},
        {BOOK(ROW("\"published\":1", "\"metric\":\"round_s\",\"limit\":3")),
         "strait: p.json#/rows/0/measure/limit: expected a number for \"within\""},
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

/* What a figure would be without a constant of its software is what it is with that constant at
 * nothing; a figure that is a claim does not count, and has no such. */
static void without_constants(void)
{
    static const char job[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"resnet50\",\"device\":\"rtx2080ti\","
        "\"software\":\"horovod\",\"strategy\":{\"name\":\"bsp\",\"rounds\":3},\"network\":{"
        "\"client\":{\"rate\":\"100 Gbps\",\"rtt\":\"0.1 ms\"}},\"clients\":4}";
    static const char *const rows[] = {
        ROW("\"published\":0.3", "\"metric\":\"round_s\""),
        ROW("\"published\":0.3",
            "\"metric\":\"round_s\",\"set\":{\"/software/constants/launch\":\"0 s\"}"),
        ROW("\"published\":0.3,\"kind\":\"up to\"", "\"metric\":\"round_s\"")};
    char book[4096];
    book_of(book, rows, 3);
    program_set_up(&program);
    program_write(&program, "e.json", job);
    program_write(&program, "p.json", book);
    struct said s = CALL("compare", "--published", "--figures", "p.json", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *json = json_loads(s.out, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    said_release(&s);
    const json_t *launch = json_object_get(json_object_get(row(json, 0), "constants"), "launch"),
                 *claimed = json_object_get(json_object_get(row(json, 2), "constants"), "launch");
    CU_ASSERT(ours(json, 1) < ours(json, 0));
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(launch, "without")),
                           json_number_value(json_object_get(row(json, 1), "relative")), 1e-12);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(launch, "value")), 2e-4);
    CU_ASSERT_PTR_NOT_NULL(claimed);
    CU_ASSERT_PTR_NULL(json_object_get(claimed, "without"));
    CU_ASSERT_PTR_NULL(
        json_object_get(json_object_get(row(json, 1), "constants"), "launch")); /* it is stated */
    json_decref(json);
    s = CALL("compare", "--published", "--figures", "p.json", "--json", "--no-worth");
    json = json_loads(s.out, 0, NULL);
    launch = json_object_get(json_object_get(row(json, 0), "constants"), "launch");
    CU_ASSERT_PTR_NOT_NULL(launch);
    CU_ASSERT_PTR_NULL(json_object_get(launch, "without"));
    json_decref(json);
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"what a constant is worth is the figure without it", without_constants},
    {"figures are those of the setting, and claims are reached or not", figures},
    {"a range is reached where it begins and holds as published, not at one end alone", ranges},
    {"a figure may be the first value from which on ours is at most a limit", within},
    {"what a codec takes of a round, saves and encodes a second", codec_figures},
    {"errors are of predicted figures: no claims, no inputs", errors},
    {"a steady round is neither the first nor the last", steady},
    {"an order that is not the published one is told, and the exit status is 1", orders},
    {"the table tells which order is broken, by how much, and why", shown},
    {"a file that cannot be answered is one line and exit status 2", refused},
};
STRAIT_SUITE("campaign/published/published", tests);
