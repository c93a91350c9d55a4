/* What commands print of networks with sites, traces, shards, codecs and more:
 * tests/golden/more-screens.md. `make screens` writes it. */
#include <stdlib.h>

#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/pages/transcript.h"

static void screens(void)
{
    transcript_check(DATA("tests/golden/more-screens.md"), "80", getenv("STRAIT_WRITE_SCREENS"));
}

static const struct strait_test tests[] = {
    {"commands print what tests/golden/more-screens.md shows", screens},
};
STRAIT_SUITE_WITH("cli/more_screens", tests, .release = true);
