/* The answers to the plans that ship, whole: some seconds each, minutes under a sanitizer, whose
 * suites have smaller plans. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/table.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

/* Lines of text, each of at most 80 columns. */
static size_t n_lines_of(const char *text)
{
    size_t n = 0;
    for (const char *end; (end = strchr(text, '\n')); text = end + 1, n++) {
        char line[1024];
        CU_ASSERT_FATAL(end - text < (ptrdiff_t)sizeof(line));
        snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
        CU_ASSERT_AT_MOST(strait_text_width(line), 80);
    }
    return n;
}

static void on_one_screen(void)
{
    static const char *const plans[] = {"accuracy", "sites", "wan"}, *const parts[] = {
                                                                         "Take ",
                                                                         "What limits it: ",
                                                                         "What it rests on: ",
                                                                         "The best 5, all with ",
                                                                         "what to buy next",
                                                                         "Left of the busiest: ",
                                                                         "The codec pays: ",
                                                                         "on the front"};
    struct program p;
    program_set_up(&p);
    setenv("COLUMNS", "80", 1);
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        strait_test_context("%s", plans[i]);
        struct said s = PROGRAM_CALL(&p, "plan", plans[i]);
        CU_ASSERT_AT_MOST(n_lines_of(s.out), 40);
        for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
            CU_ASSERT_CONTAINS(s.out, parts[k]);
        said_release(&s);
    }
    unsetenv("COLUMNS");
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"the answer to each plan that ships fits 40 lines of 80 columns", on_one_screen},
};
STRAIT_SUITE_WITH("cli/shipped_plans", tests, .slow_s = 10, .release = true);
