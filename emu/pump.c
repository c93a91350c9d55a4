#include "pump.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "../core/buffer.h"
#include "clock.h"
#include "wire.h"

enum { FRAME = STRAIT_EMU_MESSAGE_OVERHEAD_BYTES };
enum { N_EVENTS = 64 };
/* Bytes that one stream may read before the others have their turn. */
enum { TURN_BYTES = 1 << 20 };
/* A stamp that is older than this comes from another clock. */
static const int64_t MOST_LATE_NS = 10000000000;

int strait_emu_pump_watch(struct strait_emu_transport *t, int operation, int fd, uint32_t events,
                          enum strait_emu_source source, int index, struct strait_error *err)
{
    struct epoll_event e = {.events = events, .data.u64 = (uint64_t)source << 32 | (uint32_t)index};
    if (epoll_ctl(t->epoll, operation, fd, &e) != 0)
        return strait_error_system(err, "epoll_ctl", "cannot watch a connection");
    return 0;
}

int strait_emu_pump_broken(int other, const char *direction, ssize_t n, struct strait_error *err)
{
    if (n == 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the connection %s rank %d ended",
                                direction, other);
    return strait_error_system(err, NULL, "the connection %s rank %d broke", direction, other);
}

bool strait_emu_pump_would_block(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

int strait_emu_pump_set_blocked(struct strait_emu_transport *t, bool *blocked, bool now, int fd,
                                enum strait_emu_source source, int index, struct strait_error *err)
{
    if (*blocked == now)
        return 0;
    *blocked = now;
    return strait_emu_pump_watch(t, EPOLL_CTL_MOD, fd, EPOLLIN | (now ? EPOLLOUT : 0u), source,
                                 index, err);
}

/* The moment of CLOCK_MONOTONIC at which the kernel received the last bytes of a read: however late
 * this thread woke up. The kernel's stamps are of CLOCK_REALTIME. */
static int64_t arrival_ns(struct strait_emu_transport *t, struct msghdr *h)
{
    const int64_t now = strait_emu_mono_ns();
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS)
            continue;
        struct timespec stamp, real;
        memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
        clock_gettime(CLOCK_REALTIME, &real);
        const int64_t late_ns =
            (int64_t)(real.tv_sec - stamp.tv_sec) * 1000000000 + (real.tv_nsec - stamp.tv_nsec);
        if (late_ns < 0 || late_ns > MOST_LATE_NS)
            break; /* somebody set the clock */
        if (late_ns > t->read_late_ns)
            t->read_late_ns = late_ns;
        return now - late_ns;
    }
    return now;
}

/* Read what is there; with data NULL, throw it away. at_ns: when its last byte arrived. */
static ssize_t read_bytes(struct strait_emu_transport *t, int fd, void *data, size_t len,
                          int64_t *at_ns)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec v = {data, len};
    struct msghdr h = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    const ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | (data ? 0 : MSG_TRUNC));
    if (n > 0)
        *at_ns = arrival_ns(t, &h);
    return n;
}

/* Acknowledgements come back on the stream's own connection, in order. */
static int read_acks(struct strait_emu_transport *t, struct strait_emu_out *out,
                     struct strait_error *err)
{
    for (;;) {
        int64_t now;
        const ssize_t n =
            read_bytes(t, out->fd, out->ack + out->ack_got, FRAME - out->ack_got, &now);
        if (strait_emu_pump_would_block(n))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_pump_broken(out->shared->dst, "to", n, err);
        t->bytes_received += (uint64_t)n;
        out->ack_got += (size_t)n;
        if (out->ack_got < FRAME)
            continue;
        out->ack_got = 0;
        struct strait_emu_posted *m = out->acks;
        struct strait_packet *p = NULL;
        int tag = 0;
        static const struct strait_emu_envelope none = {.acked = 0};
        if (strait_emu_wire_unpack(&p, &tag, out->ack, &none, false, err) != 0)
            return -1;
        strait_packet_drop(p);
        if (!m)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d acknowledged what was not sent", out->shared->dst);
        out->acks = m->next;
        if (!out->acks)
            out->acks_end = &out->acks;
        t->plan.events.acknowledged(t->plan.events.context, m->ticket, now);
        pthread_mutex_lock(&t->lock);
        m->next = t->spare;
        t->spare = m;
        pthread_mutex_unlock(&t->lock);
    }
}

static int write_acks(struct strait_emu_transport *t, int index, struct strait_error *err)
{
    struct strait_emu_in *in = &t->ins[index];
    static const struct strait_packet empty = {.payload_bytes = 0};
    unsigned char frame[FRAME];
    strait_emu_wire_pack(frame, &empty, 0);
    while (in->n_acks > 0) {
        const ssize_t n = send(in->fd, frame + in->ack_written, FRAME - in->ack_written,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
        if (strait_emu_pump_would_block(n))
            return strait_emu_pump_set_blocked(t, &in->blocked, true, in->fd, STRAIT_EMU_IN, index,
                                               err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_pump_broken(in->shared->src, "from", n, err);
        t->bytes_sent += (uint64_t)n;
        in->ack_written += (size_t)n;
        if (in->ack_written == FRAME) {
            in->ack_written = 0;
            in->n_acks--;
        }
    }
    return strait_emu_pump_set_blocked(t, &in->blocked, false, in->fd, STRAIT_EMU_IN, index, err);
}

/* The frame is complete: what does it announce? */
static int open_message(struct strait_emu_transport *t, struct strait_emu_in *in,
                        struct strait_error *err)
{
    struct strait_emu_stream *s = in->shared;
    const uint64_t taken = atomic_load_explicit(&s->n_taken, memory_order_relaxed);
    if (atomic_load_explicit(&s->n_put, memory_order_acquire) == taken)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d sent a message on channel %d without its envelope", s->src,
                                s->channel);
    in->envelope = s->ring[taken % STRAIT_EMU_RING];
    atomic_store_explicit(&s->n_taken, taken + 1, memory_order_release);
    if (strait_emu_wire_unpack(&in->packet, &in->tag, in->frame, &in->envelope,
                               t->plan.real_payload, err) != 0)
        return -1;
    if (t->plan.populate && in->packet->data)
        strait_buffer_populate(in->packet->data, in->packet->payload_bytes);
    return 0;
}

/* The message is complete: check it, hand it over. */
static int deliver(struct strait_emu_transport *t, int index, int64_t now, struct strait_error *err)
{
    struct strait_emu_in *in = &t->ins[index];
    if (strait_emu_wire_verify(in->frame, in->packet, err) != 0)
        return -1;
    struct strait_message m = {.packet = in->packet,
                               .src = in->shared->src,
                               .tag = in->tag,
                               .posted_s = in->envelope.posted_s,
                               .seq = in->seq++};
    in->packet = NULL;
    in->n_read = 0;
    t->plan.events.arrived(t->plan.events.context, &m, in->shared->channel, now);
    if (!in->envelope.acked)
        return 0;
    in->n_acks++;
    return write_acks(t, index, err);
}

/* One read of what is due: the frame, or the payload, thrown away where the run is sized. */
static ssize_t read_some(struct strait_emu_transport *t, struct strait_emu_in *in, int64_t *at_ns)
{
    if (in->n_read < FRAME)
        return read_bytes(t, in->fd, in->frame + in->n_read, FRAME - in->n_read, at_ns);
    const size_t at = in->n_read - FRAME;
    size_t left = in->packet->payload_bytes - at;
    if (left > TURN_BYTES)
        left = TURN_BYTES;
    return read_bytes(t, in->fd, t->plan.real_payload ? in->packet->data + at : NULL, left, at_ns);
}

static int read_in(struct strait_emu_transport *t, int index, struct strait_error *err)
{
    struct strait_emu_in *in = &t->ins[index];
    for (size_t turn = 0; turn < TURN_BYTES;) {
        int64_t at_ns;
        const ssize_t n = read_some(t, in, &at_ns);
        if (strait_emu_pump_would_block(n))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_pump_broken(in->shared->src, "from", n, err);
        t->bytes_received += (uint64_t)n;
        turn += (size_t)n;
        in->n_read += (size_t)n;
        if (in->n_read == FRAME && open_message(t, in, err) != 0)
            return -1;
        if (in->packet && in->n_read == FRAME + in->packet->payload_bytes &&
            deliver(t, index, at_ns, err) != 0)
            return -1;
    }
    return 0;
}

static int handle(struct strait_emu_transport *t, const struct epoll_event *e,
                  struct strait_error *err)
{
    const enum strait_emu_source source = (enum strait_emu_source)(e->data.u64 >> 32);
    const int index = (int)(uint32_t)e->data.u64;
    const bool readable = e->events & (EPOLLIN | EPOLLHUP | EPOLLERR);
    const bool writable = e->events & EPOLLOUT;
    uint64_t count;
    switch (source) {
    case STRAIT_EMU_OUT:
        if (writable && strait_emu_outgoing_flush(t, index, err) != 0)
            return -1;
        return readable ? read_acks(t, &t->outs[index], err) : 0;
    case STRAIT_EMU_IN:
        if (writable && write_acks(t, index, err) != 0)
            return -1;
        return readable ? read_in(t, index, err) : 0;
    default:
        if (read(t->wake, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
            return strait_error_system(err, "eventfd", "cannot be read");
        return 0;
    }
}

void *strait_emu_pump(void *transport)
{
    struct strait_emu_transport *t = transport;
    struct strait_error err = {.code = STRAIT_OK};
    struct epoll_event events[N_EVENTS];
    int failed = 0;
    bool more = false;
    strait_emu_be_prompt();
    while (!failed) {
        const int64_t left_ns = more ? 0 : t->resume_ns - strait_emu_mono_ns();
        const struct timespec timeout = strait_emu_timespec(left_ns);
        const int n =
            epoll_pwait2(t->epoll, events, N_EVENTS, more || t->resume_ns ? &timeout : NULL, NULL);
        if (n < 0 && errno != EINTR)
            failed = strait_error_system(&err, "epoll_pwait2", "failed");
        for (int i = 0; i < n && !failed; i++)
            failed = handle(t, &events[i], &err);
        if (!failed)
            failed = strait_emu_outgoing_flush_ready(t, &err) != 0 ||
                     strait_emu_outgoing_flush_rested(t, &err) != 0;
        pthread_mutex_lock(&t->lock);
        more = t->n_ready > 0;
        const bool stopping = t->stopping;
        pthread_mutex_unlock(&t->lock);
        if (stopping)
            return NULL;
    }
    t->plan.events.failed(t->plan.events.context, &err);
    return NULL;
}
