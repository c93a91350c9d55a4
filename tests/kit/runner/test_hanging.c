/* A test that hangs on purpose, for test_runner.c: alone with its deadline, which so cuts no other
 * test short on a busy machine. */
#include <stdio.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static void hangs(void)
{
    for (;;)
        pause();
}

static const struct strait_test tests[] = {{"hangs", hangs}};
STRAIT_SUITE_WITH("kit/runner/hanging", tests, .apart = true, .deadline_s = 0.5);
