/* The runner, held against the tests of test_samples.c, which fail on purpose. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <unistd.h>
#include "core/process.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

enum { OUT_BYTES = 1 << 16 };

/* This program with these arguments: its exit status, and what it printed. */
static int call(char *out, const char *const args[])
{
    char program[PATH_MAX];
    const char *argv[16];
    struct strait_error err = {0};
    const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    CU_ASSERT_FATAL(n > 0);
    program[n] = '\0';
    argv[0] = program;
    for (int i = 0; i < 15; i++)
        if (!(argv[i + 1] = args[i]))
            break;
    const int status = strait_process_run(out, OUT_BYTES, argv, NULL, 300, &err);
    printf("%s%s\n", out, err.text);
    return status;
}
#define CALL(out, ...) call(out, (const char *const[]){__VA_ARGS__, NULL})

static void says(const char *out, const char *const *lines)
{
    for (; *lines; lines++)
        CU_ASSERT_CONTAINS(out, *lines);
}

static void values(void)
{
    static const char *const lines[] = {
        "FAIL kit/runner/samples",
        "--- kit/runner/samples: values\n    printed before the check\n",
        "n: found 7, expected 8\n            at: qsgd gradient n=7 seed=3\n",
        "-1: found -1, expected 4294967295\n",
        "0.1: found 0.1, expected 0.25 within 0.125 (off by 0.15)\n",
        "found \"one\\ntwo\", expected \"one\\nto\"\n",
        ", expected NULL\n",
        "n: found 7, expected at most 6\n",
        "n > 9: does not hold\n",
        "\"a lot of text\": expected \"little\" in it, found \"a lot of text\"\n",
        "again: make test TESTS=kit/runner/samples SEED=5\n",
        "\n0 passed, 1 failed, 0 skipped\n",
        NULL};
    char *out = calloc(1, OUT_BYTES);
    CU_ASSERT_EQUAL(CALL(out, "--seed", "5", "kit/runner/samples", "values"), 1);
    says(out, lines);
    free(out);
}

static void helper(void)
{
    /* by addr2line of binutils; the call that passes is not named */
    static const char *const lines[] = {"found: found 3, expected 2\n", "(in_a_helper)\n", NULL};
    char *out = calloc(1, OUT_BYTES);
    CU_ASSERT_EQUAL(CALL(out, "kit/runner/samples", "helper", "fork"), 1);
    if (system("command -v addr2line >/dev/null") == 0)
        says(out, lines);
    CU_ASSERT_PTR_NULL(strstr(out, "called from tests/kit/runner/main.c"));
    CU_ASSERT_PTR_NULL(strstr(out, "calling_lines.c"));
    CU_ASSERT_CONTAINS(out, "    1 checks failed in processes of the test\n");
    CU_ASSERT_CONTAINS(out, "\n0 passed, 2 failed, 0 skipped\n");
    free(out);
}

static void ends(void)
{
    static const char *const crash[] = {"--- kit/runner/samples: crashes: ended by signal 9 "
                                        "(Killed)\n    printed before the crash\n",
                                        "    1 of its tests did not run\n",
                                        "\n1 passed, 1 failed, 1 skipped\n", NULL};
    char *out = calloc(1, OUT_BYTES);
    CU_ASSERT_EQUAL(CALL(out, "kit/runner/samples", "skips", "passes", "crashes", "follows"), 1);
    says(out, crash);
    CU_ASSERT_EQUAL(CALL(out, "kit/runner/hanging"), 1);
    CU_ASSERT_CONTAINS(out, "ran past its deadline of 0.5 s\n");
    CU_ASSERT_CONTAINS(out, "\n0 passed, 1 failed, 0 skipped\n");
    free(out);
}

static void first(void)
{
    char *out = calloc(1, OUT_BYTES);
    CALL(out, "--first", "--here", "kit/runner/samples", "values", "skips");
    CU_ASSERT_CONTAINS(out, "n: found 7, expected 8\n");
    CU_ASSERT_PTR_NULL(strstr(out, "expected 4294967295"));
    CU_ASSERT_PTR_NULL(strstr(out, "skips"));
    CALL(out, "--first", "--here", "kit/runner/samples", "fork", "skips");
    CU_ASSERT_CONTAINS(out, "1: found 1, expected 2\n");
    CU_ASSERT_PTR_NULL(strstr(out, "skips"));
    CU_ASSERT_EQUAL(CALL(out, "--first", "--here", "kit/runner/samples", "skips", "passes"), 0);
    CU_ASSERT_CONTAINS(out, "1 passed, 0 failed, 1 skipped\n");
    free(out);
}

static void good(void)
{
    char *out = calloc(1, OUT_BYTES);
    CU_ASSERT_EQUAL(CALL(out, "kit/runner/samples", "skips", "-j", "1", "passes"), 0);
    CU_ASSERT_CONTAINS(out, "ok   kit/runner/samples");
    CU_ASSERT_CONTAINS(out, "     skipped: skips: a cause\n");
    CU_ASSERT_CONTAINS(out, "\n1 passed, 0 failed, 1 skipped\n");
    free(out);
}

static void usage(void)
{
    char *out = calloc(1, OUT_BYTES);
    CU_ASSERT_EQUAL(CALL(out, "no such suite or sentence anywhere"), 2);
    CU_ASSERT_EQUAL(CALL(out, "-j", "0"), 2);
    CU_ASSERT_EQUAL(CALL(out, "--nonsense"), 2);
    CU_ASSERT_EQUAL(CALL(out, "--seed"), 2);
    CU_ASSERT_EQUAL(CALL(out, "--here", "kit/no-such"), 2);
    free(out);
}

static void junit(void)
{
    static const char *const lines[] = {
        "<testsuite name=\"kit/runner/samples\" tests=\"3\" failures=\"1\" errors=\"0\" "
        "skipped=\"1\"",
        "<testcase classname=\"kit/runner/samples\" name=\"skips\" time=\"",
        "<skipped message=\"a cause\"/></testcase>\n",
        "<failure message=\"a check failed\">printed before the check\n",
        "&quot;one\\ntwo&quot;: found",
        NULL};
    char *out = calloc(1, OUT_BYTES), folder[] = "/tmp/strait-test-XXXXXX", file[64];
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(file, sizeof(file), "%s/results.xml", folder);
    CU_ASSERT_EQUAL(CALL(out, "--junit", file, "kit/runner/samples", "values", "skips", "passes"),
                    1);
    char *text = folder_text(folder, "results.xml");
    says(text, lines);
    free(text);
    folder_remove(folder);
    free(out);
}

static const struct strait_test tests[] = {
    {"a failed check shows what it found and expected, the context and what was printed", values},
    {"a check in a helper names the line that called it, and one in a fork counts", helper},
    {"a crash or a hang is the failure of its test", ends},
    {"the first check that fails ends a suite where that is wanted", first},
    {"a skipped test says why", good},
    {"words that pick nothing and bad options end with status 2", usage},
    {"results are written as JUnit's XML", junit},
};
STRAIT_SUITE("kit/runner/runner", tests);
