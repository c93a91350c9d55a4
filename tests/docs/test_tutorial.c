/* docs/tutorial.md is what a reader sees who types it. `make tutorial` writes it. */
#include <stdlib.h>

#include "tests/kit/data.h"
#include "tests/kit/suite.h"
#include "tests/kit/pages/transcript.h"

static void tutorial(void)
{
    transcript_check(DATA("docs/tutorial.md"), "100", getenv("STRAIT_WRITE_TUTORIAL"));
}

static const struct strait_test tests[] = {
    {"the tutorial's commands say what its page shows", tutorial},
};
STRAIT_SUITE_WITH("docs/tutorial", tests, .release = true);
