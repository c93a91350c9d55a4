/* Experiments in a body: no path, no more than a class waits for, errors as on the command line. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "serve/experiment_request.h"
#include "tests/kit/suite.h"

#define NETWORK                                                                                    \
    "\"network\": {\"client\": {\"rate\": \"1 Gbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}"
#define REST "\"schema\": \"strait-experiment/1\", \"strategy\": \"fedavg\", " NETWORK

static void refused(const char *body, const char *where, const char *text)
{
    struct strait_asked q;
    struct strait_error err = {0};
    strait_test_context("%s", body);
    CU_ASSERT_EQUAL(strait_asked_read(&q, body, strlen(body), &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, where);
    CU_ASSERT_CONTAINS(err.text, text);
    strait_asked_release(&q);
}

static void taken(void)
{
    static const char body[] = "{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, " REST
                               ", \"vary\": {\"/clients\": [2, 4, 8]}}, \"round\": true}",
                      shipped[] = "{\"experiment\": {\"model\": \"experiments/models/ncf.csv\", "
                                  "\"clients\": 2, \"device\": {\"link\": {\"rate\": "
                                  "\"25 GB/s\"}}, " REST "}}";
    struct strait_asked q;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_asked_read(&q, body, sizeof(body) - 1, &err), 0);
    CU_ASSERT_EQUAL(q.sweep->n_points, 3);
    CU_ASSERT_TRUE(q.wants_round);
    strait_asked_release(&q);
    CU_ASSERT_EQUAL(strait_asked_read(&q, shipped, sizeof(shipped) - 1, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    strait_asked_release(&q);
}

static void wrong(void)
{
    refused("", "body:1:0", "expected an object or a list, found the end of the text");
    refused("{\"experiment\": 1, \"experiment\": 2}", "body:1:30",
            "expected each name once in an object, found \"experiment\"");
    refused("[]", "body", "expected an object");
    refused("{}", "body#/experiment", "expected an object");
    refused("{\"experiment\": {}, \"rund\": true}", "body", "did you mean \"round\"?");
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 0, " REST "}}",
            "experiment#/clients", "expected an integer of at least 1");
    refused("{\"experiment\": {\"model\": \"resnt\", \"clients\": 2, " REST "}}",
            "experiment#/model", "did you mean \"resnet\"?");
}

static void paths(void)
{
    refused("{\"experiment\": {\"model\": \"/etc/passwd\", \"clients\": 2, " REST "}}",
            "experiment#/model", "found the path \"/etc/passwd\"");
    refused("{\"experiment\": {\"model\": \"mine.csv\", \"clients\": 2, " REST "}}",
            "experiment#/model", "found the path");
    refused("{\"experiment\": {\"model\": \"experiments/models/../../x.csv\", \"clients\": 2, " REST
            "}}",
            "experiment#/model", "found the path");
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"codec\": {\"name\": \"sz\", "
            "\"profile\": \"/tmp/p.json\"}, " REST "}}",
            "experiment#/codec/profile", "found the path");
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/model\": "
            "[\"cnn\", \"9/../x\"]}, " REST "}}",
            "experiment#/vary//model/1", "found the path");
    /* which looks like a number with its unit */
    refused("{\"experiment\": {\"model\": \"1 a.json\", \"clients\": 2, " REST "}}",
            "experiment#/model", "found the path");
}

static void sizes(void)
{
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 10001, " REST "}}",
            "experiment#/clients", "expected at most 10000 on this page, found 10001");
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/clients\": [2, "
            "20000]}, " REST "}}",
            "experiment#/vary/~1clients", "found 20000");
    /* 10 x 10 points */
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/clients\": "
            "[1,2,3,4,5,6,7,8,9,10], \"/seed\": [1,2,3,4,5,6,7,8,9,10]}, " REST "}}",
            "experiment#/vary", "expected at most 96 points");
    char deep[2000] = "{\"experiment\": ";
    for (int i = 0; i < 100; i++)
        strcat(deep, "{\"a\":");
    strcat(deep, "1");
    for (int i = 0; i < 101; i++)
        strcat(deep, "}");
    refused(deep, "experiment", "expected less nesting");
}

/* [first, first + 1, ...] of n numbers. */
static void put_numbers(char text[2000], int n, int first)
{
    size_t used = (size_t)snprintf(text, 2000, "[");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, 2000 - used, "%s%d", i ? "," : "", first + i);
    snprintf(text + used, 2000 - used, "]");
}

/* The largest that are taken: 10,000 clients, 96 points in one axis or two, 256 factors. One more
 * is refused. */
static void largest(void)
{
    static const struct {
        const char *rest;       /* of the experiment: "%s" is a list of numbers */
        int n, first, n_points; /* 0: refused */
        const char *says;
    } cases[] = {
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 10000, \"vary\": {\"/seed\": "
         "%s}, " REST "}}",
         1, 1, 1, ""},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/clients\": %s}, " REST
         "}}",
         2, 9999, 2, ""},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/clients\": %s}, " REST
         "}}",
         2, 10000, 0, "expected at most 10000 on this page, found 10001"},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/seed\": %s}, " REST
         "}}",
         96, 0, 96, ""},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/seed\": %s}, " REST
         "}}",
         97, 0, 0, "expected at most 96 points"},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/seed\": %s, "
         "\"/clients\": [2, 3]}, " REST "}}",
         48, 0, 96, ""},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, \"vary\": {\"/seed\": %s, "
         "\"/clients\": [2, 3]}, " REST "}}",
         49, 0, 0, "expected at most 96 points"},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, " REST "}, \"slowness\": %s}", 256,
         1, 1, ""},
        {"{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, " REST "}, \"slowness\": %s}", 257,
         1, 0, "expected an array of at most 256 factors"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char numbers[2000], body[4000];
        struct strait_asked q;
        struct strait_error err = {0};
        put_numbers(numbers, cases[i].n, cases[i].first);
        const char *at = strstr(cases[i].rest, "%s");
        snprintf(body, sizeof(body), "%.*s%s%s", (int)(at - cases[i].rest), cases[i].rest, numbers,
                 at + 2);
        strait_test_context("case %zu", i);
        const int status = strait_asked_read(&q, body, strlen(body), &err);
        CU_ASSERT_EQUAL(status, cases[i].n_points ? 0 : -1);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].says);
        if (status == 0)
            CU_ASSERT_EQUAL((int)q.sweep->n_points, cases[i].n_points);
        strait_asked_release(&q);
    }
}

/* A layer of 10 values that takes 3 us forward and 5 us backward (docs/layer-table.md). */
static void tables(void)
{
    static const char good[] =
        "{\"experiment\": {\"clients\": 2, " REST "}, \"slowness\": [1, 2.5], \"table\": "
        "\"fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
        "ready_us_p50,ready_us_p90,ready_order\\n0,fc,weight,Linear,10,40,3,3,5,5,6,6,0\\n\"}",
                      bad[] = "{\"experiment\": {\"clients\": 2, " REST "}, \"table\": \"x\"}";
    struct strait_asked q;
    struct strait_experiment *e;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_asked_read(&q, good, sizeof(good) - 1, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "experiment", q.sweep->base, &err), 0);
    CU_ASSERT_EQUAL(e->model->n_elems, 10);
    CU_ASSERT_DOUBLE_EQUAL(strait_experiment_slowness(e, 2), 2.5, 1e-12);
    strait_experiment_free(e);
    const int fds[2] = {q.tables[0].fd, q.tables[1].fd};
    strait_asked_release(&q);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(q.tables[i].fd, -1);
        CU_ASSERT_EQUAL(fcntl(fds[i], F_GETFD), -1); /* closed */
    }
    CU_ASSERT_EQUAL(strait_asked_read(&q, bad, sizeof(bad) - 1, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "table:1");
    strait_asked_release(&q);
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, " REST "}, \"slowness\": 3}",
            "body#/slowness", "expected an array");
    /* and whatever is wrong in one is said of the body's key, not of the file that stands for it */
    refused("{\"experiment\": {\"model\": \"cnn\", \"clients\": 2, " REST
            "}, \"slowness\": [1, 0]}",
            "slowness:3", "expected");
}

static const struct strait_test tests[] = {
    {"an experiment is read with its points", taken},
    {"what is wrong is named as on the command line", wrong},
    {"a path is refused wherever it stands", paths},
    {"too many points, clients or levels are refused", sizes},
    {"the largest that is taken, and one more", largest},
    {"tables in the body are the model and the slowness", tables},
};
STRAIT_SUITE("serve/experiment_request", tests);
