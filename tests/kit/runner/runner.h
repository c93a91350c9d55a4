/* Runs suites in processes of their own, some at a time, each with a deadline. */
#pragma once
#include "results.h"

/* Of a suite that says nothing else: many times what any takes, for a machine that is busy. */
static const double DEADLINE_S = 1800;

struct strait_runner {
    const char *program; /* this one: runs one suite with --here */
    char **words;        /* parts of sentences; none: all tests of a suite run */
    int n_words;
    const struct strait_suite **suites; /* picked */
    unsigned n_suites;
    unsigned n_at_once;
    uint64_t seed;
    struct strait_suite_result *results; /* out: [n_suites], to be released */
    unsigned n_passed, n_failed, n_skipped;
};

/** Prints a line a suite as it ends, what failed, and on a terminal what runs. Suites that need the
 *  machine to themselves follow the others. Returns 0, or -1: interrupted, or a failure of this
 *  machine, which is printed. */
int strait_runner_run(struct strait_runner *r);
