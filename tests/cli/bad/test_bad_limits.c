/* Wrong command lines: values at limits and beyond, options that exclude each other. */
#include "tests/kit/failing/bad_lines.h"
#include "tests/kit/suite.h"

static void lines(void)
{
    bad_lines_of("limits.txt", 70);
}

static const struct strait_test tests[] = {
    {"each wrong command line gives its one line and its status", lines},
};
STRAIT_SUITE("cli/bad/bad_limits", tests);
