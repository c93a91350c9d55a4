/* What is checked for real is small; what is larger is refused before anything is made. */
#include "serve/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/kit/suite.h"

#define POINT(model, clients, more)                                                                \
    "{\"experiment\": {\"schema\": \"strait-experiment/1\", \"model\": " model                     \
    ", \"clients\": " clients ", \"strategy\": \"fedavg\", \"network\": {\"client\": {\"rate\": "  \
    "\"1 Gbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}" more "}}"

/* Where no folder can be made, so that what is small enough ends there. */
static const char nowhere[] = "/proc/strait/check";

/* 16 clients, and 15 million values of four bytes each, are taken. */
static void sizes(void)
{
    static const struct {
        const char *body, *where, *text;
    } cases[] = {
        {POINT("\"cnn\"", "16", ""), nowhere, "cannot make a folder"},
        {POINT("\"cnn\"", "17", ""), "experiment#/clients",
         "expected at most 16 clients to emulate here, found 17"},
        {POINT("{\"params\": 15000000, \"step\": \"1 ms\"}", "2", ""), nowhere,
         "cannot make a folder"},
        {POINT("{\"params\": 15200000, \"step\": \"1 ms\"}", "2", ""), "experiment#/model",
         "expected a model of at most 60 MB to emulate here, found 61 MB; cnn, resnet and gpt are "
         "smaller"},
        {POINT("\"cnn\"", "2", ", \"vary\": {\"/clients\": [2]}"), nowhere, "cannot make a folder"},
        {POINT("\"cnn\"", "2", ", \"vary\": {\"/clients\": [2, 3]}"), "experiment#/vary",
         "expected one point to emulate, found 2"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_asked q;
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].body);
        CU_ASSERT_EQUAL_FATAL(strait_asked_read(&q, cases[i].body, strlen(cases[i].body), &err), 0);
        CU_ASSERT_PTR_NULL(strait_check_run(nowhere, &q, &err));
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        CU_ASSERT_EQUAL(strncmp(err.text, cases[i].text, strlen(cases[i].text)), 0);
        CU_ASSERT_EQUAL(err.code, cases[i].where == nowhere ? STRAIT_ERR_SYSTEM : STRAIT_ERR_INPUT);
        strait_asked_release(&q);
    }
}

/* What a check that was ended left goes, with all that is in it. */
static void cleared(void)
{
    char folder[] = "/tmp/strait-check-XXXXXX", path[64];
    struct stat info;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/out", folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/out/results.jsonl", folder);
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fclose(f);
    strait_check_clear(folder);
    CU_ASSERT_NOT_EQUAL(stat(folder, &info), 0);
    strait_check_clear(folder); /* nothing is left */
}

static const struct strait_test tests[] = {
    {"what is too large for a check is refused", sizes},
    {"what a check left is removed", cleared},
};
STRAIT_SUITE("serve/check", tests);
