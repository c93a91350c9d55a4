/* Fields of CSV as RFC 4180 (section 2) has them. */
#include <stdlib.h>
#include "analysis/columns/csv_fields.h"
#include "tests/kit/suite.h"

static void field(json_t *value, const char *expected)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    strait_csv_put(out, value);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
    json_decref(value);
}

static void texts(void)
{
    field(json_string("1 Gbps"), "1 Gbps");
    field(json_string("a,b"), "\"a,b\"");
    field(json_string("say \"no\""), "\"say \"\"no\"\"\"");
    field(json_string("the \"narrow\" link"), "\"the \"\"narrow\"\" link\"");
    field(json_string("\""), "\"\"\"\"");
    field(json_pack("[s]", "a"), "\"[\"\"a\"\"]\"");
    field(json_string("two\nlines"), "\"two\nlines\"");
    field(json_string(""), "");
}

/* 0.1 is one tenth in 15 digits; 0.1 + 0.2 is another number than 0.3 and needs 17. */
static void numbers(void)
{
    field(json_integer(64), "64");
    field(json_real(0.1), "0.1");
    field(json_real(0.1 + 0.2), "0.30000000000000004");
    field(json_real(1e-300), "1e-300");
    field(json_null(), "");
    field(json_true(), "true");
    field(json_pack("[i, f]", 1, 2.5), "\"[1,2.5]\"");
}

static const struct strait_test tests[] = {
    {"texts are quoted where they have to be", texts},
    {"numbers read back as they were", numbers},
};
STRAIT_SUITE("analysis/columns/csv_fields", tests);
