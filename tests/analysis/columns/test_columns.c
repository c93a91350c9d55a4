/* Settings and numbers of rows, by pointer. */
#include <stdlib.h>
#include <string.h>
#include "analysis/columns/columns.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* Two rates, each with sz and, as its reference, without a codec; 8 clients. */
static json_t *row(const char *key, const char *rate, bool reference, double round_s)
{
    json_t *row = json_pack(
        "{s:s, s:s, s:b, s:s, s:s, s:s, s:i, s:f, s:[f, f], s:{s:f}, s:[f, f], s:s}", "record",
        "row", "key", key, "valid", 1, "backend", "fluid", "setting_key", rate, "codec_key",
        reference ? "plain" : "sz", "clients", 8, "round_s", round_s, "interval_s", round_s - 1,
        round_s + 1, "path_s", "compute", 0.5, "rounds_s", 1.0, 2.0, "point", key);
    json_object_set_new(row, "labels", json_pack("{s:s}", "/network/client/rate", rate));
    json_object_set_new(row, "codec", json_pack("{s:s}", "name", reference ? "none" : "sz"));
    json_object_set_new(row, "download_codec", json_pack("{s:s}", "name", "none"));
    if (reference)
        json_object_set_new(row, "reference", json_true());
    return row;
}

static json_t *header(void)
{
    return json_pack(
        "{s:s, s:s, s:s, s:{s:s, s:{s:s, s:s, s:i, s:{s:s, s:{s:f}}, s:{s:{s:s, s:s}}}, s:{}}, "
        "s:[{s:s, s:n, s:[s, s, s, s]}]}",
        "record", "header", "schema", STRAIT_RESULTS_SCHEMA, "sweep", "s", "experiment", "file",
        "e.json", "base", "schema", "strait-experiment/1", "model", "cnn", "clients", 8, "codec",
        "name", "sz", "bound", "range", 1e-3, "network", "client", "rate", "5 Gbps", "rtt", "1 ms",
        "set", "runs", "backend", "fluid", "control", "keys", "a", "b", "c", "d");
}

static json_t *columns_of(void)
{
    char folder[] = "/tmp/strait-columns-XXXXXX";
    struct strait_store *store;
    struct strait_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, folder, true, NULL), 0);
    json_t *head = header();
    CU_ASSERT_EQUAL(strait_store_begin(store, head, NULL), 0);
    json_decref(head);
    json_t *rows[] = {row("a", "1 Gbps", false, 2), row("b", "2 Gbps", false, 4),
                      row("c", "1 Gbps", true, 6), row("d", "2 Gbps", true, 3)};
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(strait_store_add(store, rows[i], NULL), 0);
        json_decref(rows[i]);
    }
    json_t *found = strait_store_rows(store), *columns = strait_columns(store, found, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(columns);
    json_decref(found);
    strait_store_free(store);
    folder_remove(folder);
    return columns;
}

static double number(const json_t *columns, size_t row, const char *pointer)
{
    json_t *value = strait_column(json_array_get(columns, row), pointer);
    const double found = json_is_number(value) ? json_number_value(value) : -1;
    json_decref(value);
    return found;
}

static void text(const json_t *columns, size_t row, const char *pointer, const char *expected)
{
    json_t *value = strait_column(json_array_get(columns, row), pointer);
    CU_ASSERT_STRING_EQUAL(json_is_string(value) ? json_string_value(value) : "nothing", expected);
    json_decref(value);
}

static void settings(void)
{
    json_t *columns = columns_of();
    text(columns, 0, "/network/client/rate", "1 Gbps"); /* its label, not the base's 5 Gbps */
    text(columns, 1, "/network/client/rate", "2 Gbps");
    text(columns, 1, "/network/client/rtt", "1 ms");
    text(columns, 0, "/codec/name", "sz");
    text(columns, 2, "/codec/name", "none"); /* a reference is the same point without its codec */
    text(columns, 2, "/codec", "none");
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 0, "/codec/bound/range"), 1e-3, 0);
    CU_ASSERT_EQUAL(number(columns, 2, "/codec/bound/range"), -1);
    text(columns, 0, "/schema", "nothing");
    json_decref(columns);
}

/* 6 s without and 2 s with a codec: 3 times as fast; 3 s and 4 s: 0.75. */
static void numbers(void)
{
    json_t *columns = columns_of();
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 0, "/speedup"), 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 1, "/speedup"), 0.75, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 2, "/speedup"), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 0, "/interval_s/1"), 3, 0);
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 0, "/path_s/compute"), 0.5, 0);
    CU_ASSERT_DOUBLE_EQUAL(number(columns, 0, "/rounds_s/1"), 2, 0); /* a place in a list */
    CU_ASSERT_EQUAL(number(columns, 0, "/rounds_s/2"), -1);
    json_decref(columns);
}

static void filters(void)
{
    struct strait_error err = {0};
    json_t *columns = columns_of();
    json_t *left = strait_columns_where(columns, "/network/client/rate=2 Gbps", &err);
    CU_ASSERT_EQUAL(json_array_size(left), 2);
    json_decref(left);
    left = strait_columns_where(columns, "/clients=8", &err);
    CU_ASSERT_EQUAL(json_array_size(left), 4);
    json_decref(left);
    CU_ASSERT_PTR_NULL(strait_columns_where(columns, "/network/client/rate=3 Gbps", &err));
    CU_ASSERT_STRING_EQUAL(err.text, "expected one of 1 Gbps, 2 Gbps, found \"3 Gbps\"");
    err = (struct strait_error){0};
    CU_ASSERT_PTR_NULL(strait_columns_where(columns, "/network/client/rat=3 Gbps", &err));
    CU_ASSERT_CONTAINS(err.text, "did you mean \"/network/client/rate\"?");
    err = (struct strait_error){0};
    CU_ASSERT_PTR_NULL(strait_columns_where(columns, "clients", &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
    json_decref(columns);
}

/* What ends so: of rows themselves first, then of settings, the first of several. */
static void endings(void)
{
    static const struct {
        const char *end, *found;
    } cases[] = {{"round_s", "/round_s"},
                 {"rtt", "/network/client/rtt"},
                 {"range", "/codec/bound/range"},
                 {"client/rtt", NULL},
                 {"tt", NULL},
                 {"rt", NULL},
                 {"", NULL}};
    json_t *columns = columns_of();
    char buf[STRAIT_JSON_POINTER_MAX];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("%s", cases[i].end);
        const bool found = strait_column_ending(buf, columns, cases[i].end);
        CU_ASSERT_EQUAL(found, cases[i].found != NULL);
        if (cases[i].found)
            CU_ASSERT_STRING_EQUAL(buf, cases[i].found);
    }
    json_decref(columns);
}

static const struct strait_test tests[] = {
    {"the last word of a pointer is enough", endings},
    {"settings are those of the resolved point", settings},
    {"numbers have their pointers, and the speed-up of the setting", numbers},
    {"filters take rows with a value, and tell the others", filters},
};
STRAIT_SUITE("analysis/columns/columns", tests);
