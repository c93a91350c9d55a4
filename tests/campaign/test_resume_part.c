/* A run in parts: what one part leaves for the next. */
#include "campaign/resume_part.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    CU_ASSERT_FATAL(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void whole_runs(void)
{
    struct strait_resume step = {.from = 3, .next = 4, .more = true};
    struct strait_error err = {0};
    unsetenv(STRAIT_STEP_FILE);
    strait_resume_load(&step);
    CU_ASSERT_PTR_NULL(step.path);
    CU_ASSERT_EQUAL(step.from, 0);
    CU_ASSERT_EQUAL(step.next, 0);
    CU_ASSERT_FALSE(step.more);
    CU_ASSERT_EQUAL(strait_resume_save(&step, &err), 0);
}

static void parts(void)
{
    char path[] = "/tmp/strait-step-XXXXXX";
    struct strait_resume step;
    struct strait_error err = {0};
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    setenv(STRAIT_STEP_FILE, path, 1);
    strait_resume_load(&step); /* empty: the first part */
    CU_ASSERT_STRING_EQUAL(step.path, path);
    CU_ASSERT_EQUAL(step.from, 0);
    CU_ASSERT_FALSE(step.began);
    CU_ASSERT_EQUAL(strait_resume_next(path), 0);
    step.more = true;
    CU_ASSERT_EQUAL(strait_resume_save(&step, &err), 0); /* it calibrated and did no row */
    CU_ASSERT_EQUAL(strait_resume_next(path), 1);
    strait_resume_load(&step);
    CU_ASSERT_TRUE(step.began);
    CU_ASSERT_EQUAL(step.from, 0);
    step.next = 7;
    step.more = true;
    CU_ASSERT_EQUAL(strait_resume_save(&step, &err), 0);
    CU_ASSERT_EQUAL(strait_resume_next(path), 8);
    strait_resume_load(&step);
    CU_ASSERT_EQUAL(step.from, 7);
    CU_ASSERT_EQUAL(step.next, 7); /* until it did something */
    CU_ASSERT_FALSE(step.more);
    CU_ASSERT_EQUAL(strait_resume_save(&step, &err), 0); /* nothing is missing */
    CU_ASSERT_EQUAL(strait_resume_next(path), 0);
    put(path, "5\n"); /* cut short */
    CU_ASSERT_EQUAL(strait_resume_next(path), 0);
    strait_resume_load(&step);
    CU_ASSERT_EQUAL(step.from, 0);
    unlink(path);
    CU_ASSERT_EQUAL(strait_resume_next(path), 0);
    setenv(STRAIT_STEP_FILE, "/nowhere/step", 1);
    strait_resume_load(&step);
    CU_ASSERT_EQUAL(strait_resume_save(&step, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.where, "/nowhere/step");
    unsetenv(STRAIT_STEP_FILE);
}

static const struct strait_test tests[] = {
    {"without a file the run is whole", whole_runs},
    {"a part begins where the last one ended", parts},
};
STRAIT_SUITE("campaign/resume_part", tests);
