/* strait run --shard and strait merge: parts are the whole, to the last digit, and what does not
 * belong together stays apart. */
#include <jansson.h>
#include <string.h>
#include "tests/kit/program.h"

/* Six points, and three more without a codec for the speed-ups. */
static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"strategy\":{\"name\":\"fedavg\","
    "\"rounds\":3},\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},\"network\":{\"client\":{"
    "\"rate\":\"100 Mbps\",\"rtt\":\"10 ms\"},\"server\":{\"rate\":\"1 Gbps\"}},\"clients\":2,"
    "\"vary\":{\"/clients\":[2,4,8],\"/codec/bound/range\":[1e-2,1e-3]}}";

/* Rows without what depends on when and where they were computed. */
static json_t *rows_of(struct program *p, const char *folder, const char *jobs)
{
    struct said s =
        PROGRAM_CALL(p, "run", "e.json", "--on", "fluid", "--json", "--out", folder, "-j", jobs);
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *rows = json_array();
    for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *row = json_loads(line, 0, NULL);
        json_object_del(row, "wall_s");
        json_object_del(row, "stored");
        json_array_append_new(rows, row);
    }
    said_release(&s);
    return rows;
}

static void parts(struct program *p)
{
    static const char *const shards[] = {"1/3", "2/3", "3/3"};
    static const char *const folders[] = {"p1", "p2", "p3"};
    for (int i = 0; i < 3; i++) {
        struct said s = PROGRAM_CALL(p, "run", "e.json", "--on", "fluid", "--shard", shards[i],
                                     "--out", folders[i], "-j", "1");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_CONTAINS(s.err, "3 rows, 3 computed now"); /* of nine */
        said_release(&s);
    }
}

static void parts_are_the_whole(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json", experiment);
    parts(&p);
    struct said s = PROGRAM_CALL(&p, "merge", "p3", "p1", "p2", "--out", "all");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "all/results.jsonl: 9 rows of 3 folders\n");
    said_release(&s);
    json_t *merged = rows_of(&p, "all", "1"), *one = rows_of(&p, "one", "1"),
           *two = rows_of(&p, "two", "2");
    CU_ASSERT(json_array_size(one) >= 9);
    CU_ASSERT(json_equal(merged, one));
    CU_ASSERT(json_equal(two, one));
    json_decref(merged);
    json_decref(one);
    json_decref(two);
    program_tear_down(&p);
}

static void what_is_missing_is_said_and_computed(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json", experiment);
    parts(&p);
    struct said s = PROGRAM_CALL(&p, "merge", "p1", "p3", "--out", "some");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(
        s.err, "some/results.jsonl: 6 rows of 2 folders; 3 points are in none of them\n");
    said_release(&s);
    s = PROGRAM_CALL(&p, "merge", "p1", "p3", "--out", "same", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(
        s.out, "{\"results\":\"same/results.jsonl\",\"folders\":2,\"rows\":6,\"missing\":3}\n");
    CU_ASSERT_STRING_EQUAL(s.err, "");
    said_release(&s);
    s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--out", "some");
    CU_ASSERT_CONTAINS(s.err, "9 rows, 3 computed now");
    said_release(&s);
    program_tear_down(&p);
}

static void expect_refused(struct program *p, const char *a, const char *b, const char *out,
                           const char *expected)
{
    struct said s = PROGRAM_CALL(p, "merge", a, b, "--out", out);
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_STRING_EQUAL(s.err, expected);
    said_release(&s);
}

static void strangers_are_refused(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "e.json", experiment);
    parts(&p);
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--set", "/seed=2",
                                 "--shard", "2/3", "--out", "other");
    said_release(&s);
    s = PROGRAM_CALL(&p, "run", "e.json", "--on", "sim", "--shard", "2/3", "--out", "sim");
    said_release(&s);
    expect_refused(&p, "p1", "other", "x",
                   "strait: other/results.jsonl: expected the same points as p1/results.jsonl has, "
                   "found others\n");
    expect_refused(&p, "p1", "sim", "x",
                   "strait: sim/results.jsonl: expected the same backends as p1/results.jsonl has, "
                   "found others\n");
    expect_refused(&p, "p1", "p2", "p3",
                   "strait: p3/results.jsonl: expected a new or empty folder, found results\n");
    CU_ASSERT_FALSE(program_has(&p, "x"));
    s = PROGRAM_CALL(&p, "run", "e.json", "--shard", "0/3");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: run: expected I/N with I from 1 to N after --shard, "
                                  "found \"0/3\"\n");
    said_release(&s);
    s = PROGRAM_CALL(&p, "run", "e.json", "--shard", "1/3", "--on", "both");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "strait: run: expected --profile with --shard and --on both");
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"shards of any number, merged, are one run to the last digit", parts_are_the_whole},
    {"points of a shard that is missing are counted, and computed by a run",
     what_is_missing_is_said_and_computed},
    {"folders that do not belong together are refused and leave nothing", strangers_are_refused},
};
STRAIT_SUITE("cli/cli_shard", tests);
