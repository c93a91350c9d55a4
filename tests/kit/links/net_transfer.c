#include "core/heap.h"
#include "net_transfer.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/judged.h"

enum { CHUNK = 256 * 1024, N_TRANSFERS = 9, N_ROUNDS = 8 };

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

/* The median goodput of transfers that begin one after another on fresh connections. */
static double goodput(struct strait_emu_net *net, int from, int to, size_t n_bytes)
{
    double rates[N_TRANSFERS];
    for (int i = 0; i < N_TRANSFERS; i++) {
        const struct flow f = flow_open(net, from, to);
        rates[i] = transfer(net, &f, 1, n_bytes).goodput_bits_per_s;
        flow_close(f);
    }
    strait_sort(rates, N_TRANSFERS);
    return rates[N_TRANSFERS / 2];
}

bool is_no_faster(double all_s, double rate_bits_per_s, double frame_bytes, double n_bytes)
{
    /* less the burst that the kernel's shaper lets pass: two large frames, or 1.5 ms */
    const double least_s = n_bytes * frame_bytes / 1448 * 8 / rate_bits_per_s -
                           fmax(3100 * 8 / rate_bits_per_s, 0.0015);
    fprintf(stderr, "%g bytes took %.4f s, the link %.4f s\n", n_bytes, all_s, least_s);
    return all_s >= least_s;
}

bool goodput_is(struct strait_emu_net *net, int from, int to, double rate_bits_per_s,
                double frame_bytes, size_t n_bytes)
{
    const double wanted = rate_bits_per_s * 1448 / frame_bytes;
    if (!time_is_judged()) {
        const struct flow f = flow_open(net, from, to);
        const double all_s = transfer(net, &f, 1, n_bytes).all_s;
        flow_close(f);
        return is_no_faster(all_s, rate_bits_per_s, frame_bytes, (double)n_bytes);
    }
    const double found = goodput(net, from, to, n_bytes);
    fprintf(stderr, "goodput %.3f Mbps, by arithmetic %.3f\n", found / 1e6, wanted / 1e6);
    return fabs(found / wanted - 1) < 0.01;
}

bool rtt_is(struct strait_emu_net *net, int from, int to, double wanted_s)
{
    const int n_rounds = time_is_judged() ? N_ROUNDS : 1;
    double least_s = INFINITY;
    for (int i = 0; i < n_rounds; i++) {
        double min_s, median_s;
        struct strait_error err = {0};
        if (strait_emu_net_ping(&min_s, &median_s, net, from, to, 11, &err) != 0) {
            if (err.code == STRAIT_ERR_HOST)
                strait_test_skip(err.text);
            else
                fprintf(stderr, "%s: %s\n", err.where, err.text);
            return err.code == STRAIT_ERR_HOST;
        }
        least_s = fmin(least_s, min_s);
        fprintf(stderr, "ping %.3f ms, median %.3f, by arithmetic %.3f\n", 1e3 * min_s,
                1e3 * median_s, 1e3 * wanted_s);
    }
    return least_s > wanted_s - 0.1e-3 && (!time_is_judged() || least_s < wanted_s + 0.3e-3);
}

bool eight_fill_one(struct strait_emu_net *net, const struct flow flows[8])
{
    const double wanted = 1e9 * 1448 / 1514;
    double rates[N_TRANSFERS];
    if (!time_is_judged())
        return is_no_faster(transfer(net, flows, 8, 8000000).all_s, 1e9, 1514, 64e6);
    for (int i = 0; i < N_TRANSFERS; i++)
        rates[i] = transfer(net, flows, 8, 8000000).goodput_bits_per_s;
    strait_sort(rates, N_TRANSFERS);
    const double found = rates[N_TRANSFERS / 2];
    fprintf(stderr, "eight clients %.3f Mbps, by arithmetic %.3f\n", found / 1e6, wanted / 1e6);
    return fabs(found / wanted - 1) < 0.01;
}

bool counters_settle(struct strait_emu_counters *from, int i_from, struct strait_emu_counters *to,
                     int i_to, struct strait_emu_net *net)
{
    for (int i = 0; i < 600; i++) { /* the last FIN and ACK are still under way */
        sleep_ms(100);
        CU_ASSERT_EQUAL_FATAL(strait_emu_net_counters(from, net, i_from, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(strait_emu_net_counters(to, net, i_to, NULL), 0);
        if (from->tx_bytes == to->rx_bytes && to->tx_bytes == from->rx_bytes)
            return true;
    }
    return false;
}
