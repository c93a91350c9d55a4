/* Points that train, whose strategy, settings, optimiser, codec and network were drawn. */
#include "tests/kit/pages/golden_points.h"
#include "tests/kit/suite.h"

static void trained(void)
{
    golden_points_of("trained");
}

static const struct strait_test tests[] = {
    {"drawn points that train have the rows, or are refused with the words, that they had",
     trained},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_trained", tests, .slow_s = 2, .release = true);
