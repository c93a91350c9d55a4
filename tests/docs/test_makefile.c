/* `make help` is what the Makefile says of itself: within a terminal, and with no target left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/process.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* Steps of other targets, which nobody asks for by name. */
static bool is_a_step(const char *target)
{
    static const char *const steps[] = {"all",        "help",          "setup",     "programs",
                                        "tests-only", "test-threads",  "lint-only", "coverage-page",
                                        "FORCE",      "coverage-table"};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (strcmp(target, steps[i]) == 0)
            return true;
    return false;
}

static void help(void)
{
    static char out[1 << 14];
    const char *argv[] = {"make", "--no-print-directory", "-s", "-C", DATA(""), "help", NULL};
    struct strait_error err = {0};
    char *rest, named[128];
    size_t len_bytes;
    unsigned n = 0;
    CU_ASSERT_EQUAL_FATAL(strait_process_run(out, sizeof(out), argv, NULL, 60, &err), 0);
    for (const char *line = out; *line; line += strcspn(line, "\n"), line += *line == '\n')
        CU_ASSERT(strcspn(line, "\n") <= 80);
    char *makefile = folder_bytes("", DATA("Makefile"), &len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(makefile);
    for (char *line = strtok_r(makefile, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *word;
        if (strncmp(line, ".PHONY: ", 8) != 0)
            continue;
        for (char *t = strtok_r(line + 8, " ", &word); t; t = strtok_r(NULL, " ", &word)) {
            if (is_a_step(t))
                continue;
            snprintf(named, sizeof(named), "make %s", t);
            CU_ASSERT_CONTAINS(out, named);
            n++;
        }
    }
    CU_ASSERT(n > 40);
    free(makefile);
}

static const struct strait_test tests[] = {
    {"make help has 80 columns and names every target that is asked for", help},
};
STRAIT_SUITE("docs/makefile", tests);
