/* docs/experiment.md names every key that the reader takes: what the reader says it knows, when it
 * is asked for a key that it does not, stands in the page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

/* An experiment that ships, and an object of it. */
static const struct asked {
    const char *experiment, *place;
} objects[] = {
    {"wan-check", ""},
    {"wan-check", "/codec"},
    {"wan-check", "/network"},
    {"fashion", "/training"},
    {"wan-check", "/network/client"},
    {"wan-check", "/network/server"},
    {"fashion", "/until"},
    {"fashion", "/training/eval"},
    {"fashion", "/training/split"},
    {"two-sites", "/network/site"},
    {"wan-check", "/model"},
    {"wan-check", "/network/tcp"},
    {"wan-check", "/device"},
};

/* The page shows a key as `key` or, in an example, as "key". */
static bool is_documented(const char *page, const char *key)
{
    char as_code[128], as_text[128];
    snprintf(as_code, sizeof(as_code), "`%s", key);
    snprintf(as_text, sizeof(as_text), "\"%s\"", key);
    return strstr(page, as_code) || strstr(page, as_text);
}

static void each_key(const char *page, const struct asked *of, char *known)
{
    char *rest = NULL;
    int n = 0;
    for (char *key = strtok_r(known, ", \n", &rest); key; key = strtok_r(NULL, ", \n", &rest)) {
        strait_test_context("%s of %s in %s", key, *of->place ? of->place : "the file",
                            of->experiment);
        CU_ASSERT(is_documented(page, key));
        n++;
    }
    CU_ASSERT(n > 0);
}

static void keys(void)
{
    struct program p;
    program_set_up(&p);
    size_t len_bytes;
    char *page = folder_bytes("", DATA("docs/experiment.md"), &len_bytes);
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        char setting[128], whole[128];
        snprintf(whole, sizeof(whole), "%s={}", objects[i].place);
        snprintf(setting, sizeof(setting), "%s/no-such-key=1", objects[i].place);
        const bool is_new = strstr(objects[i].place, "tcp") || strstr(objects[i].place, "device");
        struct said s = is_new ? PROGRAM_CALL(&p, "check", objects[i].experiment, "--set", whole,
                                              "--set", setting)
                               : PROGRAM_CALL(&p, "check", objects[i].experiment, "--set", setting);
        char *known = strstr(s.err, "; known: ");
        strait_test_context("%s of %s: %s", setting, objects[i].experiment, s.err);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_PTR_NOT_NULL(known);
        if (known)
            each_key(page, &objects[i], known + strlen("; known: "));
        said_release(&s);
    }
    free(page);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"every key that the reader takes stands in the page of the experiment file", keys},
};
STRAIT_SUITE("docs/experiment_page", tests);
