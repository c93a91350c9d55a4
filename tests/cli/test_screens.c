/* What commands print, from the title of a table to the last column: tests/golden/screens.md
 * and more-screens.md, which people read when they change. `make screens` writes both. */
#include <stdlib.h>

#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/pages/transcript.h"

static void screens(void)
{
    transcript_check(DATA("tests/golden/screens.md"), "80", getenv("STRAIT_WRITE_SCREENS"));
}

static void more(void)
{
    transcript_check(DATA("tests/golden/more-screens.md"), "80", getenv("STRAIT_WRITE_SCREENS"));
}

static const struct strait_test tests[] = {
    {"commands print what tests/golden/screens.md shows", screens},
    {"commands print what tests/golden/more-screens.md shows", more},
};
STRAIT_SUITE_WITH("cli/screens", tests, .release = true);
