/* Codecs. */
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/suite.h"

static void codecs(void)
{
    golden_rows_of("codecs", "fluid");
}

static const struct strait_test tests[] = {
    {"rows of codecs are what they were", codecs},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_codecs", tests, .slow_s = 2, .release = true);
