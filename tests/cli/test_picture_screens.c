/* What strait plot tells gnuplot: tests/golden/picture-screens.md. `make screens` writes it. */
#include <stdlib.h>

#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/pages/transcript.h"

static void screens(void)
{
    transcript_check(DATA("tests/golden/picture-screens.md"), "80", getenv("STRAIT_WRITE_SCREENS"));
}

static const struct strait_test tests[] = {
    {"commands print what tests/golden/picture-screens.md shows", screens},
};
STRAIT_SUITE_WITH("cli/picture_screens", tests, .release = true);
