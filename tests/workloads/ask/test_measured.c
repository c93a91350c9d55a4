/* Measured curves: lines in logarithms, and tables that are refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "workloads/ask/measured.h"
#include "tests/kit/suite.h"

static int load(struct strait_measured *m, const char *table, double most, struct strait_error *err)
{
    char path[] = "/tmp/strait-measured-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_EQUAL_FATAL(write(fd, table, strlen(table)), (ssize_t)strlen(table));
    close(fd);
    const int failed = strait_measured_load(m, path, "dim,seconds", most, "e.json#/x", err);
    unlink(path);
    return failed;
}

/* y = x^2 up to 10, then y = 10 x: exact at points, between them and beyond both ends. */
static void powers(void)
{
    struct strait_error err = {0};
    struct strait_measured m;
    CU_ASSERT_EQUAL_FATAL(load(&m, "dim,seconds\n1,1\n10,100\n1000,1e4\n", 1e9, &err), 0);
    static const double xs[] = {0.1, 1, 2, 10, 50, 1000, 1e5},
                        ys[] = {0.01, 1, 4, 100, 500, 1e4, 1e6};
    for (int i = 0; i < 7; i++)
        CU_ASSERT_DOUBLE_EQUAL(strait_measured_at(&m, xs[i]), ys[i], 1e-9 * ys[i]);
    strait_measured_release(&m);
    CU_ASSERT_EQUAL_FATAL(load(&m, "dim,seconds\n5,0.25\n", 1, &err), 0);
    CU_ASSERT_EQUAL(strait_measured_at(&m, 1), 0.25);
    CU_ASSERT_EQUAL(strait_measured_at(&m, 1e9), 0.25);
    strait_measured_release(&m);
}

static void refused(void)
{
    static const struct {
        const char *table, *text;
    } cases[] = {{"dim,seconds\n2,1\n2,2\n", "expected more than the 2 before, found 2"},
                 {"dim,seconds\n0,1\n", "dim"},
                 {"dim,seconds\n1,0\n", "seconds"},
                 {"dim,seconds\n1,3\n", "seconds"}, /* more than 2 */
                 {"dim,seconds\n", "expected at least one point"},
                 {"dim,time\n1,1\n", "dim,seconds"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_measured m;
        CU_ASSERT_EQUAL(load(&m, cases[i].table, 2, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].text));
        if (!strstr(err.text, cases[i].text))
            fprintf(stderr, "%s: %s\n", err.where, err.text);
        strait_measured_release(&m);
    }
}

static const struct strait_test tests[] = {
    {"powers are exact between the points and beyond them", powers},
    {"points out of order, at zero or beyond the most are refused", refused},
};
STRAIT_SUITE("workloads/ask/measured", tests);
