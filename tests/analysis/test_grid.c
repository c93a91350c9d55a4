/* Which rows a table or a curve is made of. */
#include <string.h>
#include "analysis/grid.h"
#include "tests/kit/suite.h"

static json_t *row(const char *key, const char *backend, const char *control, const char *profile)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:s?, s:s}", "record", "row", "key", key, "backend",
                     backend, "valid", 1, "control", control, "profile", profile);
}

/* The keys of what is selected, one after the other. */
static void selected(const json_t *records, const char *backend, const char *control,
                     const char *expected)
{
    char keys[32] = "";
    json_t *rows = strait_rows_select(records, backend, control), *found;
    size_t i;
    json_array_foreach (rows, i, found)
        strcat(keys, json_string_value(json_object_get(found, "key")));
    CU_ASSERT_STRING_EQUAL(keys, expected);
    json_decref(rows);
}

static void rows(void)
{
    json_t *records = json_array();
    json_array_append_new(records, row("a", "emu", NULL, "p"));
    json_array_append_new(records, row("b", "fluid", NULL, "old"));
    json_array_append_new(records, row("c", "fluid", NULL, "p"));
    json_array_append_new(records, row("d", "sim", NULL, "p"));
    json_array_append_new(records, row("e", "fluid", "no-ramp", "p"));
    json_array_append_new(records, row("f", "fluid", NULL, "p"));
    json_t *other = row("g", "fluid", NULL, "other");
    json_object_set_new(other, "record", json_string("link"));
    json_array_append_new(records, other);
    selected(records, "", NULL, "cf"); /* the first that was predicted; of the last one's profile */
    selected(records, "sim", NULL, "d");
    selected(records, "emu", NULL, "a");
    selected(records, "", "no-ramp", "e");
    selected(records, "", "no-queue", "");
    json_object_set_new(json_array_get(records, 1), "valid", json_false());
    json_object_set_new(json_array_get(records, 2), "valid", json_false());
    selected(records, "", NULL, "d"); /* the first that is valid */
    json_decref(records);
    records = json_array(); /* nothing was predicted: what was measured, last */
    json_array_append_new(records, row("a", "emu", NULL, "p"));
    json_array_append_new(records, row("b", "mpi", NULL, "p"));
    selected(records, "", NULL, "b");
    json_decref(records);
}

/* Of records with the same keys the last one. */
static void break_even(void)
{
    struct strait_grid_setting settings[] = {{.key = "s"}, {.key = "t"}};
    struct strait_grid_codec codecs[] = {{.key = "c"}, {.key = "d"}};
    const struct strait_grid g = {
        .settings = settings, .n_settings = 2, .codecs = codecs, .n_codecs = 2};
    json_t *records =
        json_pack("[{s:s, s:s, s:i}, {s:s, s:s, s:i}, {s:s, s:s, s:i}]", "setting_key", "s",
                  "codec_key", "d", "n", 1, "setting_key", "s", "codec_key", "d", "n", 2,
                  "setting_key", "t", "codec_key", "c", "n", 3);
    CU_ASSERT_PTR_EQUAL(strait_grid_breakeven(&g, 0, 1, records), json_array_get(records, 1));
    CU_ASSERT_PTR_EQUAL(strait_grid_breakeven(&g, 1, 0, records), json_array_get(records, 2));
    CU_ASSERT_PTR_NULL(strait_grid_breakeven(&g, 0, 0, records));
    json_decref(records);
}

static const struct strait_test tests[] = {
    {"rows are of one backend, control and profile", rows},
    {"the last break-even of a setting and codec counts", break_even},
};
STRAIT_SUITE("analysis/grid", tests);
