/* Ends that measure a path: nobody there, ends that hang up or say something else, and a listener
 * that outlives them. */
#include "emu/path/path_probe.h"
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/path/path_end.h"
#include "tests/kit/suite.h"

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A listening socket, and the port that the system chose for it. */
static int listen_somewhere(char port[8])
{
    struct sockaddr_in at = loopback(0);
    socklen_t len = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 1) == 0 &&
                    getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    snprintf(port, 8, "%d", ntohs(at.sin_port));
    return fd;
}

static void probe(struct strait_error *err, const char *host, const char *port)
{
    const struct strait_path_plan plan = {
        .host = host, .port = port, .n_apart = 20, .max_burst_bytes = 1e5, .overhead_bytes = 24};
    struct strait_path found;
    *err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_path_probe(&found, &plan, err), -1);
}

static void nobody(void)
{
    char port[8], where[40];
    struct strait_error err;
    close(listen_somewhere(port));
    probe(&err, "127.0.0.1", port);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    snprintf(where, sizeof(where), "127.0.0.1:%s", port);
    CU_ASSERT_STRING_EQUAL(err.where, where);
    CU_ASSERT_CONTAINS(err.text, "cannot connect; strait calibrate net --listen");
    CU_ASSERT_CONTAINS(err.text, "Connection refused");
    probe(&err, "127.0.0.1", "no-such-service");
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, "127.0.0.1:no-such-service");
    CU_ASSERT(strncmp(err.text, "expected a host and a port: ", 28) == 0 && err.text[28]);
}

/* Takes a connection, reads an order and answers with so many bytes of text; hangs up after less
 * than an order. */
struct stranger {
    int fd;
    size_t n_bytes;
};

static void *answer(void *of)
{
    const struct stranger *s = of;
    char heard[STRAIT_PATH_ORDER_BYTES];
    const char said[STRAIT_PATH_ORDER_BYTES] = "HTTP/1.1 400 Bad Request";
    const int tcp = accept(s->fd, NULL, NULL);
    if (recv(tcp, heard, sizeof(heard), MSG_WAITALL) == sizeof(heard) &&
        send(tcp, said, s->n_bytes, MSG_NOSIGNAL) == (ssize_t)s->n_bytes &&
        s->n_bytes == STRAIT_PATH_ORDER_BYTES)
        recv(tcp, heard, 1, 0); /* until the other end leaves, or says more */
    close(tcp);
    return NULL;
}

static void strangers(void)
{
    static const struct {
        size_t n_bytes;
        enum strait_error_code code;
        const char *text;
    } cases[] = {
        {0, STRAIT_ERR_SYSTEM, "the other end closed the connection"},
        {STRAIT_PATH_ORDER_BYTES - 1, STRAIT_ERR_SYSTEM, "the other end closed the connection"},
        {STRAIT_PATH_ORDER_BYTES, STRAIT_ERR_INPUT,
         "expected strait calibrate net of this version at the other end"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char port[8];
        struct stranger s = {listen_somewhere(port), cases[i].n_bytes};
        struct strait_error err;
        pthread_t thread;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, answer, &s), 0);
        probe(&err, "127.0.0.1", port);
        strait_test_context("%zu bytes: %s", cases[i].n_bytes, err.text);
        CU_ASSERT_EQUAL(err.code, cases[i].code);
        CU_ASSERT_CONTAINS(err.text, cases[i].text);
        pthread_join(thread, NULL);
        close(s.fd);
    }
    strait_test_context("%s", "");
}

static void print(const struct strait_error *err)
{
    printf("%s\n", err->text);
    fflush(stdout);
}

/* A client that says so many bytes and hangs up. */
static void visit(const char *port, const char *text)
{
    const struct sockaddr_in to = loopback(atoi(port));
    int fd, tries = 0;
    do {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
            break;
        close(fd);
        usleep(10000);
        fd = -1;
    } while (++tries < 1000);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    close(fd);
}

/* One that gives orders, waits for the first answer, and leaves. */
static void visit_with(const char *port, const struct strait_path_order *orders, int n)
{
    const struct sockaddr_in to = loopback(atoi(port));
    struct strait_error err = {0};
    struct strait_path_end e = {.who = "there",
                                .tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    CU_ASSERT_EQUAL_FATAL(connect(e.tcp, (const struct sockaddr *)&to, sizeof(to)), 0);
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL(strait_path_tell(&e, &orders[i], &err), 0);
    struct pollfd p = {.fd = e.tcp, .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&p, 1, 60000), 1);
    close(e.tcp);
}

/* With nobody to tell it ends with the first; else it tells of each and serves the next. */
static void outlives(void)
{
    char port[8], line[200], garbage[STRAIT_PATH_ORDER_BYTES + 1];
    int ends[2];
    close(listen_somewhere(port));
    memset(garbage, 'x', sizeof(garbage) - 1);
    garbage[sizeof(garbage) - 1] = '\0';
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        struct strait_error err = {0};
        strait_path_serve(port, print, &err);
        _exit(1);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    for (int i = 0; i < 2; i++) {
        visit(port, i == 0 ? "" : garbage);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), said));
        CU_ASSERT_CONTAINS(line, i == 0 ? "the other end closed the connection"
                                        : "expected strait calibrate net of this version");
    }
    /* asked for packets before any came, by which it knows where to; and to tell of a train to one
     * that has left without reading its answers */
    static const struct strait_path_order give = {
        .word = STRAIT_PATH_GIVE, .n = 1, .payload_bytes = STRAIT_PATH_HEAD_BYTES};
    struct strait_path_order asked[] = {
        {.word = STRAIT_PATH_HELLO}, {.word = STRAIT_PATH_TAKE}, {.word = STRAIT_PATH_TAKEN}};
    visit_with(port, &give, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), said));
    CU_ASSERT_CONTAINS(line, "no packet of the other end came");
    visit_with(port, asked, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), said));
    CU_ASSERT_CONTAINS(line, "the connection broke");
    CU_ASSERT_EQUAL(waitpid(child, NULL, WNOHANG), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fclose(said);
    const pid_t once = fork();
    if (once == 0) {
        struct strait_error err = {0};
        const int status = strait_path_serve(port, NULL, &err);
        _exit(status == -1 && strstr(err.text, "the other end closed the connection") ? 0 : 1);
    }
    visit(port, "strait");
    int status = -1;
    waitpid(once, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

/* Over the loopback device, whose figures are the machine's: how many readings each one has, and
 * what a path cannot be. */
static void counts(void)
{
    char port[8];
    int status = -1;
    struct strait_error err = {0};
    struct strait_path found;
    close(listen_somewhere(port));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        struct strait_error own = {0};
        _exit(strait_path_serve(port, NULL, &own) == 0 ? 0 : 1);
    }
    const struct strait_path_plan plan = {.host = "127.0.0.1",
                                          .port = port,
                                          .n_apart = 50,
                                          .max_burst_bytes = 2e5,
                                          .overhead_bytes = 24,
                                          .connect_s = 60};
    CU_ASSERT_EQUAL(strait_path_probe(&found, &plan, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(found.rtt_s.n, 2 * 64);
    CU_ASSERT_EQUAL(found.message_s.n, 64);
    CU_ASSERT(strlen(found.congestion) > 2);
    const struct strait_path_direction *d[] = {&found.up, &found.down};
    for (int i = 0; i < 2; i++) {
        const size_t n_jitter = d[i]->jitter.n;
        strait_test_context("%s", i == 0 ? "up" : "down");
        CU_ASSERT_EQUAL(d[i]->loss.n, 50);
        CU_ASSERT_AT_MOST(d[i]->loss.value, 0.5);
        CU_ASSERT(n_jitter <= 50 ||
                  (n_jitter > 200 && n_jitter <= 400)); /* again where it jitters */
        /* four bursts of the same size, of 2e5 bytes at most: 133 packets of 1506 */
        CU_ASSERT_AT_MOST(d[i]->rate.n, 4 * 133);
        CU_ASSERT_AT_LEAST(d[i]->rate.n, 40);
        CU_ASSERT(d[i]->rate.value > 0);
        CU_ASSERT_AT_MOST(d[i]->queue.n, 4 * 133);
        CU_ASSERT_AT_LEAST(d[i]->queue.value, 1000);
    }
}

/* A client that leaves last leaves the port of this end behind, closed but not forgotten: the next
 * listener has it all the same. */
static void again(void)
{
    char port[8], garbage[STRAIT_PATH_ORDER_BYTES] = "something else", byte;
    close(listen_somewhere(port));
    const struct sockaddr_in to = loopback(atoi(port));
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            struct strait_error err = {0};
            strait_path_serve(port, NULL, &err);
            _exit(strstr(err.text, "of this version") ? 0 : 1);
        }
        int fd = -1, status = -1;
        while (fd < 0 && waitpid(child, &status, WNOHANG) == 0) {
            fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
                close(fd);
                fd = -1;
                usleep(10000);
            }
        }
        if (fd >= 0) {
            CU_ASSERT_EQUAL(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
            CU_ASSERT_EQUAL(recv(fd, &byte, 1, 0), 0); /* it leaves first */
            close(fd);
            CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        }
        CU_ASSERT_EQUAL(status, 0);
    }
}

static void no_port(void)
{
    char port[8];
    struct strait_error err = {0};
    const int fd = listen_somewhere(port);
    CU_ASSERT_EQUAL(strait_path_serve(port, NULL, &err), -1); /* it is taken */
    CU_ASSERT_CONTAINS(err.text, "cannot listen");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_path_serve("no-such-service", NULL, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected a port");
    close(fd);
}

static const struct strait_test tests[] = {
    {"where nobody listens, and names of nothing", nobody},
    {"ends that hang up or are no strait", strangers},
    {"a listener outlives clients that fail, and tells of them", outlives},
    {"figures have as many readings as were sent", counts},
    {"a port that was just left", again},
    {"a port that is taken or is none", no_port},
};
STRAIT_SUITE_WITH("emu/path/path_probe", tests, .slow_s = 6);
