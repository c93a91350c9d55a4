/* What a path is asked, and what is made of the answers: the other end is the test's, whose trains
 * arrive at times by formula. All paths are probed at once, since a probe mostly sleeps. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "emu/path/path_end.h"
#include "emu/path/path_probe.h"
#include "tests/kit/suite.h"

/* Headers: UDP and IP 28, Ethernet 14, and 24 of the plan. A full packet has 1472 bytes. */
enum { MAX_ORDERS = 200, WIRE = 1472 + 28 + 14 + 24, SMALL_WIRE = 24 + 28 + 14 + 24 };

struct path {
    /* the link to the other end */
    double rate_bits_per_s, jitter_s;
    int queue;         /* packets of a burst that arrive at most; 0: all */
    int first_arrived; /* of the first burst; 0: all */
    int lost_apart;    /* of the packets apart, the last ones */
    uint32_t says;     /* to the first ping, another word; 0: the same */
    double max_burst_bytes;
    /* what came of it */
    struct strait_path found;
    struct strait_error err;
    int status;
    struct strait_path_order orders[MAX_ORDERS];
    int n_orders, n_pings;
    /* of the other end */
    int listener, udp;
    char port[8];
    pthread_t threads[2];
};

/* The train as the path's link would bring it: at once, one after the other at the link's rate;
 * apart, with delays that go evenly from -jitter to +jitter, early ones and late ones in turn. */
static void arrive(struct path *p, struct strait_path_end *e, const struct strait_path_order *o)
{
    const int n = (int)o->n;
    const bool burst = o->gap_s == 0, first = burst && p->n_orders == 2;
    const int cap = first ? p->first_arrived : p->queue;
    e->n_arrived = (size_t)(burst && cap > 0 && cap < n ? cap : burst ? n : n - p->lost_apart);
    for (int i = 0; i < (int)e->n_arrived; i++) {
        const int at = i * 7 % n; /* n and 7 share no factor */
        const double sent_s = i * o->gap_s;
        const double late_s = burst ? (i + 1) * 8. * WIRE / p->rate_bits_per_s
                                    : p->jitter_s * (2. * at / (n - 1) - 1);
        e->packets[i] = (struct strait_path_packet){(uint32_t)i, sent_s, 3 + sent_s + late_s};
    }
}

static void *other_end(void *of)
{
    struct path *p = of;
    struct strait_path_end e;
    struct strait_error ignored = {0};
    struct strait_path_order o, train = {0};
    const int tcp = accept(p->listener, NULL, NULL);
    if (strait_path_end_init(&e, tcp, p->udp, "here", &ignored) != 0)
        return NULL;
    while (strait_path_hear(&e, &o, &ignored) == 0) {
        if (o.word == STRAIT_PATH_HELLO)
            e.number = o.number;
        p->n_pings += o.word == STRAIT_PATH_PING;
        if (o.word == STRAIT_PATH_PING && p->says > 0)
            o.word = p->says;
        else if (o.word != STRAIT_PATH_PING && o.word != STRAIT_PATH_TAKEN &&
                 p->n_orders < MAX_ORDERS)
            p->orders[p->n_orders++] = o;
        if (o.word == STRAIT_PATH_TAKE)
            train = o;
        if (o.word == STRAIT_PATH_TAKEN)
            arrive(p, &e, &train);
        if (o.word == STRAIT_PATH_TAKEN ? strait_path_tell_train(&e, &ignored) != 0
                                        : strait_path_tell(&e, &o, &ignored) != 0)
            break;
    }
    strait_path_end_release(&e);
    return NULL;
}

static void *this_end(void *of)
{
    struct path *p = of;
    const struct strait_path_plan plan = {.host = "127.0.0.1",
                                          .port = p->port,
                                          .n_apart = 45,
                                          .max_burst_bytes = p->max_burst_bytes,
                                          .overhead_bytes = 24};
    p->status = strait_path_probe(&p->found, &plan, &p->err);
    return NULL;
}

static void begin(struct path *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    for (int tries = 0; tries < 50; tries++) { /* of UDP the same port may be taken */
        at.sin_port = 0;
        p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        p->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        CU_ASSERT_FATAL(bind(p->listener, (struct sockaddr *)&at, len) == 0 &&
                        listen(p->listener, 1) == 0 &&
                        getsockname(p->listener, (struct sockaddr *)&at, &len) == 0);
        if (bind(p->udp, (struct sockaddr *)&at, len) == 0)
            break;
        close(p->listener);
        close(p->udp);
    }
    snprintf(p->port, sizeof(p->port), "%d", ntohs(at.sin_port));
    CU_ASSERT_EQUAL_FATAL(pthread_create(&p->threads[0], NULL, other_end, p), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&p->threads[1], NULL, this_end, p), 0);
}

static void ask_all(struct path *paths, int n)
{
    for (int i = 0; i < n; i++)
        begin(&paths[i]);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++)
            pthread_join(paths[i].threads[k], NULL);
        close(paths[i].listener);
        close(paths[i].udp);
    }
}

/* The trains that the other end was told of, in their order. */
static void trains(const struct path *p, const struct strait_path_order *wanted, int n)
{
    CU_ASSERT_EQUAL_FATAL(p->n_orders, n + 1);
    CU_ASSERT_EQUAL(p->orders[0].word, STRAIT_PATH_HELLO);
    CU_ASSERT(p->orders[0].number != 0);
    for (int i = 0; i < n; i++) {
        const struct strait_path_order *o = &p->orders[i + 1];
        strait_test_context("%.0f bit/s, train %d", p->rate_bits_per_s, i);
        CU_ASSERT_EQUAL(o->word, i + 1 < n ? STRAIT_PATH_TAKE : STRAIT_PATH_GIVE);
        CU_ASSERT_EQUAL(o->number, 2 + i);
        CU_ASSERT_EQUAL(o->n, wanted[i].n);
        CU_ASSERT_EQUAL(o->payload_bytes, wanted[i].payload_bytes);
        CU_ASSERT_DOUBLE_EQUAL(o->gap_s, wanted[i].gap_s, 1e-6 * wanted[i].gap_s);
    }
    strait_test_context("%.0f bit/s", p->rate_bits_per_s);
    CU_ASSERT_EQUAL(p->n_pings, 64);
    /* no packet came this way */
    CU_ASSERT_EQUAL(p->status, -1);
    CU_ASSERT_EQUAL(p->err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(p->err.text, "0 of 64 packets arrived here, too few to see a rate");
}

#define BURST(count)                                                                               \
    {                                                                                              \
        .n = (count), .payload_bytes = 1472                                                        \
    }
#define APART(count, every_s)                                                                      \
    {                                                                                              \
        .n = (count), .payload_bytes = 24, .gap_s = (every_s)                                      \
    }

/* Delays go evenly from -j to j; without the first and last twentieth, over 1.8. */
static double jitter_of(double j, int n)
{
    return 2 * j * (n - 1 - 2 * (n / 20)) / (n - 1) / 1.8;
}

static void measured(void)
{
    static struct path paths[] = {
        /* a packet apart takes a twentieth of the rate: 90 bytes in 720 us. Bursts are doubled up
         * to what is allowed, 195 packets in 300 kB, which the queue takes */
        {.rate_bits_per_s = 2e7, .max_burst_bytes = 3e5},
        /* 50 us a packet are less than 500 us; jitter above 100 us is measured again, 8 times as
         * far apart. The queue holds 100 packets, which bursts of 128 overfill. */
        {.rate_bits_per_s = 1e9, .jitter_s = 2e-4, .queue = 100, .max_burst_bytes = 1e6},
        /* half a second at 2 Mbit/s is 125 kB, 81 packets. Jitter of less is the machine's. */
        {.rate_bits_per_s = 2e6, .jitter_s = 9e-5, .lost_apart = 5, .max_burst_bytes = 3e6},
    };
    static const struct strait_path_order wanted[][9] = {
        {BURST(64), APART(45, 720e-6), BURST(64), BURST(128), BURST(195), BURST(195), BURST(195),
         BURST(195), BURST(64)},
        {BURST(64), APART(45, 500e-6), APART(400, 0), BURST(64), BURST(128), BURST(128), BURST(128),
         BURST(128), BURST(64)},
        {BURST(64), APART(45, 7.2e-3), BURST(64), BURST(81), BURST(81), BURST(81), BURST(81),
         BURST(64)}};
    static const int n_wanted[] = {9, 9, 8};
    ask_all(paths, 3);
    for (int i = 0; i < 3; i++) {
        const struct path *p = &paths[i];
        struct strait_path_order o[9];
        memcpy(o, wanted[i], sizeof(o));
        if (p->queue > 0)
            o[2].gap_s = 8 * jitter_of(p->jitter_s, 45);
        trains(p, o, n_wanted[i]);
        const struct strait_path_direction *up = &p->found.up;
        const int n = (int)o[7 - (i == 2)].n, n_came = p->queue > 0 ? p->queue : n;
        CU_ASSERT_DOUBLE_EQUAL(up->rate.value, p->rate_bits_per_s, 1e-6 * p->rate_bits_per_s);
        CU_ASSERT_EQUAL(up->rate.n, 4 * (n_came - n_came / 8));
        CU_ASSERT_EQUAL(up->loss.n, 45);
        CU_ASSERT_DOUBLE_EQUAL(up->loss.value, p->lost_apart / 45., 1e-12);
        /* the last packet waits for all others; jitter is seen only where none is lost */
        CU_ASSERT_DOUBLE_EQUAL(up->queue.value, n_came * WIRE, 1);
        CU_ASSERT_EQUAL(up->queue.n, 4 * n_came);
        if (p->lost_apart == 0)
            CU_ASSERT_DOUBLE_EQUAL(up->jitter.value, jitter_of(p->jitter_s, p->queue ? 400 : 45),
                                   1e-12);
        CU_ASSERT_EQUAL(up->jitter.n, p->queue > 0 ? 400 : 45 - p->lost_apart);
        if (p->queue == 0)
            CU_ASSERT(isnan(up->queue.error));
        else /* the jitter, of packets sent apart, is 50 kB at this rate */
            CU_ASSERT_DOUBLE_EQUAL(up->queue.error,
                                   hypot(WIRE / sqrt(12), up->jitter.value * up->rate.value / 8),
                                   1e-3);
    }
}

static void refused(void)
{
    static struct path paths[] = {
        {.rate_bits_per_s = 1e7, .first_arrived = 15, .max_burst_bytes = 1e5},
        {.rate_bits_per_s = 1e7, .first_arrived = 16, .queue = 15, .max_burst_bytes = 1e6},
        {.says = STRAIT_PATH_TAKE},
    };
    static const char *const texts[] = {
        "15 of 64 packets arrived there, too few to see a rate",
        "too few packets of bursts arrived there to see a rate",
        "expected answer 5, found 2",
    };
    /* the second: after the greeting, a burst, packets apart and four times the shortest burst */
    static const int n_orders[] = {2, 7, 1};
    char where[40];
    ask_all(paths, 3);
    for (int i = 0; i < 3; i++) {
        strait_test_context("%s", texts[i]);
        CU_ASSERT_EQUAL(paths[i].status, -1);
        CU_ASSERT_EQUAL(paths[i].err.code, STRAIT_ERR_SYSTEM);
        CU_ASSERT_STRING_EQUAL(paths[i].err.text, texts[i]);
        snprintf(where, sizeof(where), "127.0.0.1:%s", paths[i].port);
        CU_ASSERT_STRING_EQUAL(paths[i].err.where, where);
        CU_ASSERT_EQUAL(paths[i].n_orders, n_orders[i]);
    }
}

static const struct strait_test tests[] = {
    {"trains are as long, and as far apart, as the path before them wants it", measured},
    {"too few packets, and answers to something else", refused},
};
STRAIT_SUITE_WITH("emu/path/path_orders", tests, .slow_s = 6);
