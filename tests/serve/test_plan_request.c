/* How many candidates a plan of the page may have, and what it may not name. */
#include "serve/plan_request.h"
#include <stdio.h>
#include <string.h>
#include "tests/kit/suite.h"

/* A plan of axes of so many values each, which lacks all else. */
static void put_plan(char body[8192], const int n_values[3])
{
    size_t used = (size_t)snprintf(body, 8192, "{\"plan\": {\"vary\": {");
    for (int a = 0; a < 3 && n_values[a] >= 0; a++) {
        used += (size_t)snprintf(body + used, 8192 - used, "%s\"/%d\": [", a ? ", " : "", a);
        for (int i = 0; i < n_values[a]; i++)
            used += (size_t)snprintf(body + used, 8192 - used, "%s%d", i ? "," : "", i);
        used += (size_t)snprintf(body + used, 8192 - used, "]");
    }
    snprintf(body + used, 8192 - used, "}}}");
}

static void expect_refused(const char *body, const char *where, const char *text)
{
    const struct strait_answers none = {0};
    struct strait_error err = {0};
    strait_test_context("%.80s", body);
    CU_ASSERT_PTR_NULL(strait_asked_plan(&none, body, strlen(body), &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, where);
    CU_ASSERT_STRING_EQUAL(err.text, text);
}

/* 400, on one axis or several, an empty one not counted; what is small enough is refused for what
 * it lacks. */
static void sizes(void)
{
    static const struct {
        int n_values[3];
        bool taken;
    } cases[] = {{{400, -1}, true},     {{401, -1}, false},       {{20, 20, -1}, true},
                 {{21, 20, -1}, false}, {{20, 21, -1}, false},    {{0, 400, -1}, true},
                 {{0, 401, -1}, false}, {{401, 0, -1}, false},    {{10, 10, 4}, true},
                 {{10, 10, 5}, false},  {{401, 401, 401}, false}, {{1, 1, 400}, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char body[8192];
        put_plan(body, cases[i].n_values);
        if (cases[i].taken)
            expect_refused(body, "plan#/schema", "expected a string, found nothing");
        else
            expect_refused(body, "plan#/vary", "expected at most 400 candidates on this page");
    }
}

static void folders(void)
{
    expect_refused("{\"plan\": {\"accuracy\": [{\"codec\": \"sz\"}, {\"results\": \"mine\"}]}}",
                   "plan#/accuracy", "expected accuracies, found the name of a folder");
    expect_refused("{\"plan\": {\"accuracy\": [{\"codec\": \"sz\"}]}}", "plan#/schema",
                   "expected a string, found nothing");
}

static const struct strait_test tests[] = {
    {"a plan of the page has 400 candidates and no more", sizes},
    {"a plan of the page names no folder of results", folders},
};
STRAIT_SUITE("serve/plan_request", tests);
