/* One suite in this process, as the runner starts it, a guest or a debugger. */
#pragma once
#include "tests/kit/suite.h"

/** Run the tests that are picked, with CUnit; prints "ok" and "not ok" lines and at the end "N
 *  passed, N failed, N skipped".
 *  In:      words   parts of sentences; none: all tests
 *           events  a file to which is said which test begins and ends, NULL for none (results.h)
 *           first   the first check that fails ends this process (SIGKILL)
 *  Returns: the exit status */
int strait_suite_run(const struct strait_suite *suite, char **words, int n_words,
                     const char *events, bool first);
bool strait_suite_picks(const char *sentence, char **words, int n_words);

/* For check.c: a test begins; a check failed, perhaps in a process that the test forked. */
void strait_check_begin(void);
void strait_suite_fail(const struct strait_check *c);
