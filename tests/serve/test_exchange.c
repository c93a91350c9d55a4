/* Requests and responses as libmicrohttpd brings and takes them, with a library of the test's. */
#if __has_include(<microhttpd.h>)
#include "serve/exchange.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif
#include "tests/kit/suite.h"

#if __has_include(<microhttpd.h>)
/* What was answered; a connection is any address. */
static struct {
    const char *values[4]; /* of Host, Origin, Content-Type, Content-Length */
    char head[1024], *body;
    unsigned status, n_suspended, n_alive;
    bool fails;
} web;
static int connection, context_of_none;

static const union MHD_ConnectionInfo *fake_info(struct MHD_Connection *c,
                                                 enum MHD_ConnectionInfoType type, ...)
{
    static const union MHD_ConnectionInfo info = {.connect_fd = 77};
    CU_ASSERT((void *)c == &connection && type == MHD_CONNECTION_INFO_CONNECTION_FD);
    return &info;
}

static const char *fake_value(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key)
{
    static const char *const keys[] = {"Host", "Origin", "Content-Type", "Content-Length"};
    CU_ASSERT((void *)c == &connection && kind == MHD_HEADER_KIND);
    for (size_t i = 0; i < 4; i++)
        if (strcmp(key, keys[i]) == 0)
            return web.values[i];
    CU_FAIL("this header is not asked for");
    return NULL;
}

static void fake_suspend(struct MHD_Connection *c)
{
    CU_ASSERT((void *)c == &connection);
    web.n_suspended++;
}

static struct MHD_Response *fake_response(size_t n_bytes, void *bytes,
                                          enum MHD_ResponseMemoryMode mode)
{
    if (web.fails)
        return NULL;
    free(web.body);
    web.body = strndup(bytes, n_bytes);
    *web.head = '\0';
    if (mode == MHD_RESPMEM_MUST_FREE)
        free(bytes);
    web.n_alive++;
    return (void *)&web;
}

static enum MHD_Result fake_header(struct MHD_Response *r, const char *name, const char *value)
{
    const size_t n = strlen(web.head);
    CU_ASSERT((void *)r == &web);
    snprintf(web.head + n, sizeof(web.head) - n, "%s: %s\n", name, value);
    return MHD_YES;
}

static enum MHD_Result fake_queue(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
    CU_ASSERT((void *)c == &connection && (void *)r == &web);
    web.status = status;
    return MHD_YES;
}

static void fake_destroy(struct MHD_Response *r)
{
    CU_ASSERT((void *)r == &web);
    web.n_alive--;
}

static const struct strait_mhd mhd = {.get_connection_info = fake_info,
                                      .lookup_connection_value = fake_value,
                                      .suspend_connection = fake_suspend,
                                      .create_response_from_buffer = fake_response,
                                      .add_response_header = fake_header,
                                      .queue_response = fake_queue,
                                      .destroy_response = fake_destroy};

struct server {
    struct strait_jobs jobs;
    struct strait_exchange_context context;
    void *exchange; /* of the request that goes on */
};

static void set_up(struct server *s)
{
    static char choices[] = "{\"choices\": 1}", experiments[] = "[\"one\"]";
    free(web.body);
    memset(&web, 0, sizeof(web));
    web.values[0] = "localhost";
    web.values[2] = "application/json";
    *s = (struct server){.context = {.mhd = &mhd, .texts = {choices, experiments}}};
    s->context.jobs = &s->jobs;
}

/* One part of a request; "": its end. */
static enum MHD_Result part(struct server *s, const char *method, const char *path,
                            const char *body, size_t n_bytes)
{
    struct strait_exchange **x = (struct strait_exchange **)(void *)&s->exchange;
    size_t left_bytes = n_bytes;
    const enum MHD_Result r = strait_exchange_handle(&s->context, (void *)&connection, path, method,
                                                     "HTTP/1.1", body, &left_bytes, (void **)x);
    CU_ASSERT_EQUAL(left_bytes, s->exchange && n_bytes > 0 && r == MHD_YES ? 0 : left_bytes);
    return r;
}

static void end(struct server *s)
{
    strait_exchange_end(&s->context, (void *)&connection, &s->exchange,
                        MHD_REQUEST_TERMINATED_COMPLETED_OK);
    CU_ASSERT_PTR_NULL(s->exchange);
    CU_ASSERT_EQUAL(web.n_alive, 0);
}

static void texts(void)
{
    static const char *const paths[] = {"/api/choices", "/api/experiments"}, *const bodies[] = {
                                                                                 "{\"choices\": 1}",
                                                                                 "[\"one\"]"};
    struct server s;
    for (size_t i = 0; i < 2; i++) {
        set_up(&s);
        CU_ASSERT_EQUAL(part(&s, "GET", paths[i], NULL, 0), MHD_YES);
        CU_ASSERT_PTR_NULL(web.body); /* the head alone is not answered */
        CU_ASSERT_EQUAL(((struct strait_exchange *)s.exchange)->fd, 77);
        CU_ASSERT_EQUAL(part(&s, "GET", paths[i], NULL, 0), MHD_YES);
        CU_ASSERT_STRING_EQUAL(web.body, bodies[i]);
        CU_ASSERT_EQUAL(web.status, 200);
        CU_ASSERT_CONTAINS(web.head, "Content-Type: application/json\n");
        CU_ASSERT_CONTAINS(web.head, "Cache-Control: no-store\n");
        CU_ASSERT_PTR_NULL(strstr(web.head, "Retry-After"));
        end(&s);
    }
    set_up(&s);
    web.fails = true;
    CU_ASSERT_EQUAL(part(&s, "GET", "/api/choices", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "GET", "/api/choices", NULL, 0), MHD_NO);
    end(&s);
    end(&s); /* of a request whose head was not taken */
}

/* A body in two parts becomes one question, whose connection waits; its end takes no other's. */
static void questions(void)
{
    struct server s;
    set_up(&s);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", "{\"a\"", 4), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", ": 1}, and what is not sent", 4), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(web.n_suspended, 1);
    CU_ASSERT_EQUAL_FATAL(s.jobs.n, 1);
    CU_ASSERT_EQUAL(s.jobs.jobs[0].kind, STRAIT_HTTP_RUN);
    CU_ASSERT_EQUAL(s.jobs.jobs[0].len_bytes, 8);
    CU_ASSERT_EQUAL(memcmp(s.jobs.jobs[0].body, "{\"a\": 1}", 8), 0);
    CU_ASSERT_PTR_EQUAL(s.jobs.jobs[0].owner, s.exchange);
    struct strait_exchange other = {0};
    CU_ASSERT_EQUAL(strait_jobs_add(&s.jobs, STRAIT_HTTP_PLAN, strdup("{}"), 2, &other), 0);
    /* its answer is taken over, and so is that no memory was left for one */
    strait_exchange_answer(s.exchange, 400, strdup("{\"error\": \"so\"}"));
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(web.status, 400);
    CU_ASSERT_STRING_EQUAL(web.body, "{\"error\": \"so\"}");
    strait_exchange_answer(s.exchange, 200, NULL);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(web.status, 500);
    CU_ASSERT_STRING_EQUAL(web.body, "{\"error\": \"request: memory ran out\"}");
    end(&s);
    CU_ASSERT_EQUAL_FATAL(s.jobs.n, 1);
    CU_ASSERT_PTR_EQUAL(s.jobs.jobs[0].owner, &other);
    strait_jobs_remove(&s.jobs, 0);
}

/* Nothing, more than 1 MiB, one question too many, a word that is not of ASCII in a refusal. */
static void refused(void)
{
    struct server s;
    set_up(&s);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/run", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(web.status, 400);
    CU_ASSERT_CONTAINS(web.body, "expected a body of 1 to 1048576 B");
    end(&s);

    set_up(&s);
    char *large = calloc(1, STRAIT_HTTP_MAX_BYTES + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    for (int over = 0; over < 2; over++) {
        CU_ASSERT_EQUAL(part(&s, "POST", "/api/plan", NULL, 0), MHD_YES);
        CU_ASSERT_EQUAL(part(&s, "POST", "/api/plan", large, 1), MHD_YES);
        CU_ASSERT_EQUAL(
            part(&s, "POST", "/api/plan", large, STRAIT_HTTP_MAX_BYTES - 1 + (size_t)over),
            MHD_YES);
        CU_ASSERT_EQUAL(part(&s, "POST", "/api/plan", NULL, 0), MHD_YES);
        CU_ASSERT_EQUAL(web.status, over ? 413 : 0);
        CU_ASSERT_EQUAL(s.jobs.n, over ? 0 : 1);
        end(&s);
    }
    free(large);
    for (int i = 0; i < STRAIT_MAX_JOBS; i++)
        CU_ASSERT_EQUAL(
            strait_jobs_add(&s.jobs, STRAIT_HTTP_RUN, strdup("{}"), 2, &context_of_none), 0);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/plan", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/plan", "{}", 2), MHD_YES);
    CU_ASSERT_EQUAL(part(&s, "POST", "/api/plan", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(web.status, 503);
    CU_ASSERT_CONTAINS(web.head, "Retry-After: 1\n");
    CU_ASSERT_STRING_EQUAL(web.body, "{\"error\":\"request: expected fewer questions at a time, "
                                     "found 12 waiting\"}");
    CU_ASSERT_EQUAL(web.n_suspended, 1);
    end(&s);
    while (s.jobs.n > 0)
        strait_jobs_remove(&s.jobs, s.jobs.n - 1);

    set_up(&s);
    web.values[0] = "evil\xc3\xa9.example";
    CU_ASSERT_EQUAL(part(&s, "GET", "/", NULL, 0), MHD_YES);
    CU_ASSERT_EQUAL(web.status, 403);
    CU_ASSERT_CONTAINS(web.body, "evil??.example");
    end(&s);
}

static const struct strait_test tests[] = {
    {"what an experiment may name, and those that ship, are texts", texts},
    {"a body in parts is one question, whose end takes no other's", questions},
    {"what cannot be asked is refused with its status", refused},
};
#else
static void nothing(void)
{
    strait_test_skip("it was built without libmicrohttpd");
}

static const struct strait_test tests[] = {{"the library is not there", nothing}};
#endif
STRAIT_SUITE("serve/exchange", tests);
