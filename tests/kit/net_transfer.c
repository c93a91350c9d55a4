#include "net_transfer.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 * 1024, N_TRIES = 3, N_ROUNDS = 4 };

/* What all receivers of a transfer have seen together. */
struct meter {
    pthread_mutex_t lock;
    double got_bytes, all_bytes;
    double half_s, half_bytes, most_s, most_bytes; /* when half, and when 9/10, had arrived */
};

struct side {
    pthread_t thread;
    struct flow flow;
    size_t n_bytes;
    struct meter *meter;
};

/* Send, then wait for one byte of answer. */
static void *sender(void *arg)
{
    struct side *s = arg;
    char *zeros = calloc(1, CHUNK), reply;
    for (size_t left = s->n_bytes; left > 0;) {
        const ssize_t n = send(s->flow.tx_fd, zeros, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        left -= (size_t)n;
    }
    if (recv(s->flow.tx_fd, &reply, 1, 0) != 1)
        fprintf(stderr, "no reply: %s\n", strerror(errno));
    free(zeros);
    return NULL;
}

static void *receiver(void *arg)
{
    struct side *s = arg;
    struct meter *m = s->meter;
    char *bytes = malloc(CHUNK);
    for (size_t got = 0; got < s->n_bytes;) {
        const ssize_t n = recv(s->flow.rx_fd, bytes, CHUNK, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
        pthread_mutex_lock(&m->lock);
        m->got_bytes += (double)n;
        if (m->half_s == 0 && m->got_bytes >= 0.5 * m->all_bytes) {
            m->half_s = now_s();
            m->half_bytes = m->got_bytes;
        }
        if (m->most_s == 0 && m->got_bytes >= 0.9 * m->all_bytes) {
            m->most_s = now_s();
            m->most_bytes = m->got_bytes;
        }
        pthread_mutex_unlock(&m->lock);
    }
    free(bytes);
    if (send(s->flow.rx_fd, "!", 1, MSG_NOSIGNAL) != 1)
        fprintf(stderr, "no reply sent: %s\n", strerror(errno));
    return NULL;
}

struct outcome transfer(struct strait_emu_net *net, const struct flow *flows, size_t n_flows,
                        size_t n_bytes)
{
    struct meter meter = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .all_bytes = (double)(n_flows * n_bytes)};
    struct side tx[MAX_NODES], rx[MAX_NODES];
    const double began_s = now_s(), k = strait_emu_net_dilation(net);
    for (size_t i = 0; i < n_flows; i++) {
        tx[i] = rx[i] = (struct side){.flow = flows[i], .n_bytes = n_bytes, .meter = &meter};
        pthread_create(&rx[i].thread, NULL, receiver, &rx[i]);
        pthread_create(&tx[i].thread, NULL, sender, &tx[i]);
    }
    for (size_t i = 0; i < n_flows; i++) {
        pthread_join(tx[i].thread, NULL);
        pthread_join(rx[i].thread, NULL);
    }
    CU_ASSERT_DOUBLE_EQUAL(meter.got_bytes, meter.all_bytes, 0);
    return (struct outcome){(now_s() - began_s) / k, 8 * k * (meter.most_bytes - meter.half_bytes) /
                                                         (meter.most_s - meter.half_s)};
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median goodput of three transfers that begin one after another on fresh connections. */
static double goodput(struct strait_emu_net *net, int from, int to, size_t n_bytes)
{
    double rates[N_TRIES];
    for (int i = 0; i < N_TRIES; i++) {
        const struct flow f = flow_open(net, from, to);
        rates[i] = transfer(net, &f, 1, n_bytes).goodput_bits_per_s;
        flow_close(f);
    }
    qsort(rates, N_TRIES, sizeof(*rates), by_value);
    return rates[N_TRIES / 2];
}

bool goodput_is(struct strait_emu_net *net, int from, int to, double rate_bits_per_s,
                double frame_bytes, size_t n_bytes)
{
    const double wanted = rate_bits_per_s * 1448 / frame_bytes;
    bool good = false;
    for (int i = 0; i < N_ROUNDS && !good; i++) {
        const double found = goodput(net, from, to, n_bytes);
        good = fabs(found / wanted - 1) < 0.01;
        fprintf(stderr, "goodput %.3f Mbps, by arithmetic %.3f\n", found / 1e6, wanted / 1e6);
    }
    return good;
}

bool rtt_is(struct strait_emu_net *net, int from, int to, double wanted_s)
{
    bool good = false;
    for (int i = 0; i < 2 * N_ROUNDS && !good; i++) {
        double min_s, median_s;
        struct strait_error err = {0};
        if (strait_emu_net_ping(&min_s, &median_s, net, from, to, 11, &err) != 0) {
            if (err.code == STRAIT_ERR_HOST)
                strait_test_skip(err.text);
            else
                fprintf(stderr, "%s: %s\n", err.where, err.text);
            return err.code == STRAIT_ERR_HOST;
        }
        good = min_s > wanted_s - 0.1e-3 && min_s < wanted_s + 0.3e-3;
        fprintf(stderr, "ping %.3f ms, median %.3f, by arithmetic %.3f\n", 1e3 * min_s,
                1e3 * median_s, 1e3 * wanted_s);
    }
    return good;
}
