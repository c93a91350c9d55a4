/* The server over loopback: rows equal to those of strait run, bad requests, concurrency, its end.
 * It runs in a process of its own, which says its port when it takes requests. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/io.h"
#include "core/shipped.h"
#include "serve/server.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

static struct {
    pid_t pid;
    unsigned port;
} server;

static void tell(unsigned port, void *context)
{
    const int *fd = context;
    strait_io_write(*fd, &port, sizeof(port), STRAIT_IO_HERE);
}

/* False where libmicrohttpd is not installed, which the test finds out itself: it is skipped. */
static bool start(void)
{
    int fds[2];
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (library)
        dlclose(library);
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    server.pid = fork();
    CU_ASSERT_FATAL(server.pid >= 0);
    if (server.pid == 0) {
        struct strait_error err = {0};
        json_t *choices = json_pack("{s:s}", "version", "of the test"), *none = json_array();
        close(fds[0]);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that fails in between leaves nothing */
        const struct strait_server_options o = {
            .choices = choices, .experiments = none, .ready = tell, .context = &fds[1]};
        const int failed = strait_server_run(&o, &err);
        json_decref(choices);
        json_decref(none);
        _exit(failed ? strait_error_exit_status(&err) : 0);
    }
    close(fds[1]);
    const bool ready = strait_io_read(fds[0], &server.port, sizeof(server.port), STRAIT_IO_HERE);
    close(fds[0]);
    if (ready)
        return true;
    int status;
    CU_ASSERT_EQUAL(waitpid(server.pid, &status, 0), server.pid);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 3);
    CU_ASSERT_PTR_NULL_FATAL(library); /* where it is, the server starts */
    strait_test_skip("libmicrohttpd is not installed");
    return false;
}

static void stop(void)
{
    int status = -1;
    kill(server.pid, SIGTERM);
    CU_ASSERT_EQUAL(waitpid(server.pid, &status, 0), server.pid);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

static int reach(void)
{
    const struct sockaddr_in there = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)server.port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)&there, sizeof(there)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    CU_ASSERT_EQUAL(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that comes until the server closes. */
static char *hear(int fd)
{
    size_t n = 0, cap = 1 << 16;
    char *text = malloc(cap);
    for (ssize_t got; (got = recv(fd, text + n, cap - n - 1, 0)) > 0; n += (size_t)got)
        if (cap - n < 4096) {
            char *more = realloc(text, cap *= 2);
            if (!more)
                abort();
            text = more;
        }
    text[n] = '\0';
    close(fd);
    return text;
}

static char *ask(const char *head, const char *body)
{
    const int fd = reach();
    char text[8192];
    snprintf(text, sizeof(text), "%s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", head,
             strlen(body), body);
    say(fd, text);
    return hear(fd);
}

#define POST  "POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
#define CHECK "POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
#define PLAN  "POST /api/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
#define TEN   "[0,1,2,3,4,5,6,7,8,9]"
#define POINT(model, clients)                                                                      \
    "{\"schema\": \"strait-experiment/1\", \"model\": \"" model "\", \"clients\": " clients        \
    ", \"strategy\": \"fedavg\", \"network\": {\"client\": {\"rate\": \"1 Gbps\"}, \"server\": "   \
    "{\"rate\": \"1 Gbps\"}}}"
static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2},"
    " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
    " \"network\": {\"client\": {\"rate\": \"10 Mbps\", \"rtt\": \"20 ms\"},"
    " \"server\": {\"rate\": \"100 Mbps\"}}, \"vary\": {\"/clients\": [2, 3, 5]}}";

static unsigned status_of(const char *answer)
{
    unsigned status = 0;
    CU_ASSERT_EQUAL(sscanf(answer, "HTTP/1.1 %u", &status), 1);
    return status;
}

static json_t *json_of(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");
    return body ? json_loads(body + 4, 0, NULL) : NULL;
}

/* What the moment, the program and the way of asking put into a row. */
static void forget_moment(json_t *row)
{
    static const char *const moment[] = {"wall_s", "key", "stored", "record"};
    for (size_t i = 0; i < sizeof(moment) / sizeof(*moment); i++)
        json_object_del(row, moment[i]);
}

static void equal_rows(void)
{
    struct program p = {.uid = 0};
    if (!start())
        return;
    program_set_up(&p);
    program_write(&p, "e.json", experiment);
    struct said s = PROGRAM_CALL(&p, "run", "e.json", "--on", "fluid", "--json", "--out", "r");
    CU_ASSERT_EQUAL(s.status, 0);
    char body[2048];
    snprintf(body, sizeof(body), "{\"experiment\": %s, \"round\": true}", experiment);
    char *answer = ask(POST, body);
    CU_ASSERT_EQUAL(status_of(answer), 200);
    json_t *json = json_of(answer), *rows = json_object_get(json, "rows");
    size_t n = 0;
    for (const char *line = s.out; *line; line = strchr(line, '\n') + 1) {
        json_t *row = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL), *ours = NULL, *other;
        size_t i;
        const char *record = json_string_value(json_object_get(row, "record"));
        if (strcmp(record ? record : "", "row") != 0) { /* a break-even */
            json_decref(row);
            continue;
        }
        json_array_foreach (rows, i, other)
            if (json_equal(json_object_get(row, "point"), json_object_get(other, "point")))
                ours = other;
        CU_ASSERT_PTR_NOT_NULL_FATAL(ours);
        forget_moment(row);
        forget_moment(ours);
        strait_test_context("row %zu", n++);
        CU_ASSERT_TRUE(json_equal(row, ours));
        json_decref(row);
    }
    strait_test_context("rows");
    CU_ASSERT_EQUAL(n, json_array_size(rows));
    CU_ASSERT_EQUAL(n, 6); /* 3 counts, each with its uncompressed counterpart */
    /* The shown round: of 2 clients and a server, its spans within it, as long as the row says. */
    json_t *round = json_object_get(json, "round");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(round, "ranks")), 3);
    const double start_s = json_number_value(json_object_get(round, "start_s")),
                 end_s = json_number_value(json_object_get(round, "end_s"));
    CU_ASSERT_DOUBLE_EQUAL(
        end_s - start_s,
        json_number_value(json_array_get(json_object_get(json_array_get(rows, 0), "rounds_s"), 1)),
        1e-9);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(round, "n_spans")),
                    json_array_size(json_object_get(round, "spans")));
    json_decref(json);
    free(answer);
    said_release(&s);
    stop();
    program_tear_down(&p);
}

/* The same plan from the page and from a file. */
static void equal_plans(void)
{
    static const char plan[] = "{\"schema\": \"strait-plan/1\", \"experiment\": " POINT(
        "cnn", "4") ", \"target\": {\"round\": \"2 s\"}, \"rounds\": 10, \"prices\": {\"schema\": "
                    "\"strait-prices/1\", \"source\": \"of the test\", \"egress\": \"2 EUR/GB\"}, "
                    "\"vary\": "
                    "{\"/codec\": [\"none\", \"zstd\"], \"/strategy/decode_cores\": [1, 2]}}";
    struct program p = {.uid = 0};
    if (!start())
        return;
    program_set_up(&p);
    program_write(&p, "p.json", plan);
    struct said s = PROGRAM_CALL(&p, "plan", "p.json", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    char body[2048];
    snprintf(body, sizeof(body), "{\"plan\": %s}", plan);
    char *answer = ask(PLAN, body);
    CU_ASSERT_EQUAL(status_of(answer), 200);
    json_t *ours = json_of(answer), *theirs = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
    json_object_del(theirs, "file");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(ours, "ranked")), 4);
    CU_ASSERT_TRUE(json_equal(json_object_get(ours, "ranked"), json_object_get(theirs, "ranked")));
    CU_ASSERT_TRUE(json_equal(json_object_get(ours, "text"), json_object_get(theirs, "text")));
    json_decref(ours);
    json_decref(theirs);
    free(answer);
    said_release(&s);
    stop();
    program_tear_down(&p);
}

static void bad_requests(void)
{
    static const struct {
        const char *head, *body;
        unsigned status;
        const char *text;
    } bad[] = {
        {POST, "{\"experiment\": {\"model\": 3}}", 400,
         "{\"error\":\"experiment#/schema: expected"},
        {POST, "nonsense", 400, "{\"error\":\"body:1:8: expected an object"},
        {POST, "", 400, "expected a body"},
        {"POST /api/run HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json", "{}",
         403, "as the host"},
        {POST "\r\nOrigin: http://evil.example", "{}", 403, "origin"},
        {"POST /api/run HTTP/1.1\r\nHost: localhost", "{}", 415, "application/json"},
        {"GET /api/run HTTP/1.1\r\nHost: localhost", "", 405, "expected POST"},
        {POST, "{\"experiment\": " POINT("cnn", "3") ", \"why\": true}", 200,
         "the server's port, in"},
        {CHECK, "{\"experiment\": " POINT("cnn", "17") "}", 400,
         "expected at most 16 clients to emulate here, found 17"},
        {CHECK, "{\"experiment\": " POINT("gpt2-small", "2") "}", 400,
         "expected a model of at most 60 MB to emulate here, found 498 MB"},
        {PLAN, "{\"plan\": 3}", 400, "body#/plan: expected an object"},
        {PLAN, "{}", 400, "body#/plan: expected an object"},
        {PLAN, "{\"plan\": {\"schema\": \"strait-plan/1\", \"experiment\": \"/tmp/e.json\"}}", 400,
         "plan#/experiment: expected a name that ships, found the path"},
        {PLAN,
         "{\"plan\": {\"schema\": \"strait-plan/1\", \"experiment\": " POINT(
             "cnn", "2") ", \"target\": {\"round\": \"1\"}, \"vary\": {\"/codec\": [\"none\"]}}}",
         400, "plan#/target/round: expected a time"},
        {PLAN, "{\"plan\": {\"vary\": {\"/a\": " TEN ", \"/b\": " TEN ", \"/c\": " TEN "}}}", 400,
         "plan#/vary: expected at most 400 candidates"},
        {"GET /etc/passwd HTTP/1.1\r\nHost: localhost", "", 404, "known here"},
        {"GET /api/choices HTTP/1.1\r\nHost: localhost", "", 200, "of the test"},
    };
    if (!start())
        return;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        strait_test_context("%s %s", bad[i].head, bad[i].body);
        char *answer = ask(bad[i].head, bad[i].body);
        CU_ASSERT_EQUAL(status_of(answer), bad[i].status);
        CU_ASSERT_CONTAINS(answer, bad[i].text);
        if (bad[i].status >= 400) /* JSON for the page, whatever is wrong */
            CU_ASSERT_CONTAINS(answer, "\r\n\r\n{\"error\":\"");
        CU_ASSERT_CONTAINS(answer, "Content-Security-Policy: default-src 'none'; ");
        free(answer);
    }
    stop();
}

/* A file of the page as it lies in the tree, and what every answer says beside its body: OWASP's
 * Secure Headers Project, for a page that loads nothing from elsewhere. */
static void page_files(void)
{
    static const char *const headers[] = {
        "\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'\r\n",
        "\r\nX-Content-Type-Options: nosniff\r\n",
        "\r\nReferrer-Policy: no-referrer\r\n",
        "\r\nCross-Origin-Opener-Policy: same-origin\r\n",
        "\r\nCross-Origin-Resource-Policy: same-origin\r\n",
        "\r\nCache-Control: no-store\r\n"};
    static const struct {
        const char *name, *file, *type;
    } files[] = {{"/page/main.js", "serve/page/main.js", "text/javascript; charset=utf-8"},
                 {"/", "serve/page/index.html", "text/html; charset=utf-8"},
                 {"/api/choices", NULL, "application/json"},
                 {"/page/none.js", NULL, "application/json"}};
    if (!start())
        return;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char head[128], path[4096], type[96];
        snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: localhost", files[i].name);
        char *answer = ask(head, "");
        strait_test_context("%s", files[i].name);
        CU_ASSERT_EQUAL(status_of(answer), i < 3 ? 200 : 404);
        for (size_t k = 0; k < sizeof(headers) / sizeof(*headers); k++)
            CU_ASSERT_CONTAINS(answer, headers[k]);
        snprintf(type, sizeof(type), "\r\nContent-Type: %s\r\n", files[i].type);
        CU_ASSERT_CONTAINS(answer, type);
        CU_ASSERT_PTR_NULL(strstr(answer, "Retry-After")); /* nobody is too busy */
        if (files[i].file) {
            FILE *in = fopen(strait_share_path(path, sizeof(path), files[i].file), "rb");
            CU_ASSERT_PTR_NOT_NULL_FATAL(in);
            char *text = calloc(1, 1 << 20);
            const size_t n = fread(text, 1, 1 << 20, in);
            fclose(in);
            const char *body = strstr(answer, "\r\n\r\n") + 4;
            CU_ASSERT_EQUAL(strlen(body), n);
            CU_ASSERT_EQUAL(strcmp(body, text), 0);
            free(text);
        }
        free(answer);
    }
    stop();
}

/* A body that announces more than it may, one that sends it in chunks, a line without an end, and
 * one that ends in the middle: each is answered or closed, and the next is served. */
static void sizes(void)
{
    if (!start())
        return;
    int fd = reach();
    say(fd, POST "\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\n");
    char *answer = hear(fd);
    CU_ASSERT_EQUAL(status_of(answer), 413);
    free(answer);

    fd = reach();
    say(fd, POST "\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    char *block = malloc(65536 + 16);
    memcpy(block, "10000\r\n", 7);
    memset(block + 7, ' ', 65536);
    memcpy(block + 7 + 65536, "\r\n", 3);
    for (int i = 0; i < 20; i++) /* 1.25 MiB */
        say(fd, block);
    say(fd, "0\r\n\r\n");
    answer = hear(fd);
    CU_ASSERT_EQUAL(status_of(answer), 413);
    free(answer);

    fd = reach();
    memset(block, 'a', 65536);
    block[65536] = '\0';
    send(fd, block, 65536, MSG_NOSIGNAL); /* the server may close before the end */
    close(fd);
    free(block);

    fd = reach();
    say(fd, POST "\r\nContent-Length: 100\r\n\r\n{");
    close(fd);

    answer = ask("GET /api/experiments HTTP/1.1\r\nHost: 127.0.0.1", "");
    CU_ASSERT_EQUAL(status_of(answer), 200);
    free(answer);
    stop();
}

/* More questions at once than are computed at a time: each gets its own answer. */
static void at_once(void)
{
    enum { N = 10 };
    int fds[N];
    if (!start())
        return;
    for (int i = 0; i < N; i++) {
        char text[2048], body[1024];
        snprintf(body, sizeof(body),
                 "{\"experiment\": {\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", "
                 "\"clients\": %d, \"strategy\": \"fedavg\", \"network\": {\"client\": {\"rate\": "
                 "\"1 Gbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}}}",
                 i + 1);
        snprintf(text, sizeof(text), POST "\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
        fds[i] = reach();
        say(fds[i], text);
    }
    for (int i = 0; i < N; i++) {
        char *answer = hear(fds[i]);
        strait_test_context("question %d", i);
        CU_ASSERT_EQUAL(status_of(answer), 200);
        json_t *json = json_of(answer);
        const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(row, "clients")), i + 1);
        json_decref(json);
        free(answer);
    }
    stop();
}

/* Who asks and goes away leaves no process, and the server ends while it computes: stop() waits for
 * it, and its process group is gone then. */
static void ends_while_asked(void)
{
    static const char slow[] =
        "{\"experiment\": {\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", "
        "\"clients\": 900, \"strategy\": {\"name\": \"bsp\", \"rounds\": 3}, \"network\": "
        "{\"client\": {\"rate\": \"1 Gbps\"}}}}";
    char text[2048];
    if (!start())
        return;
    snprintf(text, sizeof(text), POST "\r\nContent-Length: %zu\r\n\r\n%s", strlen(slow), slow);
    for (int i = 0; i < 4; i++) {
        const int gone = reach();
        say(gone, text);
        close(gone);
    }
    const int fd = reach();
    say(fd, text);
    char *answer = ask("GET /api/experiments HTTP/1.1\r\nHost: 127.0.0.1", "");
    CU_ASSERT_EQUAL(status_of(answer), 200); /* others are served meanwhile */
    free(answer);
    stop();
    free(hear(fd));
}

static void taken_port(void)
{
    char text[64];
    struct strait_error err = {0};
    json_t *none = json_array();
    if (start()) {
        const struct strait_server_options o = {
            .port = server.port, .choices = none, .experiments = none};
        CU_ASSERT_EQUAL(strait_server_run(&o, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
        snprintf(text, sizeof(text), "expected port %u to be free", server.port);
        CU_ASSERT_CONTAINS(err.text, text);
        stop();
    }
    json_decref(none);
}

static const struct strait_test tests[] = {
    {"rows are those of strait run, to the last digit", equal_rows},
    {"plans are those of strait plan", equal_plans},
    {"bad requests are refused with one line", bad_requests},
    {"files of the page come as they are, and every answer with its headers", page_files},
    {"large, endless and broken requests end", sizes},
    {"questions at once get each its own answer", at_once},
    {"the server ends while questions run", ends_while_asked},
    {"a port that another has is named", taken_port},
};
STRAIT_SUITE("serve/server", tests);
