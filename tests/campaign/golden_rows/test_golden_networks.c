/* Odd networks. */
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/suite.h"

static void networks(void)
{
    golden_rows_of("networks", "fluid");
    golden_rows_of("networks", "sim");
}

static const struct strait_test tests[] = {
    {"rows of odd networks are what they were", networks},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_networks", tests, .slow_s = 2, .release = true);
