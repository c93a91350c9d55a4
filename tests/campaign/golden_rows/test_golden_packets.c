/* Networks packet by packet. */
#include "tests/kit/pages/golden_rows.h"
#include "tests/kit/suite.h"

/* Losses, queues, jitter, rates that change and other traffic, under each congestion control. Packets
 * take the same code on both backends: sim's rows of them are those of "networks". */
static void packets(void)
{
    golden_rows_of("packets", "fluid");
    golden_rows_of("noisy", "fluid");
}

static const struct strait_test tests[] = {
    {"rows of networks that are simulated packet by packet stay as they are", packets},
};
STRAIT_SUITE_WITH("campaign/golden_rows/golden_packets", tests, .slow_s = 2, .release = true);
