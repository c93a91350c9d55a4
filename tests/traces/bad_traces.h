/* Runs the bad inputs of tests/bad/traces: each folder has an input and the error it must give. */
#pragma once
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/check.h"
#include "core/error.h"
#include "tests/kit/data.h"

/* Load what lies in a case's folder; 0 when it was taken, and then freed again. */
typedef int (*strait_bad_load)(const char *folder, struct strait_error *err);

/* "where: text" without the folder, as expected.txt has it, against the file. */
static inline void strait_bad_check(const char *folder, const struct strait_error *err, int status)
{
    char path[1200], expected[1024] = "", found[1024];
    snprintf(path, sizeof path, "%s/expected.txt", folder);
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_PTR_NOT_NULL(fgets(expected, sizeof expected, f));
    fclose(f);
    expected[strcspn(expected, "\n")] = '\0';
    const size_t len = strlen(folder);
    const char *where = strncmp(err->where, folder, len) == 0 ? err->where + len + 1 : err->where;
    snprintf(found, sizeof found, "%s: %s", where, err->text);
    CU_ASSERT_EQUAL(status, -1);
    CU_ASSERT_EQUAL(strait_error_exit_status(err), 2);
    CU_ASSERT_STRING_EQUAL(found, expected);
    if (strcmp(found, expected) != 0)
        fprintf(stderr, "%s:\n  expected %s\n  found    %s\n", folder, expected, found);
}

/* Every case whose folder begins with `prefix`. Returns how many there are. */
static inline unsigned strait_bad_cases(const char *prefix, strait_bad_load load)
{
    unsigned n = 0;
    const char *root = DATA("tests/bad/traces");
    DIR *dir = opendir(root);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        char folder[1024];
        struct strait_error err = {.code = STRAIT_OK};
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(folder, sizeof folder, "%s/%s", root, e->d_name);
        const int status = load(folder, &err);
        strait_bad_check(folder, &err, status);
        n++;
    }
    closedir(dir);
    return n;
}
