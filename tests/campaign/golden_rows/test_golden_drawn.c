/* Points whose strategy, settings, codec and network were drawn: what they have in common with one
 * another is chance, so they meet what a list of single settings does not. */
#include "tests/kit/pages/golden_points.h"
#include "tests/kit/suite.h"

static void drawn(void)
{
    golden_points_of("drawn");
}

static const struct strait_test tests[] = {
    {"drawn points have the rows, or are refused with the words, that they had", drawn},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_drawn", tests, .slow_s = 2, .release = true);
