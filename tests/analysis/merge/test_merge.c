/* Results of shards as those of one run: which rows, in which order, and what is refused. */
#include <stdlib.h>
#include <string.h>
#include "analysis/merge/merge.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

enum { N_FOLDERS = 4 };

struct world {
    char folder[N_FOLDERS][64]; /* two parts, a third, and what they make */
    struct strait_store *stores[N_FOLDERS];
};

static void set_up(struct world *w)
{
    for (int i = 0; i < N_FOLDERS; i++) {
        struct strait_error err = {0};
        snprintf(w->folder[i], sizeof(w->folder[i]), "/tmp/strait-merge-XXXXXX");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(w->folder[i]));
        CU_ASSERT_EQUAL_FATAL(strait_store_open(&w->stores[i], w->folder[i], true, &err), 0);
    }
}

static void tear_down(struct world *w)
{
    for (int i = 0; i < N_FOLDERS; i++) {
        strait_store_free(w->stores[i]);
        folder_remove(w->folder[i]);
    }
}

/* Of a plan of three points, whose keys differ by machine: `letter`1 and so on. */
static json_t *header(const char *letter)
{
    char keys[3][8];
    for (int i = 0; i < 3; i++)
        snprintf(keys[i], sizeof(keys[i]), "%s%d", letter, i + 1);
    return json_pack("{s:s, s:s, s:s, s:{s:{s:i}}, s:{s:s}, s:{s:s}, s:[{s:s, s:n, s:[s, s, s], "
                     "s:{s:i}}]}",
                     "record", "header", "schema", STRAIT_RESULTS_SCHEMA, "sweep", "s",
                     "experiment", "base", "clients", 4, "versions", "program", "p", "profile",
                     "hash", "h", "runs", "backend", "sim", "control", "keys", keys[0], keys[1],
                     keys[2], "labels", "x", 1);
}

static void put(struct strait_store *s, json_t *record)
{
    CU_ASSERT_EQUAL(strcmp(json_string_value(json_object_get(record, "record")), "header") == 0
                        ? strait_store_begin(s, record, NULL)
                        : strait_store_add(s, record, NULL),
                    0);
    json_decref(record);
}

static json_t *row(const char *key, double round_s)
{
    return json_pack("{s:s, s:s, s:b, s:[f], s:{s:i}}", "record", "row", "key", key, "valid", 1,
                     "rounds_s", round_s, "bytes", "raw", 8);
}

/* The first has its point 1, the second its points 1 and 2 under keys of its own, and a count of
 * clients that will be found anew. Nobody has point 3. */
static void parts(struct world *w)
{
    put(w->stores[0], header("a"));
    put(w->stores[0], row("a1", 1));
    put(w->stores[1], header("b"));
    put(w->stores[1], row("b1", 1));
    put(w->stores[1], row("b2", 2));
    put(w->stores[1],
        json_pack("{s:s, s:s, s:s}", "record", "break-even", "key", "k", "text", "4"));
    put(w->stores[1], json_pack("{s:s, s:s, s:i}", "record", "constant", "key", "c", "value", 7));
}

static void merged(void)
{
    struct world w;
    struct strait_merged m;
    struct strait_error err = {0};
    set_up(&w);
    parts(&w);
    CU_ASSERT_EQUAL_FATAL(strait_merge(&m, w.stores[3], w.stores, 2, &err), 0);
    CU_ASSERT_EQUAL(m.n_rows, 3); /* a1, b1 and b2 */
    CU_ASSERT_EQUAL(m.n_missing, 1);
    json_t *run = json_array_get(json_object_get(strait_store_header(w.stores[3]), "runs"), 0);
    json_t *expected = json_pack("{s:s, s:n, s:[s, s, s], s:{}}", "backend", "sim", "control",
                                 "keys", "a1", "b2", "a3", "labels");
    CU_ASSERT(json_equal(run, expected));
    json_decref(expected);
    CU_ASSERT_PTR_NOT_NULL(strait_store_find(w.stores[3], "row", "b2"));
    CU_ASSERT_PTR_NOT_NULL(strait_store_find(w.stores[3], "constant", "c"));
    CU_ASSERT_PTR_NULL(strait_store_find(w.stores[3], "break-even", "k"));
    const json_t *records = strait_store_records(w.stores[3]);
    const json_t *last = json_array_get(records, json_array_size(records) - 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(last, "record")), "end");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(last, "rows")), 3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(last, "computed")), 0);
    CU_ASSERT_TRUE(json_is_false(json_object_get(last, "failed")));
    /* once more into what now is full */
    CU_ASSERT_EQUAL(strait_merge(&m, w.stores[3], w.stores, 2, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected a new or empty folder, found results");
    tear_down(&w);
}

/* A second folder whose header has one other value, and what is said of it. */
static void refused(void)
{
    static const struct {
        const char *group, *key, *said;
    } cases[] = {{NULL, "sweep", "expected the same points as"},
                 {"experiment", "base", "expected the same experiment as"},
                 {"versions", "program", "found those of strait , commit , program other"},
                 {"profile", "hash", "expected the same profile as"},
                 {"runs", "backend", "expected the same backends as"},
                 {"runs", "control", "expected the same backends as"},
                 {"runs", "keys", "expected the same backends as"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct world w;
        struct strait_merged m;
        struct strait_error err = {0};
        set_up(&w);
        put(w.stores[0], header("a"));
        json_t *other = header("a"),
               *of = cases[i].group ? json_object_get(other, cases[i].group) : other;
        of = json_is_array(of) ? json_array_get(of, 0) : of;
        json_object_set_new(of, cases[i].key,
                            strcmp(cases[i].key, "keys") == 0 ? json_pack("[s]", "a1")
                                                              : json_string("other"));
        put(w.stores[1], other);
        put(w.stores[0], row("a1", 1));
        put(w.stores[1], row("a1", 1));
        CU_ASSERT_EQUAL(strait_merge(&m, w.stores[3], w.stores, 2, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, strait_store_path(w.stores[1]));
        CU_ASSERT_CONTAINS(err.text, cases[i].said);
        tear_down(&w);
    }
}

/* One key and two times; without a run; and a row that both have, once. */
static void same_keys(void)
{
    struct world w;
    struct strait_merged m;
    struct strait_error err = {0};
    set_up(&w);
    for (int i = 0; i < 3; i++)
        put(w.stores[i], header("a"));
    put(w.stores[0], row("a1", 1));
    put(w.stores[1], row("a1", 1));
    put(w.stores[2], row("a1", 1.5));
    CU_ASSERT_EQUAL(strait_merge(&m, w.stores[3], w.stores, 3, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, strait_store_path(w.stores[2]));
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected the same row a1 as in another folder, found other times");
    tear_down(&w);
    set_up(&w);
    err = (struct strait_error){0};
    put(w.stores[0], header("a"));
    put(w.stores[0], row("a1", 1));
    CU_ASSERT_EQUAL(strait_merge(&m, w.stores[3], w.stores, 2, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a run, found none");
    err = (struct strait_error){0};
    put(w.stores[1], header("a"));
    put(w.stores[1], row("a1", 1));
    CU_ASSERT_EQUAL(strait_merge(&m, w.stores[3], w.stores, 2, &err), 0);
    CU_ASSERT_EQUAL(m.n_rows, 1);
    CU_ASSERT_EQUAL(m.n_missing, 2);
    tear_down(&w);
}

static const struct strait_test tests[] = {
    {"rows stand once, in the order of the plan, under keys that have some", merged},
    {"parts of another question are refused by what differs", refused},
    {"one key has one row", same_keys},
};
STRAIT_SUITE("analysis/merge/merge", tests);
