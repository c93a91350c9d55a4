/* Wrong command lines: all other commands. */
#include "tests/kit/failing/bad_lines.h"
#include "tests/kit/suite.h"

static void lines(void)
{
    bad_lines_of("other.txt", 131);
}

static const struct strait_test tests[] = {
    {"each wrong command line gives its one line and its status", lines},
};
STRAIT_SUITE("cli/bad/bad_other", tests);
