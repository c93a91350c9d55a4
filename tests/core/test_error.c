#include <errno.h>
#include <string.h>
#include "core/error.h"
#include "tests/kit/suite.h"

static void first_wins(void)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_error_set(&err, STRAIT_ERR_INPUT, "a.csv:12", "found %d", 7), -1);
    CU_ASSERT_EQUAL(strait_error_set(&err, STRAIT_ERR_HOST, "b", "later"), -1);
    errno = EPERM;
    CU_ASSERT_EQUAL(strait_error_system(&err, "c", "later still"), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_EQUAL(err.saved_errno, 0);
    CU_ASSERT_STRING_EQUAL(err.where, "a.csv:12");
    CU_ASSERT_STRING_EQUAL(err.text, "found 7");
}

static void nobody_listens(void)
{
    CU_ASSERT_EQUAL(strait_error_set(NULL, STRAIT_ERR_USAGE, NULL, "x"), -1);
    CU_ASSERT_EQUAL(strait_error_system(NULL, NULL, "x"), -1);
}

static void errno_is_told(void)
{
    struct strait_error err = {0};
    errno = ENOSPC;
    strait_error_system(&err, "rows.jsonl", "cannot write %s", "a row");
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_EQUAL(err.saved_errno, ENOSPC);
    CU_ASSERT_STRING_EQUAL(err.text, "cannot write a row: No space left on device");
    err = (struct strait_error){0};
    errno = ENOMEM;
    strait_error_system(&err, NULL, "x");
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_NOMEM);
    CU_ASSERT_STRING_EQUAL(err.where, "");
}

static void exit_statuses(void)
{
    /* DESIGN: 0 good, 1 failed, 2 usage or bad input, 3 this machine cannot. */
    static const struct {
        enum strait_error_code code;
        int status;
    } cases[] = {{STRAIT_OK, 0},         {STRAIT_ERR_USAGE, 2},   {STRAIT_ERR_INPUT, 2},
                 {STRAIT_ERR_SYSTEM, 1}, {STRAIT_ERR_BACKEND, 1}, {STRAIT_ERR_HOST, 3},
                 {STRAIT_ERR_NOMEM, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct strait_error err = {.code = cases[i].code};
        CU_ASSERT_EQUAL(strait_error_exit_status(&err), cases[i].status);
    }
}

static void one_line(void)
{
    struct strait_error err = {0};
    strait_error_set(&err, STRAIT_ERR_INPUT, "a\nb", "found \"%s\"", "x\n\033[2J\ty");
    CU_ASSERT_STRING_EQUAL(err.where, "a?b");
    CU_ASSERT_STRING_EQUAL(err.text, "found \"x??[2J?y\"");
    /* whole characters stay; a lead without its rest, a rest alone, C1 controls and no UTF-8 go */
    err = (struct strait_error){0};
    strait_error_set(&err, STRAIT_ERR_INPUT, NULL,
                     "\xc3\xa9 \xe1\x31 \xb5 \xc2\x9b \xf0\x9f\x98\x80 \xff");
    CU_ASSERT_STRING_EQUAL(err.text, "\xc3\xa9 ?1 ? ?? \xf0\x9f\x98\x80 ?");
}

static void cut_between_characters(void)
{
    struct strait_error err = {0};
    char text[600];
    /* 510 letters, then a character of two bytes: only its first byte has room in text[512]. */
    memset(text, 'a', 510);
    strcpy(text + 510, "\xc3\xa9z");
    strait_error_set(&err, STRAIT_ERR_INPUT, NULL, "%s", text);
    CU_ASSERT_EQUAL(strlen(err.text), 510);
    err = (struct strait_error){0};
    strcpy(text + 509, "\xc3\xa9z"); /* one earlier: it fits, exactly */
    strait_error_set(&err, STRAIT_ERR_INPUT, NULL, "%s", text);
    CU_ASSERT_EQUAL(strlen(err.text), 511);
    CU_ASSERT_STRING_EQUAL(err.text + 509, "\xc3\xa9");
}

static void wrong_names(void)
{
    static const struct {
        int saved_errno;
        enum strait_error_code code;
    } cases[] = {{ENOENT, STRAIT_ERR_INPUT}, {ENOTDIR, STRAIT_ERR_INPUT},
                 {EISDIR, STRAIT_ERR_INPUT}, {EACCES, STRAIT_ERR_INPUT},
                 {EROFS, STRAIT_ERR_INPUT},  {ENOSPC, STRAIT_ERR_SYSTEM},
                 {EIO, STRAIT_ERR_SYSTEM},   {ENOMEM, STRAIT_ERR_NOMEM}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        errno = cases[i].saved_errno;
        CU_ASSERT_EQUAL(strait_error_path(&err, "a/b", "cannot write"), -1);
        CU_ASSERT_EQUAL(err.code, cases[i].code);
        CU_ASSERT_EQUAL(err.saved_errno, cases[i].saved_errno);
        CU_ASSERT_STRING_EQUAL(err.where, "a/b");
        CU_ASSERT_EQUAL(strncmp(err.text, "cannot write: ", 14), 0);
    }
}

static const struct strait_test tests[] = {
    {"a place where nothing can be is bad input, a full disk is a failure", wrong_names},
    {"the first failure wins", first_wins},
    {"an error that nobody wants is dropped", nobody_listens},
    {"a failed system call tells its errno", errno_is_told},
    {"each code has its exit status", exit_statuses},
    {"an error stays one line whatever it quotes", one_line},
    {"a long text is cut between two characters", cut_between_characters},
};
STRAIT_SUITE("core/error", tests);
