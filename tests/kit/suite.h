/* One test file declares one suite; tests/kit/main.c runs them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "check.h"

/* Under a sanitizer, which looks at what code touches and not at values: fewer of them will do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

struct strait_test {
    const char *sentence; /* what holds: "a bare number is an error" */
    void (*run)(void);
};
struct strait_suite {
    const char *name; /* the path of the file below tests/, without test_: "core/units" */
    const char *file;
    const struct strait_test *tests;
    unsigned n_tests;
    const void *data;  /* what suites that share their tests differ in: strait_suite_data */
    double deadline_s; /* for all of its tests; 0: DEADLINE_S of runner.h */
    bool alone;        /* needs the machine to itself: runs after the others */
    unsigned slow_s;   /* about how long it takes, on two cores; above 0: not in make test-quick */
    bool release;      /* measures, or checks figures alone: not under sanitizers */
    bool threads;      /* has threads that share memory: also under ThreadSanitizer */
    bool apart;        /* runs only where it is named in full */
};
/* STRAIT_TEST is the file's name without ".c", by the compiler's command line: one program holds
 * all suites, and build/tests/suites.c lists them. */
#ifndef STRAIT_TEST
#define STRAIT_TEST strait_suite_of_no_file
#endif
#define STRAIT_SUITE_WITH(path, list, ...)                                                         \
    extern const struct strait_suite STRAIT_TEST;                                                  \
    const struct strait_suite STRAIT_TEST = {.name = path,                                         \
                                             .file = __FILE__,                                     \
                                             .tests = list,                                        \
                                             .n_tests = sizeof(list) / sizeof((list)[0]),          \
                                             __VA_ARGS__}
#define STRAIT_SUITE(path, list) STRAIT_SUITE_WITH(path, list, .data = NULL)

/** Count the running test as skipped, with the reason; it goes on. */
void strait_test_skip(const char *reason);
/** The running test leaves so many descriptors open, which else fails it: those of a rank that ends
 *  with its process. */
void strait_test_may_leave(int n_descriptors);
/** SEED=N of make test, else 1: what a test draws beside its fixed cases. Failures name it. */
uint64_t strait_test_seed(void);
/** The running suite's data. */
const void *strait_suite_data(void);
/** argv of a program that runs tests of a suite whose sentences have these words, in itself, and
 *  ends with "N passed, N failed, N skipped": this program, for tests that run others in a guest.
 *  argv has room for 4 + n_words + 1; path for PATH_MAX, both live as long as argv. */
void strait_suite_argv(const char **argv, char *path, const char *name, const char *const words[],
                       int n_words);

/* A fatal assertion that fails does not come back: for the analyzer of make lint. */
#ifdef __clang_analyzer__
_Noreturn void abort(void);
#define CU_assertImplementation(value, line, text, file, function, fatal)                          \
    ((value) || !(fatal) ? CU_TRUE : (abort(), CU_FALSE))
#endif
