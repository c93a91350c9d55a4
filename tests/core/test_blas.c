/* OpenBLAS's kernels: this processor's, or those that the environment names. */
#include <cblas.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/host.h"
#include "tests/kit/program.h"

static struct program program;

/* What doctor says of it where the environment names these kernels; NULL: none. */
static void doctor_says(char *line, size_t cap, const char *core)
{
    const char *const given = getenv("OPENBLAS_CORETYPE");
    char *const before = given ? strdup(given) : NULL;
    core ? setenv("OPENBLAS_CORETYPE", core, 1) : unsetenv("OPENBLAS_CORETYPE");
    struct said s = PROGRAM_CALL(&program, "doctor");
    before ? setenv("OPENBLAS_CORETYPE", before, 1) : unsetenv("OPENBLAS_CORETYPE");
    const char *found = strstr(s.out, "OpenBLAS");
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    snprintf(line, cap, "%.*s", (int)strcspn(found, "\n"), found);
    said_release(&s);
    free(before);
}

static void kernels(void)
{
    char line[300];
    if (!dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init") ||
        strait_simd_best() == STRAIT_SIMD_PORTABLE) {
        strait_test_skip("OpenBLAS has one processor's kernels, or this one has no others");
        return;
    }
    program_set_up(&program);
    doctor_says(line, sizeof(line), NULL);
    CU_ASSERT_PTR_NULL(strstr(line, "it does not know this processor"));
    CU_ASSERT_PTR_NULL(strstr(line, "Prescott"));
    doctor_says(line, sizeof(line), "Prescott");
    CU_ASSERT_CONTAINS(line, "kernels for Prescott");
    CU_ASSERT_PTR_NULL(strstr(line, "it does not know this processor"));
    program_tear_down(&program);
}

/* Products of whole numbers are exact whichever kernels make them: those chosen in a process that
 * had others, too. */
static void products(void)
{
    enum { N = 37 };
    static float a[N * N], b[N * N], c[N * N];
    int status = -1;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7 - 3);
        b[i] = (float)(i % 5 - 2);
    }
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("OPENBLAS_CORETYPE");
        for (int again = 0; again < 2; again++) {
            strait_blas_choose_core();
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, b, N, 0, c, N);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    float sum = 0;
                    for (int k = 0; k < N; k++)
                        sum += a[i * N + k] * b[k * N + j];
                    if (c[i * N + j] != sum)
                        _exit(1);
                }
        }
        _exit(strait_blas_better_core() == NULL ? 0 : 2);
    }
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

static const struct strait_test tests[] = {
    {"the program takes this processor's kernels, or those that it is told to take", kernels},
    {"products are right with kernels that were chosen again", products},
};
STRAIT_SUITE("core/blas", tests);
