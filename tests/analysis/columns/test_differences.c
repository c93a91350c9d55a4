/* Rows of two runs of one experiment, number by number. */
#include "analysis/columns/differences.h"
#include "tests/kit/suite.h"

static json_t *row(const char *point, const char *backend, int repeat, double round_s)
{
    return json_pack("{s:s, s:s, s:i, s:f, s:{s:f}, s:s, s:f, s:s, s:{s:i}, s:{s:s}}", "point",
                     point, "backend", backend, "repeat", repeat, "round_s", round_s, "path_s",
                     "compute", 0.5, "key", point, "wall_s", round_s, "profile", backend, "labels",
                     "/clients", 4, "codec", "name", "none");
}

/* Of four rows one is equal but for what is of the run, one has another number, one has lost a
 * part and gained another, one is gone; the later run has one more. */
static void compared(void)
{
    json_t *before = json_array(), *now = json_array();
    for (int i = 0; i < 4; i++) {
        static const char *const points[] = {"a", "b", "c", "d"};
        json_array_append_new(before, row(points[i], "sim", 0, 1));
        json_array_append_new(now, row(points[i], i == 3 ? "fluid" : "sim", 0, 1));
    }
    json_object_set_new(json_array_get(now, 0), "wall_s", json_real(9));
    json_object_set_new(json_array_get(now, 0), "key", json_string("other"));
    json_object_set_new(json_array_get(now, 0), "stored", json_true());
    json_object_set_new(json_array_get(now, 1), "round_s", json_real(1.5));
    json_object_del(json_array_get(now, 2), "round_s");
    json_object_set_new(json_object_get(json_array_get(now, 2), "path_s"), "wait", json_real(2));
    json_array_append_new(now, row("a", "sim", 1, 7)); /* a repeat has a place of its own */
    json_t *found = strait_differences(before, now);
    json_t *expected =
        json_pack("{s:i, s:i, s:[{s:i}], s:i, s:[{s:s,s:{s:i},s:s,s:s,s:f,s:f}, "
                  "{s:s,s:{s:i},s:s,s:s,s:f}, {s:s,s:{s:i},s:s,s:s,s:f}]}",
                  "rows", 4, "equal", 1, "missing", "/clients", 4, "added", 2, "differences",
                  "backend", "sim", "labels", "/clients", 4, "codec", "none", "pointer", "/round_s",
                  "before", 1.0, "now", 1.5, "backend", "sim", "labels", "/clients", 4, "codec",
                  "none", "pointer", "/round_s", "before", 1.0, "backend", "sim", "labels",
                  "/clients", 4, "codec", "none", "pointer", "/path_s/wait", "now", 2.0);
    char *text = json_dumps(found, JSON_SORT_KEYS), *wanted = json_dumps(expected, JSON_SORT_KEYS);
    CU_ASSERT_STRING_EQUAL(text, wanted);
    free(text);
    free(wanted);
    json_decref(expected);
    json_decref(found);
    json_decref(before);
    json_decref(now);
}

static const struct strait_test tests[] = {
    {"rows are equal, differ at pointers, are missing or new", compared},
};
STRAIT_SUITE("analysis/columns/differences", tests);
