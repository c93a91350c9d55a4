/* The arrows between folders, from what the compiler says each object includes. */
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/suite.h"

/* A folder may include itself and what stands before it; sim and emu never see each other. */
static const char *const folders[] = {"core", "codecs",   "traces",   "workloads", "sim",
                                      "emu",  "analysis", "campaign", "cli"};
enum { N_FOLDERS = sizeof(folders) / sizeof(folders[0]), SIM = 4, EMU, ANALYSIS };

static int folder_of(const char *path)
{
    for (int i = 0; i < N_FOLDERS; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 && path[strlen(folders[i])] == '/')
            return i;
    return -1;
}

static bool may_include(int from, int to)
{
    if (from == to)
        return true;
    if (from == EMU || from == ANALYSIS) /* analysis: rows and logs, not backends */
        return to < SIM;
    return to < from;
}

/* "codecs/../core/error.h" is core/error.h. */
static void normalise(char *path)
{
    for (char *up; (up = strstr(path, "/../")) && up > path;) {
        char *start = up;
        while (start > path && start[-1] != '/')
            start--;
        memmove(start, up + 4, strlen(up + 4) + 1);
    }
}

static void arrows(void)
{
    const char *bin = getenv("STRAIT_BIN");
    char build[512], pattern[600], *slash;
    unsigned n_files = 0, n_includes = 0, n_simgrid = 0;
    snprintf(build, sizeof(build), "%s", bin ? bin : "build/strait");
    if ((slash = strrchr(build, '/')))
        *slash = '\0';
    for (int from = 0; from < N_FOLDERS; from++) {
        glob_t g = {0};
        snprintf(pattern, sizeof(pattern), "%s/%s/*.d", build, folders[from]);
        glob(pattern, 0, NULL, &g);
        for (int depth = 1; depth < 3; depth++) {
            snprintf(pattern, sizeof(pattern), "%s/%s/%s*.d", build, folders[from],
                     depth == 1 ? "*/" : "*/*/");
            glob(pattern, GLOB_APPEND, NULL, &g);
        }
        for (size_t i = 0; i < g.gl_pathc; i++) {
            char word[1024];
            FILE *f = fopen(g.gl_pathv[i], "r");
            CU_ASSERT_PTR_NOT_NULL_FATAL(f);
            /* "build/core/error.o: core/error.c ...": a file that has moved left its .d behind */
            if (fscanf(f, "%*s %1023s", word) != 1 || access(word, R_OK) != 0) {
                fclose(f);
                continue;
            }
            n_files++;
            while (fscanf(f, "%1023s", word) == 1) {
                normalise(word);
                const int to = strchr(word, ':') ? -1 : folder_of(word);
                n_includes += to >= 0;
                n_simgrid += from == SIM && strstr(word, "/simgrid/") != NULL;
                if (to >= 0 && !may_include(from, to)) {
                    fprintf(stderr, "%s includes %s\n", g.gl_pathv[i], word);
                    CU_FAIL("an arrow points the wrong way");
                }
                /* below sim nobody sees SimGrid, and workloads no socket */
                if (from < SIM &&
                    (strstr(word, "/simgrid/") || (from == 3 && strstr(word, "sys/socket.h"))))
                    CU_FAIL("a header of the backends below them");
            }
            fclose(f);
        }
        globfree(&g);
    }
    CU_ASSERT(n_files > 40);
    CU_ASSERT(n_includes > n_files);
    CU_ASSERT(n_simgrid > 0); /* system headers are listed: the check above can fail */
}

static const struct strait_test tests[] = {
    {"includes follow the arrows of the design", arrows},
};
STRAIT_SUITE("layers", tests);
