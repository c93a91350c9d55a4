/* Distributions of delays: netem's own tables, closed forms, files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "workloads/rates/jitter.h"
#include "tests/kit/suite.h"

static struct strait_jitter *load(const char *name)
{
    struct strait_jitter *j;
    struct strait_error err = {0};
    strait_test_context("%s", name);
    CU_ASSERT_EQUAL_FATAL(strait_jitter_load(&j, name, "x.json#/d", &err), 0);
    return j;
}

/* 4/3 (u^(-1/3) - 3/2) of u from 1 to 0: -2/3 at first, at a share of 7/8 below 4/3 (2 - 3/2) =
 * 2/3. Half of a normal distribution is below 0, 97.72 % below 2. */
static void closed_forms(void)
{
    struct strait_jitter *j = load("pareto");
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    CU_ASSERT_DOUBLE_EQUAL(strait_jitter_at(j, 0), -2.0 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_jitter_at(j, 0.875), 2.0 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_jitter_at(j, 0.9999), 32767.0 / 8192, 1e-12);
    strait_jitter_free(j);
    j = load("normal");
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    CU_ASSERT_DOUBLE_EQUAL(strait_jitter_at(j, 0.5), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(strait_jitter_at(j, 0.97724987), 2, 0.005); /* a table of 4096 */
    CU_ASSERT_DOUBLE_EQUAL(strait_jitter_at(j, 0.02275013), -2, 0.005);
    strait_jitter_free(j);
    CU_ASSERT_PTR_NULL(load("uniform"));
    CU_ASSERT_EQUAL(strait_jitter_at(NULL, 0.75), 0.5);
}

/* Value by value what iproute2 gives to the kernel. Its normal table steps through x in 5e-5 and so
 * differs where the distribution is thin: by 0.04 at its ends. */
static void as_netem(void)
{
    static const char *const names[] = {"normal", "pareto", "paretonormal"};
    static const double tolerances[] = {0.04, 0.51 / 8192, 0.011};
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu/tc", "/usr/lib/tc"};
    const char *folder = folders[0];
    char path[128];
    snprintf(path, sizeof(path), "%s/normal.dist", folder);
    if (access(path, R_OK) != 0)
        folder = folders[1];
    snprintf(path, sizeof(path), "%s/normal.dist", folder);
    if (access(path, R_OK) != 0) {
        strait_test_skip("iproute2's tables are not where they are looked for");
        return;
    }
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s.dist", folder, names[i]);
        struct strait_jitter *theirs = load(path), *ours = load(names[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(theirs);
        CU_ASSERT_PTR_NOT_NULL_FATAL(ours);
        CU_ASSERT_EQUAL_FATAL(theirs->n, ours->n);
        double most = 0;
        for (size_t k = 0; k < ours->n; k++)
            most = fmax(most, fabs(ours->x[k] - theirs->x[k]));
        CU_ASSERT_AT_MOST(most, tolerances[i]);
        strait_jitter_free(theirs);
        strait_jitter_free(ours);
    }
}

static int load_text(struct strait_jitter **j, const char *text, struct strait_error *err)
{
    char path[] = "/tmp/strait-jitter-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    strait_test_context("%s", text);
    const int failed = strait_jitter_load(j, path, "x.json#/d", err);
    unlink(path);
    return failed;
}

static void files(void)
{
    static const struct {
        const char *text, *where, *found;
    } bad[] = {{"1 2 x\n", ":1", "found \"x\""},
               {"1\n40000\n", ":2", "found \"40000\""},
               {"# nothing\n", "/tmp/strait-jitter", "found none"}};
    struct strait_jitter *j;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(load_text(&j, "# two\n -8192 0\n  4096\n\n16384\n", &err), 0);
    CU_ASSERT_EQUAL_FATAL(j->n, 4);
    CU_ASSERT_EQUAL(j->reach, 2);
    static const double expected[] = {-1, 0, 0.5, 2};
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(strait_jitter_at(j, i / 4.0 + 0.2), expected[i]);
    strait_jitter_free(j);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        memset(&err, 0, sizeof(err));
        CU_ASSERT_EQUAL(load_text(&j, bad[i].text, &err), -1);
        CU_ASSERT_PTR_NULL(j);
        CU_ASSERT_CONTAINS(err.where, bad[i].where);
        CU_ASSERT_CONTAINS(err.text, bad[i].found);
    }
    memset(&err, 0, sizeof(err));
    CU_ASSERT_EQUAL(strait_jitter_load(&j, "paretto", "x.json#/d", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "x.json#/d");
    CU_ASSERT_CONTAINS(err.text, "did you mean \"pareto\"?");
}

static const struct strait_test tests[] = {
    {"quantiles are the closed forms", closed_forms},
    {"the tables are iproute2's", as_netem},
    {"tables come from files", files},
};
STRAIT_SUITE("workloads/rates/jitter", tests);
