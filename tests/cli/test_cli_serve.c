/* strait serve from outside: the address that it prints, and what an experiment of the page may
 * name, which is what strait list says. */
#include <arpa/inet.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/kit/data.h"
#include "tests/kit/program.h"

static struct program program;

/* The body of an answer. */
static json_t *ask(const char *path, unsigned port)
{
    char request[256];
    size_t n = 0;
    static char answer[1 << 20];
    const struct sockaddr_in there = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)&there, sizeof(there)), 0);
    CU_ASSERT_EQUAL(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    for (ssize_t got; (got = recv(fd, answer + n, sizeof(answer) - n - 1, 0)) > 0;)
        n += (size_t)got;
    answer[n] = '\0';
    close(fd);
    const char *body = strstr(answer, "\r\n\r\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(body);
    return json_loads(body + 4, 0, NULL);
}

/* The rows of strait list, one JSON a line. */
static json_t *listed(const char *what)
{
    json_t *rows = json_array();
    struct said s = PROGRAM_CALL(&program, "list", what, "--json");
    char *rest;
    CU_ASSERT_EQUAL(s.status, 0);
    for (char *line = strtok_r(s.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        json_array_append_new(rows, json_loads(line, 0, NULL));
    said_release(&s);
    return rows;
}

/* The bounds of sz in the shipped profile, from the file itself. */
static void expect_bounds(const json_t *codec)
{
    size_t i;
    json_t *entry, *profile = json_load_file(DATA("codecs/profiles/default.json"), 0, NULL);
    double low = 1e9, high = 0;
    json_array_foreach (json_object_get(profile, "entries"), i, entry) {
        const json_t *range = json_object_get(json_object_get(entry, "bound"), "range"),
                     *settings = json_object_get(entry, "settings");
        if (strcmp(json_string_value(json_object_get(entry, "codec")), "sz") != 0 || !range ||
            settings)
            continue;
        low = json_number_value(range) < low ? json_number_value(range) : low;
        high = json_number_value(range) > high ? json_number_value(range) : high;
    }
    const json_t *found = json_object_get(json_object_get(codec, "measured"), "range");
    CU_ASSERT(high > low);
    CU_ASSERT_EQUAL(json_number_value(json_array_get(found, 0)), low);
    CU_ASSERT_EQUAL(json_number_value(json_array_get(found, 1)), high);
    json_decref(profile);
}

static void expect_choices(json_t *choices)
{
    static const char *const lists[] = {"models", "codecs", "strategies", "networks", "tasks"};
    size_t k;
    json_t *row;
    json_array_foreach (json_object_get(choices, "codecs"), k, row) {
        if (strcmp(json_string_value(json_object_get(row, "name")), "sz") == 0) {
            CU_ASSERT_TRUE(json_is_true(json_object_get(row, "in_profile")));
            expect_bounds(row);
        }
        CU_ASSERT_TRUE(json_is_object(json_object_get(row, "measured")));
        json_object_del(row, "measured");
        json_object_del(row, "in_profile");
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        json_t *rows = listed(lists[i]);
        strait_test_context("%s", lists[i]);
        CU_ASSERT(json_array_size(rows) > 0);
        CU_ASSERT_TRUE(json_equal(rows, json_object_get(choices, lists[i])));
        json_decref(rows);
    }
    CU_ASSERT_EQUAL(json_object_size(choices), 6); /* and the version */
}

/* That nobody has now. */
static unsigned free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *)&at, n), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void answers(void)
{
    char number[16], wanted[64];
    const char *const args[] = {"serve", "--port", number, NULL};
    const unsigned port = free_port();
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    char url[64] = "";
    int status;
    snprintf(number, sizeof(number), "%u", port);
    snprintf(wanted, sizeof(wanted), "http://127.0.0.1:%u/\n", port);
    program_set_up(&program);
    const pid_t pid = program_start(&program, "serve", args);
    while (!*url && waitpid(pid, &status, WNOHANG) == 0) {
        char *out = program_read(&program, "serve.out");
        snprintf(url, sizeof(url), "%.*s", strchr(out, '\n') ? 60 : 0, out);
        free(out);
        nanosleep(&moment, NULL);
    }
    if (!*url && WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        strait_test_skip("libmicrohttpd is not installed");
    } else {
        CU_ASSERT_STRING_EQUAL(url, wanted);
        json_t *choices = ask("/api/choices", port), *all = ask("/api/experiments", port),
               *rows = listed("experiments");
        CU_ASSERT_PTR_NOT_NULL_FATAL(choices);
        expect_choices(choices);
        CU_ASSERT_TRUE(json_equal(all, rows));
        json_decref(choices);
        json_decref(all);
        json_decref(rows);
        kill(pid, SIGINT);
        CU_ASSERT_EQUAL(program_wait(pid), 0);
        char *err = program_read(&program, "serve.err");
        CU_ASSERT_STRING_EQUAL(err, "serve: Ctrl-C ends it\n");
        free(err);
    }
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"strait serve prints its address and answers with what strait list says", answers},
};
STRAIT_SUITE("cli/cli_serve", tests);
