/* One end of a measured path, with the test at the other: what packets and orders look like byte by
 * byte, what is taken of those that come, and what is refused. */
#include "emu/path/path_end.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/bytes.h"
#include "tests/kit/suite.h"

enum { MAGIC = 0x48545053, NUMBER = 77, HEAD = STRAIT_PATH_HEAD_BYTES };

static struct {
    struct strait_path_end end;
    int tcp, udp; /* the test's */
} w;

static void set_up(void)
{
    struct sockaddr_in at[2];
    struct strait_error err = {0};
    int tcp[2], udp[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, tcp), 0);
    for (int i = 0; i < 2; i++) {
        socklen_t len = sizeof(at[i]);
        at[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        udp[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        CU_ASSERT_FATAL(udp[i] >= 0 && bind(udp[i], (struct sockaddr *)&at[i], len) == 0 &&
                        getsockname(udp[i], (struct sockaddr *)&at[i], &len) == 0);
    }
    CU_ASSERT_EQUAL_FATAL(connect(udp[1], (struct sockaddr *)&at[0], sizeof(at[0])), 0);
    CU_ASSERT_EQUAL_FATAL(strait_path_end_init(&w.end, tcp[0], udp[0], "there", &err), 0);
    CU_ASSERT(isnan(w.end.echo_s));
    w.end.number = NUMBER;
    w.end.to = at[1];
    w.end.knows_to = true;
    w.tcp = tcp[1];
    w.udp = udp[1];
}

static void tear_down(void)
{
    close(w.end.udp);
    strait_path_end_release(&w.end);
    if (w.tcp >= 0)
        close(w.tcp);
    close(w.udp);
}

/* --- packets ---------------------------------------------------------------------------------- */

static void say(uint32_t magic, uint32_t number, uint32_t train, uint32_t in_train, double sent_s,
                size_t n)
{
    unsigned char b[200] = "";
    strait_put32(b, magic);
    strait_put32(b + 4, number);
    strait_put32(b + 8, train);
    strait_put32(b + 12, in_train);
    strait_put_double(b + 16, sent_s);
    CU_ASSERT_EQUAL(send(w.udp, b, n, 0), (ssize_t)n);
}

/* The next packet for the test. */
static void hear(uint32_t train, uint32_t in_train, size_t n, double *sent_s)
{
    unsigned char b[2000];
    memset(b, 1, sizeof(b));
    struct pollfd p = {.fd = w.udp, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&p, 1, 60000), 1);
    CU_ASSERT_EQUAL(recv(w.udp, b, sizeof(b), 0), (ssize_t)n);
    CU_ASSERT_EQUAL(strait_get32(b), MAGIC);
    CU_ASSERT_EQUAL(strait_get32(b + 4), NUMBER);
    CU_ASSERT_EQUAL(strait_get32(b + 8), train);
    CU_ASSERT_EQUAL(strait_get32(b + 12), in_train);
    *sent_s = strait_get_double(b + 16);
    for (size_t i = HEAD; i < n; i++)
        if (b[i] != 0)
            CU_FAIL("zeros behind the head");
}

static void none(void)
{
    char b;
    CU_ASSERT_EQUAL(recv(w.udp, &b, 1, MSG_DONTWAIT), -1);
    CU_ASSERT_EQUAL(errno, EAGAIN);
}

static void sent(void)
{
    struct strait_error err = {0};
    struct strait_path_order o = {.number = 5, .n = 3, .payload_bytes = 100, .is_held = true};
    double sent_s, before_s = -1;
    set_up();
    CU_ASSERT_EQUAL(strait_path_send(&w.end, &o, &err), 0);
    CU_ASSERT_FALSE(o.is_held);
    for (uint32_t i = 0; i < 3; i++) {
        hear(5, i, 100, &sent_s);
        CU_ASSERT(sent_s >= 0 && sent_s >= before_s && sent_s <= strait_path_now_s(&w.end));
        before_s = sent_s;
    }
    none();
    o = (struct strait_path_order){.number = 6, .n = 4, .payload_bytes = HEAD, .gap_s = 0.02};
    CU_ASSERT_EQUAL(strait_path_send(&w.end, &o, &err), 0);
    hear(6, 0, HEAD, &before_s);
    for (uint32_t i = 1; i < 4; i++) {
        hear(6, i, HEAD, &sent_s);
        CU_ASSERT_AT_LEAST(sent_s - before_s, 0.02 * i - 1e-6);
    }
    CU_ASSERT_EQUAL(strait_path_send_echo(&w.end, 9, 50, &err), 0);
    hear(0, 9, 50, &sent_s);
    CU_ASSERT(isnan(w.end.echo_s));
    o = (struct strait_path_order){.n = 1, .payload_bytes = 65507}; /* more than the loopback's */
    CU_ASSERT_EQUAL(strait_path_send(&w.end, &o, &err), 0);
    tear_down();
}

/* Only packets of this measurement, of the train that runs, with all of a head. */
static void taken(void)
{
    struct strait_error err = {0};
    set_up();
    w.end.train = 4;
    say(MAGIC, NUMBER, 4, 10, 0.25, HEAD);
    say(MAGIC + 1, NUMBER, 4, 11, 0.25, HEAD);
    say(MAGIC, NUMBER + 1, 4, 12, 0.25, HEAD);
    say(MAGIC, NUMBER, 3, 13, 0.25, HEAD);
    say(MAGIC, NUMBER, 5, 14, 0.25, HEAD);
    say(MAGIC, NUMBER, 4, 15, 0.25, HEAD - 1);
    say(MAGIC, NUMBER, 1, 16, 0.25, HEAD); /* an answer to no echo of this one */
    say(MAGIC, NUMBER, 4, 17, 0.5, HEAD + 60);
    CU_ASSERT_EQUAL(strait_path_drain(&w.end, 0.05, &err), 0);
    CU_ASSERT_EQUAL_FATAL(w.end.n_arrived, 2);
    CU_ASSERT_EQUAL(w.end.packets[0].number, 10);
    CU_ASSERT_EQUAL(w.end.packets[0].sent_s, 0.25);
    CU_ASSERT_EQUAL(w.end.packets[1].number, 17);
    CU_ASSERT_EQUAL(w.end.packets[1].sent_s, 0.5);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_AT_LEAST(w.end.packets[i].arrived_s, 0);
        CU_ASSERT_AT_MOST(w.end.packets[i].arrived_s, strait_path_now_s(&w.end));
    }
    CU_ASSERT(isnan(w.end.echo_s));
    none();
    w.end.n_arrived = STRAIT_PATH_MAX_PACKETS - 1; /* there is room for one more */
    say(MAGIC, NUMBER, 4, 18, 0, HEAD);
    say(MAGIC, NUMBER, 4, 19, 0, HEAD);
    CU_ASSERT_EQUAL(strait_path_drain(&w.end, 0.05, &err), 0);
    CU_ASSERT_EQUAL(w.end.n_arrived, STRAIT_PATH_MAX_PACKETS);
    CU_ASSERT_EQUAL(w.end.packets[STRAIT_PATH_MAX_PACKETS - 1].number, 18);
    w.end.n_arrived = 0;
    tear_down();
}

/* An echo comes back in its own length with the time that it brought; the first answer counts. */
static void echoes(void)
{
    struct strait_error err = {0};
    double sent_s;
    set_up();
    w.end.knows_to = false;
    memset(&w.end.to, 0, sizeof(w.end.to));
    say(MAGIC, NUMBER, 0, 3, 0.125, 64);
    CU_ASSERT_EQUAL(strait_path_drain(&w.end, 0.05, &err), 0);
    CU_ASSERT(w.end.knows_to); /* where it came from */
    hear(1, 3, 64, &sent_s);
    CU_ASSERT_EQUAL(sent_s, 0.125);
    CU_ASSERT_EQUAL(strait_path_send_echo(&w.end, 21, 40, &err), 0);
    hear(0, 21, 40, &sent_s);
    say(MAGIC, NUMBER, 1, 20, 0, HEAD); /* of the one before */
    CU_ASSERT_EQUAL(strait_path_take(&w.end, strait_path_now_s(&w.end) + 0.05, &err), 0);
    CU_ASSERT(isnan(w.end.echo_s));
    say(MAGIC, NUMBER, 1, 21, sent_s - 100, HEAD);
    CU_ASSERT_EQUAL(strait_path_take(&w.end, strait_path_now_s(&w.end) + 60, &err), 0);
    CU_ASSERT_AT_LEAST(w.end.echo_s, 100);
    CU_ASSERT_AT_MOST(w.end.echo_s, 100 + strait_path_now_s(&w.end));
    const double first_s = w.end.echo_s;
    say(MAGIC, NUMBER, 1, 21, sent_s - 300, HEAD);
    CU_ASSERT_EQUAL(strait_path_drain(&w.end, 0.05, &err), 0);
    CU_ASSERT_EQUAL(w.end.echo_s, first_s);
    tear_down();
}

/* --- orders ----------------------------------------------------------------------------------- */

static void orders(void)
{
    struct strait_error err = {0};
    const struct strait_path_order o = {.word = STRAIT_PATH_TAKE,
                                        .number = 3,
                                        .n = 5,
                                        .payload_bytes = 7,
                                        .is_held = true,
                                        .gap_s = 0.75};
    struct strait_path_order found = {0};
    unsigned char b[STRAIT_PATH_ORDER_BYTES];
    set_up();
    CU_ASSERT_EQUAL(strait_path_tell(&w.end, &o, &err), 0);
    CU_ASSERT_EQUAL(recv(w.tcp, b, sizeof(b), MSG_WAITALL), (ssize_t)sizeof(b));
    CU_ASSERT_EQUAL(strait_get32(b), MAGIC);
    CU_ASSERT_EQUAL(strait_get32(b + 4), STRAIT_PATH_TAKE);
    CU_ASSERT_EQUAL(strait_get32(b + 8), 3);
    CU_ASSERT_EQUAL(strait_get32(b + 12), 5);
    CU_ASSERT_EQUAL(strait_get32(b + 16), 7);
    CU_ASSERT_EQUAL(strait_get32(b + 20), 1);
    CU_ASSERT_EQUAL(strait_get_double(b + 24), 0.75);
    CU_ASSERT_EQUAL(send(w.tcp, b, 10, 0), 10); /* in two pieces */
    CU_ASSERT_EQUAL(send(w.tcp, b + 10, sizeof(b) - 10, 0), (ssize_t)sizeof(b) - 10);
    CU_ASSERT_EQUAL(strait_path_hear(&w.end, &found, &err), 0);
    CU_ASSERT(found.word == o.word && found.number == 3 && found.n == 5);
    CU_ASSERT(found.payload_bytes == 7 && found.is_held && found.gap_s == 0.75);
    close(w.tcp);
    w.tcp = -1;
    CU_ASSERT_EQUAL(strait_path_hear(&w.end, &found, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.text, "the other end closed the connection");
    CU_ASSERT_STRING_EQUAL(err.where, "there");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_path_tell(&w.end, &o, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "the connection broke");
    tear_down();
}

/* Each number at its limits and beyond. */
static void limits(void)
{
    static const struct {
        uint32_t magic, word, n, payload_bytes;
        double gap_s;
        bool good;
    } cases[] = {{MAGIC, STRAIT_PATH_HELLO, 0, 0, 0, true},
                 {MAGIC + 1, STRAIT_PATH_HELLO, 0, 0, 0, false},
                 {MAGIC, STRAIT_PATH_HELLO - 1, 0, 0, 0, false},
                 {MAGIC, STRAIT_PATH_N_WORDS - 1, 0, 0, 0, true},
                 {MAGIC, STRAIT_PATH_N_WORDS, 0, 0, 0, false},
                 {MAGIC, STRAIT_PATH_TAKE, STRAIT_PATH_MAX_PACKETS, 0, 0, true},
                 {MAGIC, STRAIT_PATH_TAKE, STRAIT_PATH_MAX_PACKETS + 1, 0, 0, false},
                 {MAGIC, STRAIT_PATH_TAKE, 1, 65507, 0, true},
                 {MAGIC, STRAIT_PATH_TAKE, 1, 65508, 0, false},
                 {MAGIC, STRAIT_PATH_TAKE, 1, HEAD - 1, 1, true},
                 {MAGIC, STRAIT_PATH_GIVE, 1, HEAD, 1, true},
                 {MAGIC, STRAIT_PATH_GIVE, 1, HEAD - 1, 0, false},
                 {MAGIC, STRAIT_PATH_TAKE, 1, 100, 1.001, false},
                 {MAGIC, STRAIT_PATH_TAKE, 1, 100, -0.001, false},
                 {MAGIC, STRAIT_PATH_TAKE, 1, 100, NAN, false}};
    set_up();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned char b[STRAIT_PATH_ORDER_BYTES] = "";
        struct strait_path_order found;
        struct strait_error err = {0};
        strait_put32(b, cases[i].magic);
        strait_put32(b + 4, cases[i].word);
        strait_put32(b + 12, cases[i].n);
        strait_put32(b + 16, cases[i].payload_bytes);
        strait_put_double(b + 24, cases[i].gap_s);
        CU_ASSERT_EQUAL(send(w.tcp, b, sizeof(b), 0), (ssize_t)sizeof(b));
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(strait_path_hear(&w.end, &found, &err), cases[i].good ? 0 : -1);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].good
                                             ? ""
                                             : "expected strait calibrate net of this version at "
                                               "the other end, found something else");
        CU_ASSERT_FALSE(found.is_held);
    }
    tear_down();
}

/* What came, to the other end: a word with the count, and 20 bytes each. Packets that come while an
 * order is waited for are taken. */
static void trains(void)
{
    struct strait_error err = {0};
    unsigned char b[STRAIT_PATH_ORDER_BYTES + 40];
    set_up();
    w.end.n_arrived = 2;
    w.end.packets[0] = (struct strait_path_packet){6, 0.5, 1.5};
    w.end.packets[1] = (struct strait_path_packet){8, 0.625, 2.5};
    CU_ASSERT_EQUAL(strait_path_tell_train(&w.end, &err), 0);
    CU_ASSERT_EQUAL(recv(w.tcp, b, sizeof(b), MSG_WAITALL), (ssize_t)sizeof(b));
    CU_ASSERT_EQUAL(strait_get32(b + 4), STRAIT_PATH_TAKEN);
    CU_ASSERT_EQUAL(strait_get32(b + 12), 2);
    const unsigned char *r = b + STRAIT_PATH_ORDER_BYTES;
    CU_ASSERT(strait_get32(r) == 6 && strait_get_double(r + 4) == 0.5);
    CU_ASSERT(strait_get_double(r + 12) == 1.5 && strait_get32(r + 20) == 8);
    CU_ASSERT(strait_get_double(r + 24) == 0.625 && strait_get_double(r + 32) == 2.5);
    w.end.train = 2;
    w.end.n_arrived = 0;
    memset(w.end.packets, 0, 2 * sizeof(*w.end.packets));
    say(MAGIC, NUMBER, 2, 1, 0, HEAD);
    CU_ASSERT_EQUAL(send(w.tcp, b, sizeof(b), 0), (ssize_t)sizeof(b));
    struct strait_path_order o;
    CU_ASSERT_EQUAL(strait_path_hear(&w.end, &o, &err), 0);
    CU_ASSERT_EQUAL(o.n, 2);
    CU_ASSERT_EQUAL(w.end.n_arrived, 1);
    CU_ASSERT_EQUAL(strait_path_hear_train(&w.end, 2, &err), 0);
    CU_ASSERT_EQUAL_FATAL(w.end.n_arrived, 2);
    CU_ASSERT(w.end.packets[0].number == 6 && w.end.packets[0].arrived_s == 1.5);
    CU_ASSERT(w.end.packets[1].number == 8 && w.end.packets[1].sent_s == 0.625);
    CU_ASSERT_EQUAL(w.end.packets[1].arrived_s, 2.5);
    CU_ASSERT_EQUAL(strait_path_hear_train(&w.end, 0, &err), 0);
    CU_ASSERT_EQUAL(w.end.n_arrived, 0);
    close(w.tcp);
    w.tcp = -1;
    CU_ASSERT_EQUAL(strait_path_hear_train(&w.end, 1, &err), -1);
    CU_ASSERT_EQUAL(w.end.n_arrived, 0);
    tear_down();
}

static const struct strait_test tests[] = {
    {"a packet says of which measurement and train it is and when it was sent", sent},
    {"packets of other measurements, trains and lengths are left out", taken},
    {"an echo is answered, and its first answer counts", echoes},
    {"an order is 32 bytes", orders},
    {"orders beyond their limits are refused", limits},
    {"a train is told packet by packet", trains},
};
STRAIT_SUITE("emu/path/path_end", tests);
