/* Points that train. */
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/suite.h"

static void live(void)
{
    golden_rows_of("live", "fluid");
    golden_rows_of("scored", "fluid");
}

static const struct strait_test tests[] = {
    {"rows of trained points are what they were", live},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_live", tests, .slow_s = 2, .release = true);
