#include "path_probe.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "path_end.h"

enum {
    N_ECHOES = 64,
    N_JITTER = 400,
    N_BURSTS = 4,      /* of the largest size */
    FIRST_BURST = 64,  /* packets; as many as it takes to see a rate */
    UDP_IP_BYTES = 28, /* headers of a packet */
    FRAME_BYTES = 14,
    MAX_MTU = 1500
};
static const double ECHO_S = 0.01, LOST_S = 2, QUIET_S = 0.2;
/* Packets apart take a twentieth of the rate, so that none waits for another, and come at most
 * every half millisecond. A burst is what the link carries in half a second, at most. */
static const double MIN_GAP_S = 0.0005, SHARE_APART = 0.05, BURST_S = 0.5;
/* Less jitter is the machine's own. A gap of twice the jitter lets no packet wait for another; the
 * first reading may be several times too small. */
static const double MIN_JITTER_S = 1e-4, MAX_GAP_S = 0.05, GAPS_OF_JITTER = 8;

struct probing {
    struct strait_path_end end;
    const struct strait_path_plan *plan;
    uint32_t full_bytes; /* payload of a packet that fills a frame */
    uint32_t n_trains, n_echoes;
};

static double wire_bytes(const struct probing *p, double payload_bytes)
{
    return payload_bytes + UDP_IP_BYTES + FRAME_BYTES + p->plan->overhead_bytes;
}

/* --- connecting ------------------------------------------------------------------------------- */

/* The other end may not listen yet. */
static int connect_tcp(const struct addrinfo *to, double until_s)
{
    struct timespec now;
    for (;;) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) == 0)
            return fd;
        const int why = errno;
        close(fd);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (why != ECONNREFUSED || (double)now.tv_sec >= until_s) {
            errno = why;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

static int connect_end(struct probing *p, char who[300], struct strait_error *err)
{
    const struct strait_path_plan *plan = p->plan;
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *to;
    struct timespec now;
    snprintf(who, 300, "%s:%s", plan->host, plan->port);
    const int why = getaddrinfo(plan->host, plan->port, &hints, &to);
    if (why != 0)
        return strait_refuse(err, who, "expected a host and a port: %s", gai_strerror(why));
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int tcp = connect_tcp(to, (double)now.tv_sec + plan->connect_s);
    const int udp = tcp < 0 ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool good = udp >= 0 && connect(udp, to->ai_addr, to->ai_addrlen) == 0;
    int mtu = MAX_MTU;
    if (good) {
        socklen_t len = sizeof(mtu);
        getsockopt(udp, IPPROTO_IP, IP_MTU, &mtu, &len);
        p->full_bytes = (uint32_t)(mtu < MAX_MTU ? mtu : MAX_MTU) - UDP_IP_BYTES;
    } else {
        strait_error_system(
            err, who, "cannot connect; strait calibrate net --listen %s answers there", plan->port);
    }
    if (good && strait_path_end_init(&p->end, tcp, udp, who, err) == 0) {
        memcpy(&p->end.to, to->ai_addr, sizeof(p->end.to));
        p->end.knows_to = true;
        p->end.number = (uint32_t)getpid() ^ (uint32_t)now.tv_nsec;
        freeaddrinfo(to);
        return 0;
    }
    freeaddrinfo(to);
    if (tcp >= 0)
        close(tcp);
    if (udp >= 0)
        close(udp);
    return -1;
}

static int order(struct probing *p, struct strait_path_order *o, struct strait_error *err)
{
    const uint32_t word = o->word;
    if (strait_path_tell(&p->end, o, err) != 0 || strait_path_hear(&p->end, o, err) != 0)
        return -1;
    return o->word == word ? 0
                           : strait_error_set(err, STRAIT_ERR_SYSTEM, p->end.who,
                                              "expected answer %u, found %u", word, o->word);
}

/* --- round trips ------------------------------------------------------------------------------ */

static int echo(struct probing *p, struct strait_path_figure *out, uint32_t payload_bytes,
                struct strait_error *err)
{
    double times_s[N_ECHOES];
    size_t n = 0;
    for (int i = 0; i < N_ECHOES; i++) {
        const double now_s = strait_path_now_s(&p->end);
        if (strait_path_send_echo(&p->end, p->n_echoes++, payload_bytes, err) != 0 ||
            strait_path_take(&p->end, now_s + LOST_S, err) != 0)
            return -1;
        if (isfinite(p->end.echo_s))
            times_s[n++] = p->end.echo_s;
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * ECHO_S)}, NULL);
    }
    if (n < N_ECHOES / 2)
        return strait_error_set(err, STRAIT_ERR_SYSTEM, p->end.who,
                                "%zu of %d echoes came back over UDP, expected half of them at "
                                "least",
                                n, N_ECHOES);
    *out = strait_path_fit_median(times_s, n);
    return 0;
}

static int ping(struct probing *p, struct strait_path_figure *out, struct strait_error *err)
{
    double times_s[N_ECHOES];
    for (int i = 0; i < N_ECHOES; i++) {
        struct strait_path_order o = {.word = STRAIT_PATH_PING};
        const double begin_s = strait_path_now_s(&p->end);
        if (order(p, &o, err) != 0)
            return -1;
        times_s[i] = strait_path_now_s(&p->end) - begin_s;
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * ECHO_S)}, NULL);
    }
    *out = strait_path_fit_median(times_s, N_ECHOES);
    return 0;
}

/* --- trains ----------------------------------------------------------------------------------- */

static int run_train(struct probing *p, struct strait_path_train *out, bool up,
                     struct strait_path_order o, struct strait_error *err)
{
    struct strait_path_end *e = &p->end;
    const uint32_t n_sent = o.n;
    o.number = e->train = 2 + p->n_trains++;
    e->n_arrived = 0;
    if (up) {
        struct strait_path_order take = o, taken = {.word = STRAIT_PATH_TAKEN};
        take.word = STRAIT_PATH_TAKE;
        if (order(p, &take, err) != 0 || strait_path_send(e, &o, err) != 0 ||
            order(p, &taken, err) != 0 || strait_path_hear_train(e, taken.n, err) != 0)
            return -1;
    } else {
        o.word = STRAIT_PATH_GIVE;
        if (order(p, &o, err) != 0 || strait_path_drain(e, QUIET_S, err) != 0)
            return -1;
    }
    *out = (struct strait_path_train){.packets = e->packets,
                                      .n_arrived = e->n_arrived,
                                      .n_sent = n_sent,
                                      .wire_bytes = wire_bytes(p, o.payload_bytes),
                                      .is_held = o.is_held};
    return 0;
}

/* Links keep the order of packets, so that delays of packets close together are alike: where there
 * is jitter, fewer packets follow, further apart. */
static int apart(struct probing *p, struct strait_path_direction *d, bool up,
                 struct strait_error *err)
{
    struct strait_path_train t;
    const double own_s = 8 * wire_bytes(p, STRAIT_PATH_HEAD_BYTES) / d->rate.value;
    struct strait_path_order o = {.n = p->plan->n_apart,
                                  .payload_bytes = STRAIT_PATH_HEAD_BYTES,
                                  .gap_s = fmax(MIN_GAP_S, own_s / SHARE_APART)};
    if (run_train(p, &t, up, o, err) != 0)
        return -1;
    d->loss = strait_path_fit_loss(&t);
    d->jitter = strait_path_fit_jitter(&t);
    if (!(d->jitter.value > MIN_JITTER_S))
        return 0;
    o.n = N_JITTER;
    o.gap_s = fmin(MAX_GAP_S, fmax(o.gap_s, GAPS_OF_JITTER * d->jitter.value));
    if (run_train(p, &t, up, o, err) != 0)
        return -1;
    d->jitter = strait_path_fit_jitter(&t);
    return 0;
}

/* The rate of a first burst says how long the others may be. */
static int first_burst(struct probing *p, struct strait_path_direction *d, bool up,
                       struct strait_error *err)
{
    struct strait_path_train t;
    const struct strait_path_order o = {.n = FIRST_BURST, .payload_bytes = p->full_bytes};
    if (run_train(p, &t, up, o, err) != 0)
        return -1;
    d->rate = strait_path_fit_rate(&t);
    return isfinite(d->rate.value)
               ? 0
               : strait_error_set(err, STRAIT_ERR_SYSTEM, p->end.who,
                                  "%zu of %zu packets arrived %s, too few to see a rate",
                                  t.n_arrived, t.n_sent, up ? "there" : "here");
}

/* The longest burst at this rate, in whole packets. */
static double max_packets(const struct probing *p, double rate_bits_per_s)
{
    const double bytes = fmin(p->plan->max_burst_bytes, rate_bits_per_s / 8 * BURST_S);
    const double n = fmax(floor(bytes / wire_bytes(p, p->full_bytes)), FIRST_BURST);
    return fmin(n, STRAIT_PATH_MAX_PACKETS);
}

/* Bursts until the queue is full, or as long as is allowed; then the same some times more. */
static int bursts(struct probing *p, struct strait_path_direction *d, bool up,
                  struct strait_error *err)
{
    struct strait_path_figure rates[N_BURSTS], queues[N_BURSTS];
    struct strait_path_train t;
    double n = FIRST_BURST;
    int k = 0;
    while (k < N_BURSTS) {
        const struct strait_path_order o = {.n = (uint32_t)n, .payload_bytes = p->full_bytes};
        if (run_train(p, &t, up, o, err) != 0)
            return -1;
        rates[k] = strait_path_fit_rate(&t);
        queues[k] = strait_path_fit_queue(&t, rates[k].value, d->loss.value);
        d->is_held = d->is_held || t.is_held;
        const double max_n = max_packets(p, isfinite(rates[k].value) ? rates[k].value : 0);
        if (k > 0 || isfinite(queues[k].error) || n >= max_n)
            k++;
        n = k > 0 ? n : fmin(2 * n, max_n);
    }
    d->rate = strait_path_mean(rates, N_BURSTS);
    d->queue = strait_path_mean(queues, N_BURSTS);
    /* packets are whole in every burst, and jitter moves the delays that tell the queue */
    d->queue.error =
        fmax(d->queue.error, hypot(t.wire_bytes / sqrt(12), d->jitter.value * d->rate.value / 8));
    for (int i = 0; i < N_BURSTS; i++) /* full in all of them, or it is not known */
        d->queue.error = isfinite(queues[i].error) ? d->queue.error : NAN;
    return isfinite(d->rate.value)
               ? 0
               : strait_error_set(err, STRAIT_ERR_SYSTEM, p->end.who,
                                  "too few packets of bursts arrived %s to see a rate",
                                  up ? "there" : "here");
}

static int measure(struct probing *p, struct strait_path *out, struct strait_error *err)
{
    struct strait_path_order hello = {.word = STRAIT_PATH_HELLO, .number = p->end.number},
                             bye = {.word = STRAIT_PATH_BYE};
    struct strait_path_figure small, full, pinged;
    socklen_t len = sizeof(out->congestion) - 1;
    if (order(p, &hello, err) != 0 || echo(p, &small, STRAIT_PATH_HEAD_BYTES, err) != 0 ||
        echo(p, &full, p->full_bytes, err) != 0 || ping(p, &pinged, err) != 0)
        return -1;
    for (int up = 1; up >= 0; up--) {
        struct strait_path_direction *d = up ? &out->up : &out->down;
        if (first_burst(p, d, up, err) != 0 || apart(p, d, up, err) != 0 ||
            bursts(p, d, up, err) != 0)
            return -1;
    }
    getsockopt(p->end.tcp, IPPROTO_TCP, TCP_CONGESTION, out->congestion, &len);
    /* An empty packet's round trip, on the line through two lengths: a shaper that lets a lone
     * packet pass at once has no transmission time. A message each way; TCP's header has 32 bytes,
     * UDP's 8. */
    const double small_bytes = wire_bytes(p, STRAIT_PATH_HEAD_BYTES);
    const double more_bytes = p->full_bytes - STRAIT_PATH_HEAD_BYTES;
    const double s_per_byte = fmax(0, (full.value - small.value) / more_bytes);
    out->rtt_s = (struct strait_path_figure){
        small.value - s_per_byte * small_bytes,
        hypot(small.error, hypot(small.error, full.error) * small_bytes / more_bytes),
        small.n + full.n};
    out->message_s =
        (struct strait_path_figure){(pinged.value - out->rtt_s.value -
                                     s_per_byte * wire_bytes(p, STRAIT_PATH_ORDER_BYTES + 32 - 8)) /
                                        2,
                                    hypot(pinged.error, out->rtt_s.error) / 2, pinged.n};
    return order(p, &bye, err);
}

int strait_path_probe(struct strait_path *out, const struct strait_path_plan *plan,
                      struct strait_error *err)
{
    struct probing p = {.plan = plan};
    char who[300];
    *out = (struct strait_path){0};
    if (connect_end(&p, who, err) != 0)
        return -1;
    const int failed = measure(&p, out, err);
    close(p.end.udp);
    strait_path_end_release(&p.end);
    return failed;
}
