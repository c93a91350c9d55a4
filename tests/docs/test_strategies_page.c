/* docs/adding-a-strategy.md names, for every strategy, the suites that compare it with closed forms
 * and the experiments that show its point: each is there and has the strategy in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"
#include "workloads/ask/strategy.h"

enum { SUITES = 1, EXPERIMENTS, N_CELLS };

/* A file of the source tree; NULL: there is none. */
static char *text_at(const char *path)
{
    char whole[4400];
    size_t len_bytes;
    snprintf(whole, sizeof(whole), "%s/%s", DATA(""), path);
    return folder_bytes("", whole, &len_bytes);
}

/* `sync/ddp` is tests/workloads/train/sync/test_ddp.c, `dear` experiments/dear.json. */
static void check_file(int cell, const char *name, const char *strategy)
{
    const char *slash = strchr(name, '/');
    char path[300], quoted[80];
    if (cell == SUITES)
        snprintf(path, sizeof(path), "tests/workloads/train/%.*s/test_%s.c",
                 slash ? (int)(slash - name) : 0, name, slash ? slash + 1 : name);
    else
        snprintf(path, sizeof(path), "experiments/%s.json", name);
    snprintf(quoted, sizeof(quoted), "%s\"", strategy);
    strait_test_context("%s: %s", strategy, path);
    char *text = text_at(path);
    CU_ASSERT_PTR_NOT_NULL(text);
    if (text) {
        for (char *c = text; (c = strstr(c, "\\\"")) != NULL;) /* JSON in a string of C */
            memmove(c, c + 1, strlen(c));
        CU_ASSERT_CONTAINS(text, quoted);
    }
    free(text);
}

static void check_row(char *row, const char *strategy)
{
    int cell = 0;
    for (char *text; cell < N_CELLS && (text = strsep(&row, "|")); cell++) {
        unsigned n = 0;
        for (char *name, *open = text; cell > 0 && (open = strchr(open, '`')) != NULL; n++) {
            name = open + 1;
            open = strchr(name, '`');
            CU_ASSERT_PTR_NOT_NULL_FATAL(open);
            *open++ = '\0';
            check_file(cell, name, strategy);
        }
        CU_ASSERT(cell == 0 || n > 0);
    }
    CU_ASSERT_EQUAL(cell, N_CELLS);
}

static void every_strategy(void)
{
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    char *page = text_at("docs/adding-a-strategy.md");
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    for (size_t i = 0; i < n; i++) {
        char head[80];
        snprintf(head, sizeof(head), "\n| `%s` |", all[i]->name);
        strait_test_context("%s", all[i]->name);
        char *row = strstr(page, head);
        CU_ASSERT_PTR_NOT_NULL(row);
        if (row) {
            char *copy = strndup(row + 3, strcspn(row + 3, "\n"));
            check_row(copy, all[i]->name);
            free(copy);
        }
    }
    strait_test_context("%s", "");
    free(page);
}

static const struct strait_test tests[] = {
    {"every strategy has suites and experiments on its page, and they have it", every_strategy},
};
STRAIT_SUITE("docs/strategies_page", tests);
