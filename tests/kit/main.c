/* Runs the suite of one test file and ends with one plain line: N passed, N failed, N skipped. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <CUnit/Basic.h>
#include "suite.h"

static unsigned n_skipped; /* this program is one suite: its counters live as long as it does */
static const struct strait_test *running;

void strait_test_skip(const char *reason)
{
    n_skipped++;
    fprintf(stderr, "skipped: %s: %s: %s\n", strait_suite.name, running->sentence, reason);
}

static void started(const CU_pTest test, const CU_pSuite suite)
{
    (void)suite;
    for (unsigned i = 0; i < strait_suite.n_tests; i++)
        if (strcmp(strait_suite.tests[i].sentence, test->pName) == 0)
            running = &strait_suite.tests[i];
}

static void ended(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failure)
{
    (void)suite;
    printf("%s %s: %s\n", failure ? "not ok" : "ok", strait_suite.name, test->pName);
    for (const CU_FailureRecord *f = failure; f; f = f->pNext)
        printf("    %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
    fflush(stdout);
}

/* Arguments pick tests by parts of their sentences. */
static bool is_picked(const char *sentence, int argc, char **argv)
{
    bool picked = argc < 2;
    for (int i = 1; i < argc; i++)
        picked |= strstr(sentence, argv[i]) != NULL;
    return picked;
}

int main(int argc, char **argv)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return EXIT_FAILURE;
    CU_pSuite suite = CU_add_suite(strait_suite.name, NULL, NULL);
    for (unsigned i = 0; i < strait_suite.n_tests; i++)
        if (is_picked(strait_suite.tests[i].sentence, argc, argv))
            CU_add_test(suite, strait_suite.tests[i].sentence, strait_suite.tests[i].run);
    CU_set_test_start_handler(started);
    CU_set_test_complete_handler(ended);
    CU_run_all_tests();
    /* CU_get_error() stays 0 after a failed assertion: count the failures. */
    const unsigned n_failed = CU_get_number_of_tests_failed();
    const unsigned n_run = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    printf("%u passed, %u failed, %u skipped\n", n_run - n_failed - n_skipped, n_failed, n_skipped);
    return n_failed > 0 || n_run == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
