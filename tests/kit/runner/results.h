/* What became of a suite: from the lines that its process appended to its file of events.
 *
 *     picked 7              so many tests are to run
 *     begin 3 1200          test 3 of the suite begins; its output starts at byte 1200 of the log
 *     skipped 3 why
 *     ok 3 1310 0.250       or "failed ..."; its output ends there, it took 0.25 s
 *     done                  all that were picked have run
 */
#pragma once
#include <stdio.h>
#include "tests/kit/suite.h"

struct strait_test_result {
    enum { STRAIT_NOT_RUN, STRAIT_RUNS, STRAIT_PASSED, STRAIT_FAILED, STRAIT_SKIPPED } end;
    long begin_bytes, end_bytes; /* its part of the log */
    double took_s;
    char why[256]; /* it was skipped */
};
struct strait_suite_result {
    const struct strait_suite *suite;
    struct strait_test_result *tests; /* [suite->n_tests]; NOT_RUN: not picked, or cut off */
    unsigned n_picked, n_passed, n_failed, n_skipped;
    double took_s, cpu_s; /* cpu_s: its processes, as far as it waited for them */
    char *log;            /* all that it printed, NUL-terminated */
    size_t n_log_bytes;
    char cut[128]; /* why the process ended before its time; "": it did not */
};

/** Read both files into a result whose suite and cut are set. Returns 0, or -1 when memory or a
 * file is missing. */
int strait_result_read(struct strait_suite_result *r, const char *events, const char *log);
void strait_result_release(struct strait_suite_result *r);
/** Its line; then why tests were skipped, and all that failed tests printed. */
void strait_result_print(FILE *f, const struct strait_suite_result *r, uint64_t seed);
/** All results as JUnit's XML. Returns 0, or -1: the file cannot be written. */
int strait_results_junit(const char *path, const struct strait_suite_result *results,
                         unsigned n_results);
