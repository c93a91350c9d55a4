/* What is checked for real is small; what is larger is refused before anything is made. */
#include "serve/check.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
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

/* Found out here: what the code under test says of the machine may be wrong. */
static bool can_emulate(void)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWNET | (geteuid() != 0 ? CLONE_NEWUSER : 0)) == 0 ? 0 : 1);
    return waitpid(child, &status, 0) == child && status == 0 && access("/dev/net/tun", R_OK) == 0;
}

/* One row of each kind, with what both sent, and nothing is left. */
static void emulated(void)
{
    static const char body[] = POINT("\"cnn\"", "2", ", \"codec\": \"none\"");
    char base[] = "/tmp/strait-check-XXXXXX", folder[64];
    struct strait_asked q;
    struct strait_error err = {0};
    struct stat info;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(base));
    snprintf(folder, sizeof(folder), "%s/check", base);
    CU_ASSERT_EQUAL_FATAL(strait_asked_read(&q, body, sizeof(body) - 1, &err), 0);
    json_t *answer = strait_check_run(folder, &q, &err);
    if (!answer && err.code == STRAIT_ERR_HOST && !can_emulate()) {
        strait_test_skip(err.text);
    } else {
        const json_t *rows = json_object_get(answer, "rows");
        strait_test_context("%s: %s", err.where, err.text);
        CU_ASSERT_EQUAL(json_object_size(answer), 1);
        CU_ASSERT_EQUAL(json_array_size(rows), 2);
        for (size_t i = 0; i < 2; i++) {
            const json_t *row = json_array_get(rows, i);
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "backend")),
                                   i ? "emu" : "sim");
            CU_ASSERT_EQUAL(json_integer_value(json_object_get(row, "clients")), 2);
            CU_ASSERT(json_equal(json_object_get(row, "bytes"),
                                 json_object_get(json_array_get(rows, 0), "bytes")));
        }
    }
    json_decref(answer);
    strait_asked_release(&q);
    CU_ASSERT_NOT_EQUAL(stat(folder, &info), 0);
    CU_ASSERT_EQUAL(rmdir(base), 0);
}

/* Where no file can grow nothing is emulated, and nothing is left. */
static void no_room(void)
{
    static const char body[] = POINT("\"cnn\"", "2", "");
    char base[] = "/tmp/strait-check-XXXXXX", folder[64], file[96];
    struct strait_asked q;
    struct strait_error err = {0};
    struct rlimit before, none;
    struct stat info;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(base));
    snprintf(folder, sizeof(folder), "%s/check", base);
    snprintf(file, sizeof(file), "%s/experiment.json", folder);
    CU_ASSERT_EQUAL_FATAL(strait_asked_read(&q, body, sizeof(body) - 1, &err), 0);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    void (*const heeded)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    const json_t *answer = strait_check_run(folder, &q, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, heeded);
    CU_ASSERT_PTR_NULL(answer);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.where, file);
    CU_ASSERT_CONTAINS(err.text, "cannot write the experiment");
    strait_asked_release(&q);
    CU_ASSERT_NOT_EQUAL(stat(folder, &info), 0);
    CU_ASSERT_EQUAL(rmdir(base), 0);
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
    {"a check predicts and emulates its point", emulated},
    {"an experiment that cannot be written is an error", no_room},
    {"what a check left is removed", cleared},
};
STRAIT_SUITE_WITH("serve/check", tests, .release = true);
