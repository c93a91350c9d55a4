#include <stdlib.h>
#include <string.h>
#include "core/simd.h"
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

static void names(void)
{
    CU_ASSERT_STRING_EQUAL(strait_simd_name(STRAIT_SIMD_PORTABLE), "portable");
    CU_ASSERT_STRING_EQUAL(strait_simd_name(STRAIT_SIMD_AVX2), "avx2");
    CU_ASSERT_STRING_EQUAL(strait_simd_name(STRAIT_SIMD_AVX512), "avx512");
}

static const struct strait_test tests[] = {
    {"STRAIT_SIMD lowers the level and never raises it", lowered},
    {"levels have the names that STRAIT_SIMD takes", names},
};
STRAIT_SUITE("core/simd", tests);
