#include "pump.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "clock.h"
#include "wire.h"

enum { FRAME = STRAIT_EMU_MESSAGE_OVERHEAD_BYTES };
enum { N_EVENTS = 64, N_NOISE_VECTORS = 16 };
/* Bytes that one stream may read, and write, before the others have their turn. */
enum { TURN_BYTES = 1 << 20, WRITE_TURN_BYTES = 1 << 17 };
/* From this size on a checksum is worth looking for. */
enum { LARGE_BYTES = 1 << 16 };
/* How long a sender that found its ring of envelopes full waits before it looks again. */
static const int64_t HELD_NS = 1000000;
/* What a stream may hand over at once, as the time that it takes at its pace. */
static const int64_t BURST_NS = 2000000;
/* But never less than this in one write, or the calls cost more than the bytes. */
enum { LEAST_WRITE_BYTES = 1 << 14 };
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

static int broken(int other, const char *direction, ssize_t n, struct strait_error *err)
{
    if (n == 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the connection %s rank %d ended",
                                direction, other);
    return strait_error_system(err, NULL, "the connection %s rank %d broke", direction, other);
}

static bool would_block(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Want to be told when there is room again. */
static int set_blocked(struct strait_emu_transport *t, bool *blocked, bool now, int fd,
                       enum strait_emu_source source, int index, struct strait_error *err)
{
    if (*blocked == now)
        return 0;
    *blocked = now;
    return strait_emu_pump_watch(t, EPOLL_CTL_MOD, fd, EPOLLIN | (now ? EPOLLOUT : 0u), source,
                                 index, err);
}

/* Bytes that the stream may hand over now. */
static size_t allowance(const struct strait_emu_out *out)
{
    const int64_t now = strait_emu_mono_ns();
    const int64_t ahead_ns = out->paid_ns > now ? out->paid_ns - now : 0;
    if (out->ns_per_byte <= 0)
        return WRITE_TURN_BYTES;
    const double n = (double)(BURST_NS - ahead_ns) / out->ns_per_byte;
    return (size_t)fmin(fmax(n, LEAST_WRITE_BYTES), WRITE_TURN_BYTES);
}

/* The rest of the first message as vectors, up to about most bytes of it. */
static int vectors_of(const struct strait_emu_transport *t, const struct strait_emu_out *out,
                      const struct strait_packet *p, size_t most, struct iovec *v)
{
    int n = 0;
    size_t at = out->n_written;
    if (at < FRAME) {
        v[n++] = (struct iovec){(void *)(out->frame + at), FRAME - at};
        at = FRAME;
    }
    at -= FRAME;
    if (p->data && at < p->payload_bytes) {
        const size_t left = p->payload_bytes - at;
        v[n++] = (struct iovec){p->data + at, left < most ? left : most};
    }
    while (!p->data && at < p->payload_bytes && n < N_NOISE_VECTORS && most > 0) {
        const size_t offset = at % STRAIT_EMU_NOISE_BYTES;
        size_t len = STRAIT_EMU_NOISE_BYTES - offset;
        if (len > p->payload_bytes - at)
            len = p->payload_bytes - at;
        if (len > most)
            len = most;
        most -= len;
        v[n++] = (struct iovec){t->noise + offset, len};
        at += len;
    }
    return n;
}

/* A large packet on its way to many has the same frame everywhere: do not sum it up again. */
static void pack(struct strait_emu_transport *t, struct strait_emu_out *out,
                 const struct strait_emu_posted *m)
{
    if (m->packet->data && m->packet->payload_bytes >= LARGE_BYTES)
        for (const struct strait_emu_out *o = t->outs; o < t->outs + t->n_outs; o++)
            if (o->begun && o->first->packet == m->packet && o->first->tag == m->tag) {
                memcpy(out->frame, o->frame, FRAME);
                return;
            }
    strait_emu_wire_pack(out->frame, m->packet, m->tag);
}

/* Put the message's envelope where the receiver will look. False: the ring is full. */
static bool begin_message(struct strait_emu_transport *t, struct strait_emu_out *out,
                          const struct strait_emu_posted *m)
{
    struct strait_emu_stream *s = out->shared;
    const uint64_t put = atomic_load_explicit(&s->n_put, memory_order_relaxed);
    if (put - atomic_load_explicit(&s->n_taken, memory_order_acquire) >= STRAIT_EMU_RING)
        return false;
    s->ring[put % STRAIT_EMU_RING] =
        (struct strait_emu_envelope){.posted_s = m->posted_s,
                                     .noise_bytes = m->packet->data ? 0 : m->packet->payload_bytes,
                                     .acked = m->ticket != NULL};
    atomic_store_explicit(&s->n_put, put + 1, memory_order_release);
    const int64_t late_ns = strait_emu_mono_ns() - m->posted_ns;
    if (m->prompt && late_ns > t->write_late_ns)
        t->write_late_ns = late_ns;
    pack(t, out, m);
    out->begun = true;
    out->n_written = 0;
    return true;
}

static void end_message(struct strait_emu_transport *t, struct strait_emu_out *out)
{
    pthread_mutex_lock(&t->lock);
    struct strait_emu_posted *m = out->first;
    struct strait_packet *p = m->packet;
    const bool acked = m->ticket != NULL;
    out->first = m->next;
    if (!out->first)
        out->end = &out->first;
    if (!acked) { /* from the unlock on somebody else's */
        m->next = t->spare;
        t->spare = m;
    }
    if (--t->n_queued == 0)
        pthread_cond_broadcast(&t->drained);
    pthread_mutex_unlock(&t->lock);
    if (acked) {
        m->packet = NULL;
        m->next = NULL;
        *out->acks_end = m;
        out->acks_end = &m->next;
    }
    strait_packet_drop(p);
    out->begun = false;
}

/* Its turn is over although the kernel would take more: to the end of the list. */
static void take_turn_again(struct strait_emu_transport *t, struct strait_emu_out *out)
{
    pthread_mutex_lock(&t->lock);
    strait_emu_pump_ready(t, out);
    pthread_mutex_unlock(&t->lock);
}

/* Not before that moment again. */
static void rest(struct strait_emu_transport *t, struct strait_emu_out *out, int64_t until_ns)
{
    out->resume_ns = until_ns;
    if (t->resume_ns == 0 || until_ns < t->resume_ns)
        t->resume_ns = until_ns;
}

/* Has the stream used up its burst? */
static bool is_too_fast(const struct strait_emu_out *out)
{
    return out->ns_per_byte > 0 && out->paid_ns - BURST_NS > strait_emu_mono_ns();
}

static void pay(struct strait_emu_out *out, size_t n_bytes)
{
    const int64_t now = strait_emu_mono_ns();
    if (out->paid_ns < now)
        out->paid_ns = now;
    out->paid_ns += (int64_t)(out->ns_per_byte * (double)n_bytes);
}

/* Write as much as the kernel takes, but not more than a turn, nor faster than the pace. */
static int flush_out(struct strait_emu_transport *t, int index, struct strait_error *err)
{
    struct strait_emu_out *out = &t->outs[index];
    out->resume_ns = 0;
    for (size_t turn = 0;;) {
        if (turn >= WRITE_TURN_BYTES) {
            take_turn_again(t, out);
            return set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT, index, err);
        }
        pthread_mutex_lock(&t->lock);
        const struct strait_emu_posted *m = out->first;
        pthread_mutex_unlock(&t->lock);
        if (!m)
            return set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT, index, err);
        if (is_too_fast(out)) {
            rest(t, out, out->paid_ns - BURST_NS / 2);
            return set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT, index, err);
        }
        if (!out->begun && !begin_message(t, out, m)) {
            rest(t, out, strait_emu_mono_ns() + HELD_NS);
            return set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT, index, err);
        }
        struct iovec v[N_NOISE_VECTORS + 1];
        struct msghdr h = {.msg_iov = v};
        h.msg_iovlen = (size_t)vectors_of(t, out, m->packet, allowance(out), v);
        const ssize_t n = sendmsg(out->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (would_block(n))
            return set_blocked(t, &out->blocked, true, out->fd, STRAIT_EMU_OUT, index, err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return broken(out->shared->dst, "to", n, err);
        out->n_written += (size_t)n;
        turn += (size_t)n;
        pay(out, (size_t)n);
        t->bytes_sent += (uint64_t)n;
        if (out->n_written == FRAME + m->packet->payload_bytes)
            end_message(t, out);
    }
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
        if (would_block(n))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return broken(out->shared->dst, "to", n, err);
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
        if (would_block(n))
            return set_blocked(t, &in->blocked, true, in->fd, STRAIT_EMU_IN, index, err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return broken(in->shared->src, "from", n, err);
        t->bytes_sent += (uint64_t)n;
        in->ack_written += (size_t)n;
        if (in->ack_written == FRAME) {
            in->ack_written = 0;
            in->n_acks--;
        }
    }
    return set_blocked(t, &in->blocked, false, in->fd, STRAIT_EMU_IN, index, err);
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
    return strait_emu_wire_unpack(&in->packet, &in->tag, in->frame, &in->envelope,
                                  t->plan.real_payload, err);
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
        if (would_block(n))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return broken(in->shared->src, "from", n, err);
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

void strait_emu_pump_ready(struct strait_emu_transport *t, struct strait_emu_out *out)
{
    if (out->ready)
        return;
    out->ready = true;
    out->next_ready = NULL;
    *t->ready_end = out;
    t->ready_end = &out->next_ready;
    t->n_ready++;
}

/* One turn for each stream that was posted to or could go on. */
static int flush_ready(struct strait_emu_transport *t, struct strait_error *err)
{
    pthread_mutex_lock(&t->lock);
    for (unsigned n = t->n_ready; n > 0; n--) {
        struct strait_emu_out *out = t->ready;
        t->ready = out->next_ready;
        if (!t->ready)
            t->ready_end = &t->ready;
        t->n_ready--;
        out->ready = false;
        pthread_mutex_unlock(&t->lock);
        if (!out->blocked && !out->resume_ns && flush_out(t, (int)(out - t->outs), err) != 0)
            return -1;
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return 0;
}

/* Those whose rest is over. */
static int flush_rested(struct strait_emu_transport *t, struct strait_error *err)
{
    const int64_t now = strait_emu_mono_ns();
    if (t->resume_ns == 0 || now < t->resume_ns)
        return 0;
    t->resume_ns = 0;
    for (int i = 0; i < t->n_outs; i++) {
        struct strait_emu_out *out = &t->outs[i];
        if (out->resume_ns > now)
            rest(t, out, out->resume_ns);
        else if (out->resume_ns && flush_out(t, i, err) != 0)
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
        if (writable && flush_out(t, index, err) != 0)
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
            failed = flush_ready(t, &err) != 0 || flush_rested(t, &err) != 0;
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
