/* strait calibrate net: over loopback what it writes, in virtual time what it finds. */
#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/kit/guest.h"
#include "tests/kit/program.h"

/* A port of TCP and UDP that nobody has now. */
static void free_port(char text[16])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    getsockname(fd, (struct sockaddr *)&at, &len);
    close(fd);
    snprintf(text, 16, "%u", ntohs(at.sin_port));
}

static double value_of(const json_t *measured, const char *direction, const char *name,
                       const char *what)
{
    const json_t *of = direction ? json_object_get(measured, direction) : measured;
    return json_number_value(json_object_get(json_object_get(of, name), what));
}

/* What loopback is depends on the machine; that the file is one of a network does not. */
static void loopback(void)
{
    struct program p;
    char port[16], address[32];
    program_set_up(&p);
    free_port(port);
    snprintf(address, sizeof(address), "127.0.0.1:%s", port);
    const pid_t peer = program_start(
        &p, "peer", (const char *const[]){"calibrate", "net", "--listen", port, "--once", NULL});
    struct said s = PROGRAM_CALL(&p, "calibrate", "net", address, "--packets", "100", "--burst",
                                 "200 KB", "--out", "here.json", "--title", "this machine");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "");
    double rtt, rtt_error;
    char unit[8], error_unit[8];
    const char *line = strstr(s.out, "round trip"); /* "round trip  30 us  0.5 us" */
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_EQUAL(sscanf(line, "round trip %lf %7s %lf %7s", &rtt, unit, &rtt_error, error_unit),
                    4);
    CU_ASSERT(rtt > 0 && rtt_error >= 0);
    CU_ASSERT_EQUAL(program_wait(peer), 0);
    said_release(&s);
    char *text = program_read(&p, "here.json");
    json_t *file = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "title")), "this machine");
    const json_t *measured = json_object_get(file, "measured");
    CU_ASSERT(value_of(measured, "out", "rate", "value") > 0);
    CU_ASSERT(value_of(measured, "in", "rate", "value") > 0);
    CU_ASSERT_EQUAL(value_of(measured, "out", "loss", "readings"), 100);
    CU_ASSERT_EQUAL(value_of(measured, NULL, "message", "readings"), 64);
    json_decref(file);
    free(text);
    s = PROGRAM_CALL(&p, "check", "wan-check", "--on", "sim", "--set", "/network=./here.json");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    s = PROGRAM_CALL(&p, "calibrate", "net", address, "--out", "here.json");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "--force");
    said_release(&s);
    program_tear_down(&p);
}

/* The other end speaks something else, or nobody is there. */
static void strangers(void)
{
    struct program p;
    char port[16], address[32];
    program_set_up(&p);
    free_port(port);
    snprintf(address, sizeof(address), "127.0.0.1:%s", port);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_port = htons((uint16_t)atoi(port));
    CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
    const pid_t probe =
        program_start(&p, "probe", (const char *const[]){"calibrate", "net", address, NULL});
    const int other = accept(listener, NULL, NULL);
    const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n";
    CU_ASSERT_EQUAL(write(other, answer, sizeof(answer)), sizeof(answer));
    CU_ASSERT_EQUAL(program_wait(probe), 2);
    char *err = program_read(&p, "probe.err");
    CU_ASSERT_CONTAINS(err, "expected strait calibrate net of this version at the other end");
    free(err);
    close(other);
    close(listener);
    program_tear_down(&p);
}

/* Out 37 Mbps with a queue of 150 KB and 1 % loss, in 100 Mbps, 40 ms. In virtual time nothing but
 * the path takes time: a rate is right to a tenth of a per mille; the round trip is at most longer
 * by what a frame of 1514 + 24 B takes on each link, 0.33 + 0.12 + 2 x 0.012 ms and 2 us each, and
 * shorter by the microsecond to which packets are stamped; the queue is right to one packet beside
 * its error; loss to six errors, sqrt(0.01 0.99 / 600) = 0.41 % each. */
static void virtual_time(void)
{
    static const char run[] =
        "if [ $RANK = 0 ]; then exec \"$0\" calibrate net --listen 5300 --once; fi; "
        "exec \"$0\" calibrate net server:5300 --packets 600 --json";
    struct program p;
    if (!guest_boots(true))
        return;
    program_set_up(&p);
    program_write(
        &p, "net.json",
        "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"strategy\": \"fedavg\","
        " \"network\": {\"client\": {\"rate\": \"100 Mbps\", \"rtt\": \"40 ms\", \"out\":"
        " {\"rate\": \"37 Mbps\", \"queue\": \"150 KB\", \"loss\": \"1 %\"}},"
        " \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 1}\n");
    struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--ranks", "all", "--launcher",
                                 "vuml", "--limit", "600", "--", "sh", "-c", run, p.path);
    CU_ASSERT_EQUAL(s.status, 0);
    const char *at = strchr(s.out, '{');
    json_t *file = at ? json_loads(at, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const json_t *measured = json_object_get(file, "measured");
    CU_ASSERT_DOUBLE_EQUAL(value_of(measured, "out", "rate", "value"), 37e6, 3700);
    CU_ASSERT_DOUBLE_EQUAL(value_of(measured, "in", "rate", "value"), 1e8, 1e4);
    CU_ASSERT_AT_LEAST(value_of(measured, NULL, "rtt", "value"), 0.04 - 1e-6);
    CU_ASSERT_AT_MOST(value_of(measured, NULL, "rtt", "value"), 0.04 + 0.00049);
    CU_ASSERT_DOUBLE_EQUAL(value_of(measured, "out", "queue", "value"), 150e3, 1538 + 444);
    CU_ASSERT_DOUBLE_EQUAL(value_of(measured, "out", "loss", "value"), 0.01, 6 * 0.0041);
    CU_ASSERT_EQUAL(value_of(measured, "in", "loss", "value"), 0);
    CU_ASSERT_PTR_NULL(json_object_get(
        json_object_get(json_object_get(json_object_get(file, "network"), "client"), "in"),
        "queue"));
    json_decref(file);
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"a path is measured, and its file is a network", loopback},
    {"whoever else answers is refused", strangers},
    {"in virtual time a path's rate, queue, loss and round trip are found", virtual_time},
};
STRAIT_SUITE_WITH("cli/net/calibrate_net", tests, .slow_s = 8);
