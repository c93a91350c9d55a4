/* setup.sh has the one list of packages; what the build needs of it stands in debian/control too,
 * or make deb fails on a machine that has no more than that. */
#include <stdlib.h>
#include <string.h>
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* Of tests and sanitizers, which a package is not built with. */
static bool is_for_tests(const char *package)
{
    static const char *const names[] = {"libcunit1-dev", "libclang-rt-dev", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(package, names[i]) == 0)
            return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t len = strlen(text), len_end = strlen(end);
    return len >= len_end && strcmp(text + len - len_end, end) == 0;
}

static void build_depends(void)
{
    size_t len_bytes;
    unsigned n = 0;
    char *setup = folder_bytes("", DATA("setup.sh"), &len_bytes),
         *control = folder_bytes("", DATA("debian/control"), &len_bytes), *rest;
    CU_ASSERT_FATAL(setup && control);
    char *list = strstr(setup, "packages=\""), *depends = strstr(control, "Build-Depends:");
    CU_ASSERT_FATAL(list && depends && strstr(list, "\"\n") && strstr(depends, "\nStandards"));
    *strstr(list, "\"\n") = '\0';
    *strstr(depends, "\nStandards") = '\0';
    for (char *p = strtok_r(strchr(list, '"') + 1, " \n", &rest); p;
         p = strtok_r(NULL, " \n", &rest))
        if (ends_with(p, "-dev") && !is_for_tests(p)) {
            CU_ASSERT_CONTAINS(depends, p);
            n++;
        }
    CU_ASSERT(n > 10);
    free(setup);
    free(control);
}

static const struct strait_test tests[] = {
    {"debian/control names every library that setup.sh installs for the build", build_depends},
};
STRAIT_SUITE("docs/packages", tests);
