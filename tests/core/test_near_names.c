/* Which name was meant, and the sentence that refuses what is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/names.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

#define TEN       "abcdefghij"
#define SIXTY     TEN TEN TEN TEN TEN TEN
#define SIXTYFOUR SIXTY "abcd"

/* A name is near when at most half of the letters of the longer one differ. */
static void nearest(void)
{
    static const struct {
        const char *name, *names[4], *expected;
    } cases[] = {
        {"sz", {"lz4", "sz", "szx"}, "sz"},
        {"szz", {"sz"}, "sz"},                 /* one letter less */
        {"s", {"sz"}, "sz"},                   /* one more, of two */
        {"ab", {"abcd"}, "abcd"},              /* two more, of four */
        {"abcd", {"ab"}, "ab"},                /* two less, of four */
        {"a", {"abc"}, NULL},                  /* two more, of three */
        {"abcd", {"abxy"}, "abxy"},            /* two others, of four */
        {"abc", {"axy"}, NULL},                /* two others, of three */
        {"ba", {"ab"}, "ab"},                  /* a swap is one change */
        {"bca", {"abc"}, NULL},                /* but of neighbours only */
        {"bc", {"ab"}, NULL},                  /* half a swap is none */
        {"ca", {"ab"}, NULL},                  /* nor is the other half */
        {"bac", {"bad", "abc"}, "bad"},        /* of equally near ones the first */
        {"bac", {"abd", "abc"}, "abc"},        /* a swap and another letter are two changes */
        {"kitten", {"sitting"}, "sitting"},    /* Levenshtein's example: three */
        {"SZ", {"SY", "sz"}, "sz"},            /* letters without their case */
        {"bA", {"aB"}, "aB"},                  /* in swaps, too */
        {"", {"a"}, NULL},                     /* one of one */
        {SIXTYFOUR, {SIXTYFOUR}, SIXTYFOUR},   /* as long as names may be */
        {SIXTYFOUR "x", {SIXTYFOUR}, NULL},    /* longer than that */
        {SIXTY, {SIXTYFOUR "x", SIXTY}, SIXTY} /* what is longer is passed over */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("\"%s\" among \"%s\" ...", cases[i].name, cases[i].names[0]);
        const char *found = strait_nearest(cases[i].name, cases[i].names);
        CU_ASSERT_STRING_EQUAL(found ? found : "none",
                               cases[i].expected ? cases[i].expected : "none");
    }
    strait_test_context("%s", "");
    /* of any length: no memory is laid out for it */
    char *endless = calloc(1, 1 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(endless);
    memset(endless, 'a', (1 << 20) - 1);
    const char *const names[] = {endless, "ab", NULL};
    CU_ASSERT_STRING_EQUAL(strait_nearest("aab", names), "ab");
    CU_ASSERT_PTR_NULL(strait_nearest(endless, names));
    free(endless);
}

static void refused(void)
{
    static const char *const names[] = {"sz", "topk", NULL};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(
        strait_refuse_name(&err, STRAIT_ERR_USAGE, "e.json#/codec", "a codec", "szz", names), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.where, "e.json#/codec");
    CU_ASSERT_STRING_EQUAL(err.text, "expected a codec, found \"szz\", did you mean \"sz\"?");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_refuse_name(&err, STRAIT_ERR_INPUT, "w", "a codec", "gzip", names), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a codec, found \"gzip\"");
}

static void touch(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *out = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fclose(out);
}

/* Only files NAME.json count; .json has no name, and a.json is the shortest that has one. */
static void refused_file(void)
{
    static const struct {
        const char *found, *meant;
    } cases[] = {{"alphq", "alpha"}, {"B", "b"}, {"beta", NULL}, {"", NULL}, {"zulv", "zulu"}};
    char folder[] = "/tmp/strait-names-XXXXXX", expected[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    touch(folder, "alpha.json");
    touch(folder, "b.json");
    touch(folder, "zulu.json");
    touch(folder, ".json");
    touch(folder, "beta.txt");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        snprintf(expected, sizeof(expected), "expected x, found \"%s\"%s%s%s", cases[i].found,
                 cases[i].meant ? ", did you mean \"" : "", cases[i].meant ? cases[i].meant : "",
                 cases[i].meant ? "\"?" : "");
        CU_ASSERT_EQUAL(
            strait_refuse_file_name(&err, STRAIT_ERR_INPUT, "w", "x", cases[i].found, folder), -1);
        CU_ASSERT_STRING_EQUAL(err.text, expected);
    }
    folder_remove(folder);
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_refuse_file_name(&err, STRAIT_ERR_INPUT, "w", "x", "alpha", folder), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected x, found \"alpha\"");
}

static void endings(void)
{
    CU_ASSERT_TRUE(strait_text_ends_with("a.csv", ".csv"));
    CU_ASSERT_FALSE(strait_text_ends_with(".csv", ".csv")); /* nothing else is a name */
    CU_ASSERT_FALSE(strait_text_ends_with("sv", ".csv"));
    CU_ASSERT_FALSE(strait_text_ends_with("a.csv.gz", ".csv"));
}

static const struct strait_test tests[] = {
    {"the nearest name is at most half its letters away", nearest},
    {"a refusal says what was expected, found and probably meant", refused},
    {"names are those of the JSON files in a folder", refused_file},
    {"a text ends as asked and has a beginning", endings},
};
STRAIT_SUITE("core/near_names", tests);
