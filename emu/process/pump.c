#include "pump.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "core/buffer.h"
#include "process/dilated_clock.h"

enum { FRAME = STRAIT_PROC_FRAME_BYTES };
enum { N_EVENTS = 64 };
/* Bytes that one connection may read before it is the others' turn. */
enum { TURN_BYTES = 1 << 20 };
/* When what was read last was complete. Notes how late that is seen. */
static int64_t complete_ns(struct strait_emu_transport *t, struct strait_emu_arrival *a, int fd,
                           int64_t at_ns)
{
    const int64_t now = strait_proc_mono_ns();
    const int64_t complete = strait_emu_arrival_complete_ns(a, fd, at_ns, now);
    if (now - complete > t->read_late_ns)
        t->read_late_ns = now - complete;
    return complete;
}

static ssize_t read_bytes(struct strait_emu_transport *t, struct strait_emu_arrival *a, int fd,
                          void *data, size_t len_bytes, int64_t *at_ns)
{
    return strait_emu_arrival_read(a, at_ns, &t->clock_ns, fd, data, len_bytes,
                                   t->plan.virtual_time);
}

/* Other connections than the first only report that they broke. */
static int read_nothing(struct strait_emu_out_connection *connection, struct strait_error *err)
{
    char byte;
    const ssize_t n = recv(connection->fd, &byte, 1, MSG_DONTWAIT);
    const int dst = connection->stream->shared->dst;
    if (strait_emu_connection_would_block(n) || (n < 0 && errno == EINTR))
        return 0;
    if (n <= 0)
        return strait_emu_connection_broken(dst, "to", n, err);
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                            "rank %d answered on a connection that carries no acknowledgements",
                            dst);
}

/* Acknowledgements return on the stream's first connection, in order. */
static int read_acks(struct strait_emu_transport *t, struct strait_emu_out_connection *connection,
                     struct strait_error *err)
{
    struct strait_emu_out *out = connection->stream;
    if (connection != out->connections)
        return read_nothing(connection, err);
    for (;;) {
        int64_t now;
        const ssize_t n = read_bytes(t, &connection->arrival, connection->fd,
                                     out->ack + out->ack_got, FRAME - out->ack_got, &now);
        if (strait_emu_connection_would_block(n))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_connection_broken(out->shared->dst, "to", n, err);
        t->bytes_received += (uint64_t)n;
        out->ack_got += (size_t)n;
        if (out->ack_got < FRAME)
            continue;
        out->ack_got = 0;
        now = complete_ns(t, &connection->arrival, connection->fd, now);
        struct strait_emu_posted *m = out->acks;
        struct strait_packet *p = NULL;
        int tag = 0;
        if (strait_proc_wire_unpack(&p, &tag, out->ack, 0, false, err) != 0)
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
    const struct strait_emu_in_connection *connection = &t->in_connections[index];
    struct strait_emu_in *in = connection->stream;
    static const struct strait_packet empty = {.payload_bytes = 0};
    unsigned char frame[FRAME];
    strait_proc_wire_pack(frame, &empty, 0);
    while (in->n_acks > 0) {
        const ssize_t n = send(connection->fd, frame + in->ack_written, FRAME - in->ack_written,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
        if (strait_emu_connection_would_block(n))
            return strait_emu_connection_set_blocked(t, &in->blocked, true, connection->fd,
                                                     STRAIT_EMU_IN, index, err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_connection_broken(in->shared->src, "from", n, err);
        t->bytes_sent += (uint64_t)n;
        in->ack_written += (size_t)n;
        if (in->ack_written == FRAME) {
            in->ack_written = 0;
            in->n_acks--;
        }
    }
    return strait_emu_connection_set_blocked(t, &in->blocked, false, connection->fd, STRAIT_EMU_IN,
                                             index, err);
}

/* Start a message of which no connection has brought a part: read the announced sizes from the
 * frame. */
static struct strait_emu_arriving *open_message(struct strait_emu_transport *t,
                                                struct strait_emu_in *in,
                                                const unsigned char *frame,
                                                struct strait_error *err)
{
    struct strait_emu_stream *s = in->shared;
    const uint64_t taken = atomic_load_explicit(&s->n_taken, memory_order_relaxed);
    if (atomic_load_explicit(&s->n_put, memory_order_acquire) == taken) {
        strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                         "rank %d sent a message on channel %d without its envelope", s->src,
                         s->channel);
        return NULL;
    }
    struct strait_emu_arriving *m = in->spare;
    if (m)
        in->spare = m->next;
    else if (!(m = malloc(sizeof(*m)))) {
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
        return NULL;
    }
    *m = (struct strait_emu_arriving){.envelope = s->ring[taken % STRAIT_EMU_RING],
                                      .n_connections = (unsigned)t->n_connections};
    *in->end = m; /* at once, so that it is freed with the others */
    in->end = &m->next;
    atomic_store_explicit(&s->n_taken, taken + 1, memory_order_release);
    memcpy(m->frame, frame, FRAME);
    if (strait_proc_wire_unpack(&m->packet, &m->tag, frame, m->envelope.noise_bytes,
                                t->plan.real_payload, err) != 0)
        return NULL;
    assert(m->packet);
    /* The guest's pages are mappings of the host's, of which a process has 65530: messages that
     * come side by side would each have its pages scattered. Elsewhere it would take time. */
    if (t->plan.virtual_time && m->packet->data)
        strait_buffer_populate(m->packet->data, m->packet->payload_bytes);
    return m;
}

/* A connection has read a frame: of a message that another one has started, or of a new one. */
static int open_part(struct strait_emu_transport *t, struct strait_emu_in_connection *connection,
                     struct strait_error *err)
{
    struct strait_emu_in *in = connection->stream;
    struct strait_emu_arriving *m = in->first;
    for (uint64_t n = in->n_delivered; n < connection->n_done && m; n++)
        m = m->next;
    if (!m)
        m = open_message(t, in, connection->frame, err);
    else if (memcmp(m->frame, connection->frame, FRAME) != 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d sent on connection %d of channel %d another frame than on "
                                "the others",
                                in->shared->src, (int)(connection - in->connections) + 1,
                                in->shared->channel);
    connection->at = m;
    return m ? 0 : -1;
}

/* The first message is complete: check it and hand it over. */
static int deliver(struct strait_emu_transport *t, struct strait_emu_in *in,
                   struct strait_error *err)
{
    struct strait_emu_arriving *arrived = in->first;
    if (strait_proc_wire_verify(arrived->frame, arrived->packet, err) != 0)
        return -1;
    struct strait_message m = {.packet = arrived->packet,
                               .src = in->shared->src,
                               .tag = arrived->tag,
                               .posted_s = arrived->envelope.posted_s,
                               .seq = in->n_delivered++};
    const bool acked = arrived->envelope.acked;
    in->first = arrived->next;
    if (!in->first)
        in->end = &in->first;
    arrived->next = in->spare;
    arrived->packet = NULL;
    in->spare = arrived;
    t->plan.events.arrived(t->plan.events.context, &m, in->shared->channel, arrived->at_ns);
    if (!acked)
        return 0;
    in->n_acks++;
    return write_acks(t, (int)(in->connections - t->in_connections), err);
}

/* Offset of the connection's part in the payload. */
static size_t part_at(const struct strait_emu_transport *t,
                      const struct strait_emu_in_connection *connection, int more)
{
    const int i = (int)(connection - connection->stream->connections);
    assert(connection->at && connection->at->packet);
    return strait_proc_wire_part_at(connection->at->packet->payload_bytes, t->n_connections,
                                    i + more);
}

/* One read of what comes next: frame or part; a sized part is discarded. */
static ssize_t read_some(struct strait_emu_transport *t,
                         struct strait_emu_in_connection *connection, int64_t *at_ns)
{
    if (connection->n_read < FRAME)
        return read_bytes(t, &connection->arrival, connection->fd,
                          connection->frame + connection->n_read, FRAME - connection->n_read,
                          at_ns);
    const size_t at = part_at(t, connection, 0) + connection->n_read - FRAME;
    size_t left = part_at(t, connection, 1) - at;
    if (left > TURN_BYTES)
        left = TURN_BYTES;
    return read_bytes(t, &connection->arrival, connection->fd,
                      t->plan.real_payload ? connection->at->packet->data + at : NULL, left, at_ns);
}

/* The connection's part is complete. A message is delivered after all earlier ones, since every
 * connection carries all messages in order. */
static int end_part(struct strait_emu_transport *t, struct strait_emu_in_connection *connection,
                    int64_t at_ns, struct strait_error *err)
{
    struct strait_emu_arriving *m = connection->at;
    connection->at = NULL;
    connection->n_read = 0;
    connection->n_done++;
    at_ns = complete_ns(t, &connection->arrival, connection->fd, at_ns);
    if (at_ns > m->at_ns)
        m->at_ns = at_ns;
    return --m->n_connections == 0 ? deliver(t, connection->stream, err) : 0;
}

static int read_in(struct strait_emu_transport *t, int index, struct strait_error *err)
{
    struct strait_emu_in_connection *connection = &t->in_connections[index];
    for (size_t turn = 0; turn < TURN_BYTES;) {
        int64_t at_ns;
        const ssize_t n = read_some(t, connection, &at_ns);
        if (strait_emu_connection_would_block(n))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_connection_broken(connection->stream->shared->src, "from", n, err);
        t->bytes_received += (uint64_t)n;
        turn += (size_t)n;
        connection->n_read += (size_t)n;
        if (connection->n_read == FRAME && open_part(t, connection, err) != 0)
            return -1;
        if (connection->at &&
            connection->n_read == FRAME + part_at(t, connection, 1) - part_at(t, connection, 0) &&
            end_part(t, connection, at_ns, err) != 0)
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
        return readable ? read_acks(t, &t->out_connections[index], err) : 0;
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

/* Note how late the thread is for its beat: the process was stopped, or had no processor. */
static void beat(struct strait_emu_transport *t)
{
    const int64_t now = strait_proc_mono_ns();
    if (t->plan.beat_ns == 0 || now < t->beat_ns)
        return;
    if (t->beat_ns > 0 && now - t->beat_ns > t->stall_ns)
        t->stall_ns = now - t->beat_ns;
    t->beat_ns = now + t->plan.beat_ns;
}

/* The moment at which the thread has something to do without being woken; 0: none. */
static int64_t next_ns(const struct strait_emu_transport *t)
{
    if (t->resume_ns == 0 || (t->beat_ns > 0 && t->beat_ns < t->resume_ns))
        return t->beat_ns;
    return t->resume_ns;
}

void *strait_emu_pump(void *transport)
{
    struct strait_emu_transport *t = transport;
    struct strait_error err = {.code = STRAIT_OK};
    struct epoll_event events[N_EVENTS];
    int failed = 0;
    bool more = false;
    strait_proc_be_prompt();
    while (!failed) {
        beat(t);
        const int64_t next = next_ns(t), left_ns = more ? 0 : next - strait_proc_mono_ns();
        const struct timespec timeout = strait_proc_timespec(left_ns);
        const int n =
            epoll_pwait2(t->epoll, events, N_EVENTS, more || next ? &timeout : NULL, NULL);
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
