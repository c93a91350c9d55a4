/* The table of claims with both their halves, of claims made up here. */
#include <jansson.h>
#include "analysis/table.h"
#include "campaign/published/claims.h"
#include "shown.h"

static void all_kinds(void)
{
    static const char given[] =
        "[{\"case\": \"dear\", \"claim\": \"faster\", \"kind\": \"at least\", \"published\": 1.5,"
        "  \"unit\": \"times\", \"ours\": 1.89123, \"interval\": [1.7249, 2.0451],"
        "  \"first\": \"reached\", \"verdict\": \"reached\", \"source\": \"page 3\","
        "  \"setting\": \"dear\", \"accuracy\": {\"state\": \"kept\", \"difference\": -0.00123,"
        "  \"interval\": [-0.009, 0.0071], \"seeds\": 5, \"task\": \"fashion\", \"codec\": \"sz\","
        "  \"command\": \"strait run fashion\"}, \"commands\": [\"not shown\"]},"
        " {\"case\": \"dgc\", \"claim\": \"smaller\", \"kind\": \"figure\", \"published\": 300,"
        "  \"unit\": \"times\", \"ours\": 63, \"first\": \"not reached\", \"verdict\":"
        "  \"not reached\", \"source\": \"page 7\", \"reason\": \"momentum\", \"accuracy\":"
        "  {\"state\": \"not measured\"}, \"commands\": [\"strait a\", \"strait b\"]},"
        " {\"case\": \"x\", \"claim\": \"third\", \"kind\": \"at most\", \"published\": 0.25,"
        "  \"unit\": \"s\", \"ours\": null, \"first\": \"-\", \"verdict\": \"not measured here\","
        "  \"reason\": \"no such data\", \"source\": \"page 9\", \"accuracy\":"
        "  {\"state\": \"lost\"}}]";
    struct strait_error err = {0};
    json_t *claims = json_loads(given, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(claims);
    FILE *f = begin();
    strait_table_wide = true;
    CU_ASSERT_EQUAL(strait_show_claims(f, claims, &err), 0);
    strait_table_wide = false;
    const char *const shown = end(f);
    CU_ASSERT_CONTAINS(shown, "system claim published unit ours this half accuracy both\n");
    CU_ASSERT_CONTAINS(shown, "\n1 dear faster at least 1.500 times 1.891 [1.725, 2.045] reached "
                              "kept: -0.12 [-0.90, +0.71] points, 5 seeds, fashion, sz reached\n"
                              "2 dgc smaller 300.0 times 63.00 not reached not measured not "
                              "reached\n"
                              "3 x third at most 0.2500 s - - lost not measured here: no such "
                              "data\n");
    CU_ASSERT_CONTAINS(shown, "seeds.\n\n"
                              "1 faster: page 3\nstrait run dear -on fluid\nstrait run fashion\n"
                              "2 smaller: page 7\nstrait a\nstrait b\nmomentum\n"
                              "3 third: page 9\nno such data\n");
    json_decref(claims);
}

static const struct strait_test tests[] = {
    {"both halves of a claim, its source and why not", all_kinds},
};
STRAIT_SUITE("cli/show/show_claims", tests);
