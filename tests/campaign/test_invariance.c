/* An emulated point and the same at twice the dilation: what the row says of the two. */
#include "campaign/invariance.h"
#include <stdio.h>
#include <string.h>
#include "tests/kit/suite.h"

static json_t *json(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    return value;
}

/* At dilation 4, and again at 8. */
static void comparisons(void)
{
    static const struct {
        const char *rounds, *again;
        bool valid;                             /* the second */
        const char *median, *relative, *reason; /* NULL: still valid */
    } cases[] = {
        {"1, 2, 4", "2.03, 1, 9", true, "2.03", "0.015", NULL},
        {"4, 1, 2", "1.97, 1, 9", true, "1.97", "-0.015", NULL},
        {"1, 3", "2.0625", true, "2.0625", "0.03125",
         "a median round took 2 s at dilation 4 and 2.062 s at 8, expected at most 2 % between "
         "them"},                                                 /* of two the mean */
        {"5, 1, 3, 2", "2.4, 2.6, 1, 9", true, "2.5", "0", NULL}, /* of four that of the middle */
        {"2", "1.9375", true, "1.9375", "-0.03125",
         "a median round took 2 s at dilation 4 and 1.938 s at 8, expected at most 2 % between "
         "them"},
        {"2", "2", false, "2", "0", "the check at dilation 8 was invalid itself: too late"},
        {"2", "", true, "null", "null",
         "a median round took 2 s at dilation 4 and nan s at 8, expected at most 2 % between "
         "them"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        strait_test_context("case %zu", i);
        snprintf(text, sizeof(text),
                 "{\"rounds_s\": [%s], \"valid\": true, \"invalid\": [], \"report\": "
                 "{\"dilation\": 4}}",
                 cases[i].rounds);
        json_t *row = json(text);
        snprintf(text, sizeof(text), "{\"rounds_s\": [%s], \"valid\": %s, \"invalid\": [%s]}",
                 cases[i].again, cases[i].valid ? "true" : "false",
                 cases[i].valid ? "" : "\"too late\", \"and more\"");
        json_t *again = json(text);
        strait_invariance_note(row, again);
        const json_t *note = json_object_get(row, "invariance");
        snprintf(text, sizeof(text), "[%s, %s]", cases[i].median, cases[i].relative);
        json_t *expected = json(text);
        for (size_t v = 0; v < 2; v++) {
            const json_t *found = json_object_get(note, v == 0 ? "round_s" : "relative"),
                         *wanted = json_array_get(expected, v);
            CU_ASSERT_EQUAL(json_is_null(found), json_is_null(wanted));
            CU_ASSERT_DOUBLE_EQUAL(json_number_value(found), json_number_value(wanted), 1e-9);
        }
        CU_ASSERT_EQUAL(json_number_value(json_object_get(note, "dilation")), 8);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(note, "valid")), cases[i].valid);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(row, "valid")), cases[i].reason == NULL);
        const json_t *reasons = json_object_get(row, "invalid");
        CU_ASSERT_EQUAL(json_array_size(reasons), cases[i].reason ? 1 : 0);
        if (cases[i].reason)
            CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(reasons, 0)), cases[i].reason);
        json_decref(expected);
        json_decref(again);
        json_decref(row);
    }
}

static const struct strait_test tests[] = {
    {"rounds that take another time at twice the dilation are INVALID", comparisons},
};
STRAIT_SUITE("campaign/invariance", tests);
