/* What commands print of training until a target, of trade-offs, of tuning and of lists:
 * tests/golden/odd-screens.md. `make screens` writes it. */
#include <stdlib.h>

#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/pages/transcript.h"

static void screens(void)
{
    transcript_check(DATA("tests/golden/odd-screens.md"), "80", getenv("STRAIT_WRITE_SCREENS"));
}

static const struct strait_test tests[] = {
    {"commands print what tests/golden/odd-screens.md shows", screens},
};
STRAIT_SUITE_WITH("cli/odd_screens", tests, .release = true);
