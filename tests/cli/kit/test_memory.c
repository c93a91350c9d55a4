/* What cannot say that memory ran out ends the program: with one line, and status 1. */
#include "cli/kit/memory.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/failing/scarce.h"
#include "tests/kit/suite.h"

static void pointer(void)
{
    strait_or_end(NULL);
}

/* Its first allocation fails, and the second one would not. */
static void value(void)
{
    strait_json_or_end();
    strait_scarce_begin(0);
    json_decref(json_integer(1));
    strait_scarce_end();
}

static void table(void)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "a", false);
    strait_scarce_begin(0);
    strait_table_cell(t, "text");
    strait_scarce_end();
    strait_show_table(t);
}

static void nothing(void)
{
    static const char text[] = "x";
    strait_json_or_end();
    json_t *all = json_pack("{s:[], s:s}", "none", "empty", "");
    if (strait_or_end((void *)(uintptr_t)text) != text || json_object_size(all) != 2)
        _exit(3);
    json_decref(all);
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "a", false);
    strait_show_table(t);
}

static void ends(void)
{
    static const struct {
        void (*run)(void);
        int status;
        const char *said;
    } cases[] = {{pointer, 1, "strait: memory ran out\n"},
                 {value, 1, "strait: memory ran out\n"},
                 {table, 1, "strait: memory ran out\n"},
                 {nothing, 0, ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char said[128] = "";
        int status = -1;
        const int fd = memfd_create("said", MFD_CLOEXEC);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            if (dup2(fd, STDERR_FILENO) < 0)
                _exit(4);
            cases[i].run();
            _exit(0);
        }
        CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
        strait_test_context("case %zu", i);
        CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == cases[i].status);
        CU_ASSERT(pread(fd, said, sizeof(said) - 1, 0) >= 0);
        CU_ASSERT_STRING_EQUAL(said, cases[i].said);
        close(fd);
    }
}

static const struct strait_test tests[] = {
    {"memory that runs out ends the program, where nothing else is possible", ends},
};
STRAIT_SUITE("cli/kit/memory", tests);
