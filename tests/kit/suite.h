/* One test file declares one suite; tests/main.c runs it. */
#pragma once
#include <CUnit/CUnit.h>

struct strait_test {
    const char *sentence; /* what holds: "a bare number is an error" */
    void (*run)(void);
};
struct strait_suite {
    const char *name; /* the path of the file that it mirrors: "core/units" */
    const struct strait_test *tests;
    unsigned n_tests;
};
extern const struct strait_suite strait_suite;
#define STRAIT_SUITE(path, list)                                                                   \
    const struct strait_suite strait_suite = {path, list, sizeof(list) / sizeof((list)[0])}
/** Count the running test as skipped, with the reason on stderr; it goes on. */
void strait_test_skip(const char *reason);
