/* What commands print, from the title of a table to the last column: tests/golden/screens.md,
 * which people read when it changes. `make screens` writes it. */
#include <stdlib.h>

#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/pages/transcript.h"

static void screens(void)
{
    transcript_check(DATA("tests/golden/screens.md"), "80", getenv("STRAIT_WRITE_SCREENS"));
}

static const struct strait_test tests[] = {
    {"commands print what tests/golden/screens.md shows", screens},
};
STRAIT_SUITE_WITH("cli/screens", tests, .release = true);
