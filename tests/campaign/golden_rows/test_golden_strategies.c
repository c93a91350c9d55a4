/* All strategies, with settings that are not the defaults. */
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/suite.h"

static void strategies(void)
{
    golden_rows_of("strategies", "fluid");
    golden_rows_of("strategies", "sim");
}

static const struct strait_test tests[] = {
    {"rows of all strategies with other settings are what they were", strategies},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_strategies", tests, .slow_s = 2, .release = true);
