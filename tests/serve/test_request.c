/* What a request may ask: names, methods, hosts, origins and bodies, each wrong in turn. */
#include <string.h>
#include "serve/request.h"
#include "tests/kit/suite.h"

static unsigned read_one(struct strait_http_request *r, const char *method, const char *path,
                         const char *host, const char *origin, const char *type, const char *length)
{
    struct strait_error err = {0};
    *r = (struct strait_http_request){.method = method,
                                      .path = path,
                                      .host = host,
                                      .origin = origin,
                                      .content_type = type,
                                      .length = length};
    return strait_http_request_read(r, &err);
}

static void hosts(void)
{
    static const char *const good[] = {"localhost", "LocalHost:8765", "127.0.0.1:1", "127.0.0.1"},
                             *const bad[] = {"evil.example",
                                             "localhost.evil.example",
                                             "127.0.0.1.evil.example:8765",
                                             "localhost:",
                                             "localhost:80x",
                                             "",
                                             NULL};
    struct strait_http_request r;
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(read_one(&r, "GET", "/", good[i], NULL, NULL, NULL), 0);
    for (size_t i = 0; i < 7; i++) {
        strait_test_context("%s", bad[i] ? bad[i] : "none");
        CU_ASSERT_EQUAL(read_one(&r, "GET", "/", bad[i], NULL, NULL, NULL), 403);
    }
}

static void files(void)
{
    struct strait_http_request r;
    static const char *const none[] = {
        "/page/../request.c", "/page/a/b.js", "/page/.js",   "/page/a.js.c", "/page/",
        "/page/a.html",       "/pages/a.js",  "/uplot/..js", "/index.html",  ""};
    CU_ASSERT_EQUAL(read_one(&r, "GET", "/page/main.js", "localhost", NULL, NULL, NULL), 0);
    CU_ASSERT_EQUAL(r.kind, STRAIT_HTTP_FILE);
    CU_ASSERT_STRING_EQUAL(r.file, "serve/page/main.js");
    CU_ASSERT_STRING_EQUAL(r.type, "text/javascript; charset=utf-8");
    CU_ASSERT_EQUAL(read_one(&r, "GET", "/plan", "localhost", NULL, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(r.file, "serve/page/index.html");
    CU_ASSERT_EQUAL(read_one(&r, "HEAD", "/uplot/uPlot.iife.min.js", "localhost", NULL, NULL, NULL),
                    0);
    CU_ASSERT_STRING_EQUAL(r.file, "page/uplot/uPlot.iife.min.js");
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        strait_test_context("%s", none[i]);
        CU_ASSERT_EQUAL(read_one(&r, "GET", none[i], "localhost", NULL, NULL, NULL), 404);
    }
    char path[400] = "/page/";
    memset(path + 6, 'a', 300);
    strcpy(path + 306, ".js");
    CU_ASSERT_EQUAL(read_one(&r, "GET", path, "localhost", NULL, NULL, NULL), 404);
}

static void methods(void)
{
    struct strait_http_request r;
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/", "localhost", NULL, NULL, NULL), 405);
    CU_ASSERT_EQUAL(read_one(&r, "GET", "/api/run", "localhost", NULL, NULL, NULL), 405);
    CU_ASSERT_EQUAL(read_one(&r, "DELETE", "/api/choices", "localhost", NULL, NULL, NULL), 405);
}

static void bodies(void)
{
    static const char json[] = "application/json";
    struct strait_http_request r;
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost:1", NULL, json, "1048576"), 0);
    CU_ASSERT_EQUAL(r.kind, STRAIT_HTTP_RUN);
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost:1", "http://localhost:1",
                             "Application/JSON; charset=utf-8", NULL),
                    0);
    CU_ASSERT_EQUAL(
        read_one(&r, "POST", "/api/run", "localhost:1", "http://evil.example", json, "2"), 403);
    CU_ASSERT_EQUAL(
        read_one(&r, "POST", "/api/run", "localhost:1", "https://localhost:1", json, "2"), 403);
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost:1", "null", json, "2"), 403);
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost", NULL, "text/plain", "2"), 415);
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost", NULL, "application/jsonp", "2"),
                    415);
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost", NULL, NULL, "2"), 415);
    CU_ASSERT_EQUAL(read_one(&r, "POST", "/api/run", "localhost", NULL, json, "1048577"), 413);
    CU_ASSERT_EQUAL(
        read_one(&r, "POST", "/api/run", "localhost", NULL, json, "99999999999999999999"), 413);
}

static const struct strait_test tests[] = {
    {"only localhost and 127.0.0.1 are hosts here", hosts},
    {"files of the page are found, and none elsewhere", files},
    {"other methods are refused", methods},
    {"bodies are JSON of this page and within limits", bodies},
};
STRAIT_SUITE("serve/request", tests);
