/* Tests that fail on purpose, each in its way: what test_runner.c holds the runner against. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static void values(void)
{
    const size_t n = 7;
    strait_test_context("%s %s n=%zu seed=%d", "qsgd", "gradient", n, 3);
    printf("printed before the check\n");
    CU_ASSERT_EQUAL(n, 8);
    CU_ASSERT_EQUAL(-1, 4294967295u);
    CU_ASSERT_DOUBLE_EQUAL(0.1, 0.25, 0.125);
    CU_ASSERT_STRING_EQUAL("one\ntwo", "one\nto");
    CU_ASSERT_PTR_NULL("a");
    CU_ASSERT_AT_MOST(n, 6);
    CU_ASSERT(n > 9);
    CU_ASSERT_CONTAINS("a lot of text", "little");
}

__attribute__((noinline)) static void helper(int found)
{
    CU_ASSERT_EQUAL(found, 2);
}

static void in_a_helper(void)
{
    helper(2);
    helper(3); /* this line is named */
    helper(2);
}

static void in_a_fork(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        CU_ASSERT_EQUAL_FATAL(1, 2);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void skips(void)
{
    strait_test_skip("a cause");
}

static void passes(void)
{
    static int one = 1; /* evaluated once */
    CU_ASSERT_EQUAL(one++, 1);
    CU_ASSERT_EQUAL(one, 2);
}

static void crashes(void)
{
    printf("printed before the crash\n");
    raise(SIGKILL);
}

static const struct strait_test tests[] = {
    {"values", values}, {"helper", in_a_helper}, {"fork", in_a_fork}, {"skips", skips},
    {"passes", passes}, {"crashes", crashes},    {"follows", passes},
};
STRAIT_SUITE_WITH("kit/runner/samples", tests, .apart = true);
