#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/host.h"
#include "tests/kit/suite.h"

static enum strait_simd asked_for(const char *text)
{
    CU_ASSERT_EQUAL_FATAL(setenv("STRAIT_SIMD", text, 1), 0);
    const enum strait_simd level = strait_simd_level();
    unsetenv("STRAIT_SIMD");
    return level;
}

static void lowered(void)
{
    const char *before = getenv("STRAIT_SIMD");
    char *kept = before ? strdup(before) : NULL;
    const enum strait_simd best = strait_simd_best();
    CU_ASSERT_EQUAL(asked_for("portable"), STRAIT_SIMD_PORTABLE);
    CU_ASSERT_EQUAL(asked_for("avx2"), best < STRAIT_SIMD_AVX2 ? best : STRAIT_SIMD_AVX2);
    CU_ASSERT_EQUAL(asked_for("avx512"), best); /* the highest: never more than there is */
    CU_ASSERT_EQUAL(asked_for(""), best);
    CU_ASSERT_EQUAL(asked_for("AVX2"), best);
    unsetenv("STRAIT_SIMD");
    CU_ASSERT_EQUAL(strait_simd_level(), best);
    if (kept)
        setenv("STRAIT_SIMD", kept, 1);
    free(kept);
}

/* Whether /proc/cpuinfo has all of these words among the processor's flags. */
static bool has_flags(const char *const *flags)
{
    char line[8192] = "", flag[32];
    FILE *f = fopen("/proc/cpuinfo", "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fgets(line, sizeof(line), f) && strncmp(line, "flags", 5) != 0)
        ;
    fclose(f);
    line[strcspn(line, "\n")] = ' ';
    for (; *flags; flags++) {
        snprintf(flag, sizeof(flag), " %s ", *flags);
        if (!strstr(line, flag))
            return false;
    }
    return true;
}

static void best(void)
{
    static const char *const avx2[] = {"avx2", "bmi1", "bmi2", "popcnt", NULL}, *const avx512[] = {
                                                                                    "avx512f",
                                                                                    "avx512bw",
                                                                                    "avx512dq",
                                                                                    "avx512vl",
                                                                                    NULL};
    CU_ASSERT_EQUAL(strait_simd_best(), !has_flags(avx2)    ? STRAIT_SIMD_PORTABLE
                                        : has_flags(avx512) ? STRAIT_SIMD_AVX512
                                                            : STRAIT_SIMD_AVX2);
}

static void names(void)
{
    CU_ASSERT_STRING_EQUAL(strait_simd_name(STRAIT_SIMD_PORTABLE), "portable");
    CU_ASSERT_STRING_EQUAL(strait_simd_name(STRAIT_SIMD_AVX2), "avx2");
    CU_ASSERT_STRING_EQUAL(strait_simd_name(STRAIT_SIMD_AVX512), "avx512");
}

/* Any computer has between a megabyte and a petabyte, and no more is available than it has. */
static void memory(void)
{
    const double total_bytes = strait_host_memory_bytes("MemTotal"),
                 available_bytes = strait_host_memory_bytes("MemAvailable");
    CU_ASSERT(total_bytes > 1e6 && total_bytes < 1e15);
    CU_ASSERT(available_bytes > 0 && available_bytes <= total_bytes);
    CU_ASSERT(isinf(strait_host_memory_bytes("Mem")));
}

static void processors_of_this_process(void)
{
    cpu_set_t all, one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(all), &all), 0);
    CU_ASSERT_EQUAL(strait_host_processors(), CPU_COUNT(&all));
    size_t first = 0;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(one), &one), 0);
    CU_ASSERT_EQUAL(strait_host_processors(), 1);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(all), &all), 0);
}

static const struct strait_test tests[] = {
    {"processors are those that this process may use", processors_of_this_process},
    {"memory is in bytes, and what the kernel does not say is infinite", memory},
    {"STRAIT_SIMD lowers the level and never raises it", lowered},
    {"the best level is what the processor's flags allow", best},
    {"levels have the names that STRAIT_SIMD takes", names},
};
STRAIT_SUITE("core/host", tests);
