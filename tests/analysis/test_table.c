/* Text tables: what is left out, what lines up, where lines break. */
#include "analysis/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"

static void expect(struct strait_table *t, const char *expected)
{
    char *text = NULL;
    size_t n_bytes;
    struct strait_error err = {0};
    FILE *out = open_memstream(&text, &n_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(strait_table_finish(t, out, &err), 0);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0)
        fprintf(stderr, "found\n%sexpected\n%s", text, expected);
    free(text);
}

static void row(struct strait_table *t, const char *a, const char *b, const char *c)
{
    strait_table_cell(t, a);
    strait_table_cell(t, b);
    strait_table_cell(t, c);
}

/* The middle column goes where it is 0 in every row, and stays with one other cell or no rows. */
static void omitted(void)
{
    for (int i = 0; i < 3; i++) {
        struct strait_table *t = strait_table_new();
        strait_table_column(t, "name", false);
        strait_table_column(t, "share %", true);
        strait_table_omit(t, "0");
        strait_table_column(t, "s", true);
        if (i < 2)
            row(t, "a", "0", "1.5");
        if (i < 2)
            row(t, "bb", i == 0 ? "0" : "<1", "0");
        expect(t, i == 0   ? "name    s\n"
                             "────  ───\n"
                             "a     1.5\n"
                             "bb      0\n"
                  : i == 1 ? "name  share %    s\n"
                             "────  ───────  ───\n"
                             "a           0  1.5\n"
                             "bb         <1    0\n"
                           : "name  share %  s\n"
                             "────  ───────  ─\n");
    }
}

/* Rules before a row but not the first, wide letters, words that are broken, empty cells at the
 * end. */
static void laid_out(void)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "a", false);
    strait_table_column(t, "b", false);
    strait_table_wrap(t, 7);
    strait_table_column(t, "c", true);
    strait_table_rule(t);
    row(t, "\u6f22", "two words more", "1");
    strait_table_rule(t);
    row(t, "x", NULL, "");
    expect(t, "a   b      c\n"
              "──  ─────  ─\n"
              "\u6f22  two    1\n"
              "    words\n"
              "    more\n"
              "──  ─────  ─\n"
              "x\n");
}

static const struct strait_test tests[] = {
    {"a column that says the same everywhere is left out where that is said", omitted},
    {"cells line up, break at blanks and end without any", laid_out},
};
STRAIT_SUITE("analysis/table", tests);
