/* The command line of one command: what is taken, what is refused, and what help shows. */
#include "cli/kit/options.h"
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"

struct values {
    bool loud;
    const char *out;
    struct strait_texts set;
    long jobs;
    double times;
};

static struct values v;
static const struct strait_option options[] = {
    {"loud", 'l', STRAIT_OPTION_FLAG, &v.loud, NULL, "say more"},
    {"out", 'o', STRAIT_OPTION_TEXT, &v.out, "FILE", "write there"},
    {"set", 0, STRAIT_OPTION_TEXTS, &v.set, "P=V", "put in"},
    {"jobs", 'j', STRAIT_OPTION_COUNT, &v.jobs, "N", "workers"},
    {"times", 0, STRAIT_OPTION_NUMBER, &v.times, "X", "factor"}};
static const struct strait_usage usage = {"try", "FILE", "Tries it.", options, 5, "Notes.\n"};

enum { MAX_WORDS = 2 };
static const char *words[MAX_WORDS];
static size_t n_words;
static bool help;

/* Words with blanks between. Returns what parse does; err has what it says. */
static int parse(const char *line, struct strait_error *err)
{
    static char text[256], name[] = "try";
    char *argv[16] = {name}, *rest = NULL;
    int argc = 1;
    free(v.set.items);
    v = (struct values){0};
    *err = (struct strait_error){0};
    words[0] = words[1] = NULL;
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    return strait_options_parse(&usage, argc, argv, words, MAX_WORDS, &n_words, &help, err);
}

static void taken(void)
{
    struct strait_error err;
    CU_ASSERT_EQUAL(parse("a -l --out x --set=p=1 --set q=2 -j3 --times 1.5 b", &err), 0);
    CU_ASSERT_TRUE(v.loud);
    CU_ASSERT_STRING_EQUAL(v.out, "x");
    CU_ASSERT_EQUAL(v.set.n, 2);
    CU_ASSERT_STRING_EQUAL(v.set.items[0], "p=1");
    CU_ASSERT_STRING_EQUAL(v.set.items[1], "q=2");
    CU_ASSERT_EQUAL(v.jobs, 3);
    CU_ASSERT_EQUAL(v.times, 1.5);
    CU_ASSERT_EQUAL(n_words, 2);
    CU_ASSERT_STRING_EQUAL(words[0], "a");
    CU_ASSERT_STRING_EQUAL(words[1], "b");
    CU_ASSERT_FALSE(help);
    CU_ASSERT_EQUAL(parse("--out= -j 1 --times=1000000", &err), 0);
    CU_ASSERT_STRING_EQUAL(v.out, "");
    CU_ASSERT_EQUAL(v.jobs, 1);
    CU_ASSERT_EQUAL(v.times, 1e6);
    CU_ASSERT_FALSE(v.loud);
    CU_ASSERT_EQUAL(n_words, 0);
    CU_ASSERT_EQUAL(parse("-ox - -- --loud", &err), 0); /* "-" is a word, and all behind "--" */
    CU_ASSERT_STRING_EQUAL(v.out, "x");
    CU_ASSERT_FALSE(v.loud);
    CU_ASSERT_STRING_EQUAL(words[0], "-");
    CU_ASSERT_STRING_EQUAL(words[1], "--loud");
    CU_ASSERT_EQUAL(parse("--out --loud", &err), 0); /* a value may look like an option */
    CU_ASSERT_STRING_EQUAL(v.out, "--loud");
    CU_ASSERT_EQUAL(parse("x --help --nonsense", &err), 0);
    CU_ASSERT_TRUE(help);
    CU_ASSERT_EQUAL(parse("-h", &err), 0);
    CU_ASSERT_TRUE(help);
}

static void refused(void)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        {"--loudly", "expected an option (strait try --help), found \"--loudly\", did you mean "
                     "\"--loud\"?"},
        {"--halp", "expected an option (strait try --help), found \"--halp\", did you mean "
                   "\"--help\"?"},
        {"--tines 2", "expected an option (strait try --help), found \"--tines\", did you mean "
                      "\"--times\"?"}, /* the last of them, too */
        {"-x", "expected an option (strait try --help), found \"-x\""},
        {"--loud=yes", "expected nothing after --loud, found \"yes\""},
        {"-lx", "expected nothing after --loud, found \"x\""},
        {"--out", "expected FILE after --out, found nothing"},
        {"-j 0", "expected a whole number of at least 1 after --jobs, found \"0\""},
        {"-j -1", "expected a whole number of at least 1 after --jobs, found \"-1\""},
        {"-j +1", "expected a whole number of at least 1 after --jobs, found \"+1\""},
        {"-j 2x", "expected a whole number of at least 1 after --jobs, found \"2x\""},
        {"-j 99999999999999999999",
         "expected a whole number of at least 1 after --jobs, found \"99999999999999999999\""},
        {"--times 0.99", "expected a number of at least 1 after --times, found \"0.99\""},
        {"--times 1000001", "expected a number of at least 1 after --times, found \"1000001\""},
        {"--times 1e999", "expected a number of at least 1 after --times, found \"1e999\""},
        {"--times inf", "expected a number of at least 1 after --times, found \"inf\""},
        {"--times 2s", "expected a number of at least 1 after --times, found \"2s\""},
        {"a b c", "expected no further argument, found \"c\""},
        {"a b -- c", "expected no further argument, found \"c\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err;
        strait_test_context("%s", cases[i].line);
        CU_ASSERT_EQUAL(parse(cases[i].line, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
        CU_ASSERT_STRING_EQUAL(err.where, "try");
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
    }
}

static void printed(void)
{
    static char text[4096];
    FILE *f = fmemopen(text, sizeof(text), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    strait_options_print(&usage, f);
    fclose(f);
    CU_ASSERT_STRING_EQUAL(text, "usage: strait try FILE [options]\n\nTries it.\n\n"
                                 "  -l, --loud                     say more\n"
                                 "  -o, --out FILE                 write there\n"
                                 "      --set P=V                  put in\n"
                                 "  -j, --jobs N                   workers\n"
                                 "      --times X                  factor\n"
                                 "\nNotes.\n");
    /* options end where another program's words begin, and lines at 80 columns */
    static const struct {
        const char *arguments;
        size_t n_options;
        const char *line;
    } cases[] = {
        {"", 0, "usage: strait try\n"},
        {"", 1, "usage: strait try [options]\n"},
        {"-- COMMAND", 1, "usage: strait try [options] -- COMMAND\n"},
        {"FILE -- COMMAND", 1, "usage: strait try FILE [options] -- COMMAND\n"},
        {"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen", 0,
         "usage: strait try one|two|three|four|five|six|seven|eight|nine|ten|eleven|\n"
         "       twelve|thirteen|fourteen\n"},
        {"wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww", 0,
         "usage: strait try wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww wwwwwwwww\n"
         "       wwwwwwwww\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct strait_usage u = {"try",   cases[i].arguments, "It.",
                                       options, cases[i].n_options, NULL};
        memset(text, 0, sizeof(text));
        f = fmemopen(text, sizeof(text), "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        strait_options_print(&u, f);
        fclose(f);
        strait_test_context("%s", cases[i].arguments);
        CU_ASSERT_EQUAL(strncmp(text, cases[i].line, strlen(cases[i].line)), 0);
        CU_ASSERT_CONTAINS(text + strlen(cases[i].line), "\nIt.\n");
    }
}

static const struct strait_test tests[] = {
    {"options and words, in any order", taken},
    {"each mistake is one line", refused},
    {"help, within 80 columns", printed},
};
STRAIT_SUITE("cli/kit/options", tests);
