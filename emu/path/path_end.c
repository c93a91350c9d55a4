#include "path_end.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/bytes.h"

/* A packet: magic, number of the measurement, train (0: an echo, 1: its answer), number in it, time
 * of sending; zeros to its length. */
enum {
    HEAD_BYTES = STRAIT_PATH_HEAD_BYTES,
    MAX_PAYLOAD_BYTES = 65507,
    RECORD_BYTES = 20,
    BUFFER_BYTES = 64 << 20,
    SILENCE_S = 30,
    ECHO = 0,
    ECHOED = 1
};
static const uint32_t magic = 0x48545053; /* "SPTH" */

static int64_t to_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t); /* the clock of the kernel's time stamps of packets */
    return to_ns(t);
}

double strait_path_now_s(const struct strait_path_end *e)
{
    return 1e-9 * (double)(now_ns() - e->base_ns);
}

/* More than the system's limit where that is allowed. */
static void widen(int fd)
{
    const int size = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

int strait_path_end_init(struct strait_path_end *e, int tcp, int udp, const char *who,
                         struct strait_error *err)
{
    const int on = 1;
    *e = (struct strait_path_end){
        .tcp = tcp, .udp = udp, .who = who, .base_ns = now_ns(), .echo_s = NAN};
    e->packets = malloc(STRAIT_PATH_MAX_PACKETS * sizeof(*e->packets));
    setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(udp, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
    widen(udp);
    return e->packets ? 0 : strait_error_memory(err, e->who);
}

void strait_path_end_release(struct strait_path_end *e)
{
    free(e->packets);
    close(e->tcp);
}

/* --- packets ---------------------------------------------------------------------------------- */

static int put(struct strait_path_end *e, uint32_t train, uint32_t number, size_t len_bytes,
               double sent_s, bool *held, struct strait_error *err)
{
    static const unsigned char zeros[MAX_PAYLOAD_BYTES];
    unsigned char head[HEAD_BYTES];
    strait_put32(head, magic);
    strait_put32(head + 4, e->number);
    strait_put32(head + 8, train);
    strait_put32(head + 12, number);
    strait_put_double(head + 16, sent_s);
    struct iovec parts[2] = {{head, HEAD_BYTES},
                             {(void *)(uintptr_t)zeros, len_bytes - HEAD_BYTES}};
    const struct msghdr m = {
        .msg_name = &e->to, .msg_namelen = sizeof(e->to), .msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = sendmsg(e->udp, &m, MSG_DONTWAIT);
    while (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
        *held = *held || errno == EAGAIN;
        sent = sendmsg(e->udp, &m, 0);
    }
    /* a full queue here is loss like any other; that nobody listens the connection will tell */
    return sent < 0 && errno != ECONNREFUSED && errno != ENOBUFS
               ? strait_error_system(err, e->who, "cannot send a packet of %zu bytes", len_bytes)
               : 0;
}

static double stamp_s(const struct strait_path_end *e, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof(t));
            return 1e-9 * (double)(to_ns(t) - e->base_ns);
        }
    return strait_path_now_s(e);
}

/* One packet that waits. Returns 1; 0: none waits; -1 with *err. */
static int get(struct strait_path_end *e, struct strait_error *err)
{
    unsigned char head[HEAD_BYTES], control[CMSG_SPACE(sizeof(struct timespec))];
    struct sockaddr_in from = {0};
    struct iovec part = {head, sizeof(head)};
    struct msghdr m = {.msg_name = &from,
                       .msg_namelen = sizeof(from),
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    const ssize_t n = recvmsg(e->udp, &m, MSG_DONTWAIT | MSG_TRUNC); /* its own length */
    if (n < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED
                   ? 0
                   : strait_error_system(err, e->who, "cannot receive packets");
    if (n < HEAD_BYTES || strait_get32(head) != magic || strait_get32(head + 4) != e->number)
        return 1; /* somebody else's */
    const uint32_t train = strait_get32(head + 8), number = strait_get32(head + 12);
    const double sent_s = strait_get_double(head + 16), arrived_s = stamp_s(e, &m);
    e->to = from;
    e->knows_to = true;
    if (train == ECHO) {
        bool held = false;
        return put(e, ECHOED, number, (size_t)n, sent_s, &held, err) != 0 ? -1 : 1;
    }
    if (train == ECHOED && number == e->echo && isnan(e->echo_s))
        e->echo_s = arrived_s - sent_s;
    if (train > ECHOED && train == e->train && e->n_arrived < STRAIT_PATH_MAX_PACKETS)
        e->packets[e->n_arrived++] = (struct strait_path_packet){number, sent_s, arrived_s};
    return 1;
}

/* Wait for packets and, if wanted, for the connection. Returns 1: the connection has something; 0:
 * the time is over, or packets came; -1 with *err. */
static int wait_for(struct strait_path_end *e, bool tcp, double until_s, bool *came,
                    struct strait_error *err)
{
    struct pollfd fds[2] = {{.fd = e->udp, .events = POLLIN},
                            {.fd = tcp ? e->tcp : -1, .events = POLLIN}};
    const double left_s = until_s - strait_path_now_s(e);
    const int n = poll(fds, 2, left_s > 0 ? (int)ceil(1e3 * left_s) : 0);
    if (n < 0 && errno != EINTR)
        return strait_error_system(err, e->who, "cannot wait for packets");
    *came = n > 0 && fds[0].revents != 0;
    int got = 0;
    while (*came && (got = get(e, err)) > 0)
        ;
    return got < 0 ? -1 : n > 0 && fds[1].revents != 0;
}

int strait_path_take(struct strait_path_end *e, double until_s, struct strait_error *err)
{
    bool came;
    do {
        if (wait_for(e, false, until_s, &came, err) < 0)
            return -1;
    } while (isnan(e->echo_s) && strait_path_now_s(e) < until_s);
    return 0;
}

int strait_path_drain(struct strait_path_end *e, double quiet_s, struct strait_error *err)
{
    bool came = true;
    while (came)
        if (wait_for(e, false, strait_path_now_s(e) + quiet_s, &came, err) < 0)
            return -1;
    return 0;
}

int strait_path_send_echo(struct strait_path_end *e, uint32_t number, uint32_t payload_bytes,
                          struct strait_error *err)
{
    bool held = false;
    e->echo = number;
    e->echo_s = NAN;
    return put(e, ECHO, number, payload_bytes, strait_path_now_s(e), &held, err);
}

int strait_path_send(struct strait_path_end *e, struct strait_path_order *train,
                     struct strait_error *err)
{
    const double begin_s = strait_path_now_s(e);
    train->is_held = false;
    for (uint32_t i = 0; i < train->n; i++) {
        const double due_s = begin_s + i * train->gap_s - strait_path_now_s(e);
        if (due_s > 0)
            nanosleep(&(struct timespec){.tv_sec = (time_t)due_s,
                                         .tv_nsec = (long)(1e9 * (due_s - floor(due_s)))},
                      NULL);
        if (put(e, train->number, i, train->payload_bytes, strait_path_now_s(e), &train->is_held,
                err) != 0)
            return -1;
    }
    return 0;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* Send or receive all bytes; while waiting to receive, packets are taken. */
static int carry(struct strait_path_end *e, void *bytes, size_t n, bool in,
                 struct strait_error *err)
{
    unsigned char *at = bytes;
    double until_s = strait_path_now_s(e) + SILENCE_S;
    while (n > 0) {
        bool came;
        const int ready = in ? wait_for(e, true, until_s, &came, err) : 1;
        if (ready < 0)
            return -1;
        if (strait_path_now_s(e) >= until_s)
            return strait_error_set(err, STRAIT_ERR_SYSTEM, e->who,
                                    "expected an answer, found none for %d s", SILENCE_S);
        if (ready == 0)
            continue;
        const ssize_t k = in ? recv(e->tcp, at, n, 0) : send(e->tcp, at, n, MSG_NOSIGNAL);
        if (k == 0 || (k < 0 && errno != EINTR))
            return k == 0 ? strait_error_set(err, STRAIT_ERR_SYSTEM, e->who,
                                             "the other end closed the connection")
                          : strait_error_system(err, e->who, "the connection broke");
        at += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
        until_s = strait_path_now_s(e) + SILENCE_S;
    }
    return 0;
}

int strait_path_tell(struct strait_path_end *e, const struct strait_path_order *o,
                     struct strait_error *err)
{
    unsigned char b[STRAIT_PATH_ORDER_BYTES];
    strait_put32(b, magic);
    strait_put32(b + 4, o->word);
    strait_put32(b + 8, o->number);
    strait_put32(b + 12, o->n);
    strait_put32(b + 16, o->payload_bytes);
    strait_put32(b + 20, o->is_held);
    strait_put_double(b + 24, o->gap_s);
    return carry(e, b, sizeof(b), false, err);
}

int strait_path_hear(struct strait_path_end *e, struct strait_path_order *o,
                     struct strait_error *err)
{
    unsigned char b[STRAIT_PATH_ORDER_BYTES];
    if (carry(e, b, sizeof(b), true, err) != 0)
        return -1;
    *o = (struct strait_path_order){.word = strait_get32(b + 4),
                                    .number = strait_get32(b + 8),
                                    .n = strait_get32(b + 12),
                                    .payload_bytes = strait_get32(b + 16),
                                    .is_held = strait_get32(b + 20) != 0,
                                    .gap_s = strait_get_double(b + 24)};
    const bool good = strait_get32(b) == magic && o->word >= STRAIT_PATH_HELLO &&
                      o->word < STRAIT_PATH_N_WORDS && o->n <= STRAIT_PATH_MAX_PACKETS &&
                      o->gap_s >= 0 && o->gap_s <= 1 && o->payload_bytes <= MAX_PAYLOAD_BYTES &&
                      (o->word != STRAIT_PATH_GIVE || o->payload_bytes >= HEAD_BYTES);
    return good ? 0
                : strait_refuse(err, e->who,
                                "expected strait calibrate net of this version at the other end, "
                                "found something else");
}

int strait_path_tell_train(struct strait_path_end *e, struct strait_error *err)
{
    const struct strait_path_order o = {.word = STRAIT_PATH_TAKEN, .n = (uint32_t)e->n_arrived};
    unsigned char *records = malloc(e->n_arrived * RECORD_BYTES + 1);
    if (!records)
        return strait_error_memory(err, e->who);
    for (size_t i = 0; i < e->n_arrived; i++) {
        unsigned char *r = records + i * RECORD_BYTES;
        strait_put32(r, e->packets[i].number);
        strait_put_double(r + 4, e->packets[i].sent_s);
        strait_put_double(r + 12, e->packets[i].arrived_s);
    }
    const int failed = strait_path_tell(e, &o, err) != 0 ||
                       carry(e, records, e->n_arrived * RECORD_BYTES, false, err) != 0;
    free(records);
    return failed ? -1 : 0;
}

int strait_path_hear_train(struct strait_path_end *e, uint32_t n, struct strait_error *err)
{
    unsigned char *records = malloc((size_t)n * RECORD_BYTES + 1);
    if (!records)
        return strait_error_memory(err, e->who);
    const int failed = carry(e, records, (size_t)n * RECORD_BYTES, true, err);
    for (e->n_arrived = 0; !failed && e->n_arrived < n; e->n_arrived++) {
        const unsigned char *r = records + e->n_arrived * RECORD_BYTES;
        e->packets[e->n_arrived] = (struct strait_path_packet){
            strait_get32(r), strait_get_double(r + 4), strait_get_double(r + 12)};
    }
    free(records);
    return failed;
}
