/* The writing half of the transport's thread: which connection writes how much to TCP, and when. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "process/dilated_clock.h"
#include "pump.h"

enum { FRAME = STRAIT_PROC_FRAME_BYTES, N_NOISE_VECTORS = 16 };
/* Bytes that a stream's only connection may write before it is another stream's turn. */
enum { WRITE_TURN_BYTES = 1 << 17 };
/* From this size on, reuse a checksum computed before. */
enum { LARGE_BYTES = 1 << 16 };
/* Delay before a sender with a full ring of envelopes tries again. */
static const int64_t HELD_NS = 1000000;
/* Bytes that a connection may write at once, as virtual time at its pace: a limit in real time
 * would mean ever smaller writes at larger dilation, where system calls cost most. */
static const int64_t BURST_NS = 2000000;
/* Payload of a full segment: MTU 1500, IP 20, TCP with time stamps 32. */
enum { SEGMENT_BYTES = 1500 - 20 - 32 };
/* Smallest write; below it system calls cost more than the bytes. */
enum { MIN_WRITE_BYTES = 1 << 14 };

/* The message whose part the connection writes next, or NULL. Out: the number of connections that
 * share the stream's pace: those with something to write and room for it. */
static struct strait_emu_posted *next_of(struct strait_emu_transport *t,
                                         const struct strait_emu_out_connection *connection,
                                         int *n_sharing)
{
    const struct strait_emu_out_connection *all = connection->stream->connections;
    *n_sharing = 0;
    pthread_mutex_lock(&t->lock);
    struct strait_emu_posted *m = connection->at;
    for (int i = 0; i < t->n_connections; i++)
        *n_sharing += &all[i] == connection || (all[i].at && !all[i].blocked);
    pthread_mutex_unlock(&t->lock);
    return m;
}

/* Bytes that a connection may write before it is the next one's turn. */
static size_t turn_of(const struct strait_emu_transport *t)
{
    return t->n_connections > 1 ? STRAIT_TURN_BYTES : WRITE_TURN_BYTES;
}

static int64_t burst_ns(const struct strait_emu_transport *t)
{
    return (int64_t)((double)BURST_NS * t->plan.shared->dilation);
}

/* Bytes that the connection may write now. */
static size_t allowance(const struct strait_emu_transport *t,
                        const struct strait_emu_out_connection *connection, double ns_per_byte)
{
    const int64_t now = strait_proc_mono_ns();
    const int64_t ahead_ns = connection->paid_ns > now ? connection->paid_ns - now : 0;
    if (ns_per_byte <= 0)
        return turn_of(t);
    const double n = (double)(burst_ns(t) - ahead_ns) / ns_per_byte;
    return (size_t)fmin(fmax(n, MIN_WRITE_BYTES), (double)turn_of(t));
}

size_t strait_emu_outgoing_whole_bytes(size_t n_written, size_t most_bytes)
{
    const size_t from = n_written < FRAME ? FRAME : n_written;
    const size_t over_bytes = (from + most_bytes) % SEGMENT_BYTES;
    return over_bytes < most_bytes ? most_bytes - over_bytes : most_bytes;
}

static int number_of(const struct strait_emu_out_connection *connection)
{
    return (int)(connection - connection->stream->connections);
}

/* Length of the connection's part of the message, with its frame. */
static size_t part_bytes(const struct strait_emu_transport *t,
                         const struct strait_emu_out_connection *connection,
                         const struct strait_packet *p)
{
    const int i = number_of(connection);
    return FRAME + strait_proc_wire_part_at(p->payload_bytes, t->n_connections, i + 1) -
           strait_proc_wire_part_at(p->payload_bytes, t->n_connections, i);
}

/* The rest of the connection's part as vectors, up to about `most` bytes. */
static int vectors_of(const struct strait_emu_transport *t,
                      const struct strait_emu_out_connection *connection,
                      struct strait_emu_posted *m, size_t most, struct iovec *v)
{
    const struct strait_packet *p = m->packet;
    const int i = number_of(connection);
    const size_t end = strait_proc_wire_part_at(p->payload_bytes, t->n_connections, i + 1);
    size_t at = strait_proc_wire_part_at(p->payload_bytes, t->n_connections, i);
    int n = 0;
    if (connection->n_written < FRAME)
        v[n++] = (struct iovec){m->frame + connection->n_written, FRAME - connection->n_written};
    else
        at += connection->n_written - FRAME;
    if (p->data && at < end)
        v[n++] = (struct iovec){p->data + at, end - at < most ? end - at : most};
    while (!p->data && at < end && n < N_NOISE_VECTORS && most > 0) {
        const size_t offset = at % STRAIT_EMU_NOISE_BYTES;
        size_t len = STRAIT_EMU_NOISE_BYTES - offset;
        if (len > end - at)
            len = end - at;
        if (len > most)
            len = most;
        most -= len;
        v[n++] = (struct iovec){t->noise + offset, len};
        at += len;
    }
    return n;
}

/* A large packet sent to many has the same frame each time: reuse its checksum. */
static void pack(struct strait_emu_transport *t, struct strait_emu_posted *m)
{
    bool found = false;
    if (m->packet->data && m->packet->payload_bytes >= LARGE_BYTES)
        for (int i = 0; i < t->n_outs && !found; i++) {
            const struct strait_emu_posted *other = t->outs[i].begun;
            found = other && other->packet == m->packet && other->tag == m->tag;
            if (found)
                memcpy(m->frame, other->frame, FRAME);
        }
    if (!found)
        strait_proc_wire_pack(m->frame, m->packet, m->tag);
    t->sent_checksum += strait_proc_wire_checksum(m->frame);
}

/* Put the message's envelope into the receiver's ring. False: the ring is full. */
static bool begin_message(struct strait_emu_transport *t, struct strait_emu_out *out,
                          struct strait_emu_posted *m)
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
    const int64_t late_ns = strait_proc_mono_ns() - m->posted_ns;
    if (m->prompt && late_ns > t->write_late_ns)
        t->write_late_ns = late_ns;
    pack(t, m);
    m->begun = true;
    out->begun = m;
    return true;
}

/* All connections have written their parts of the first message: remove it. Called under the lock,
 * which it releases. */
static void end_message(struct strait_emu_transport *t, struct strait_emu_out *out)
{
    struct strait_emu_posted *m = out->first;
    struct strait_packet *p = m->packet;
    const bool acked = m->ticket != NULL;
    if (out->begun == m)
        out->begun = NULL;
    out->first = m->next;
    if (!out->first)
        out->end = &out->first;
    if (!acked) { /* after the unlock it may belong to others */
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
    strait_packet_landed(p);
    strait_packet_drop(p);
}

static void end_part(struct strait_emu_transport *t, struct strait_emu_out_connection *connection)
{
    pthread_mutex_lock(&t->lock);
    struct strait_emu_posted *m = connection->at;
    connection->at = m->next;
    connection->n_written = 0;
    if (--m->n_connections == 0)
        end_message(t, connection->stream);
    else
        pthread_mutex_unlock(&t->lock);
}

/* Its turn is over although the kernel would take more: move it to the end of the list. */
static void take_turn_again(struct strait_emu_transport *t,
                            struct strait_emu_out_connection *connection)
{
    pthread_mutex_lock(&t->lock);
    strait_emu_connection_ready(t, connection);
    pthread_mutex_unlock(&t->lock);
}

/* Do not write again before that moment. */
static void rest(struct strait_emu_transport *t, struct strait_emu_out_connection *connection,
                 int64_t until_ns)
{
    connection->resume_ns = until_ns;
    if (t->resume_ns == 0 || until_ns < t->resume_ns)
        t->resume_ns = until_ns;
}

/* Whether the connection has used up its burst. */
static bool is_too_fast(const struct strait_emu_transport *t,
                        const struct strait_emu_out_connection *connection)
{
    return connection->stream->ns_per_byte > 0 &&
           connection->paid_ns - burst_ns(t) > strait_proc_mono_ns();
}

static void pay(struct strait_emu_out_connection *connection, size_t n_bytes, double ns_per_byte)
{
    const int64_t now = strait_proc_mono_ns();
    if (connection->paid_ns < now)
        connection->paid_ns = now;
    connection->paid_ns += (int64_t)(ns_per_byte * (double)n_bytes);
}

/* Whether the connection has nothing to write or may not write now; if so, arranges for it to
 * continue later. */
static bool is_held(struct strait_emu_transport *t, struct strait_emu_out_connection *connection,
                    struct strait_emu_posted *m, size_t turn_bytes)
{
    if (!m)
        return true;
    if (turn_bytes >= turn_of(t))
        take_turn_again(t, connection);
    else if (is_too_fast(t, connection))
        rest(t, connection, connection->paid_ns - burst_ns(t) / 2);
    else if (!m->begun && !begin_message(t, connection->stream, m))
        rest(t, connection, strait_proc_mono_ns() + HELD_NS);
    else
        return false;
    return true;
}

int strait_emu_outgoing_flush(struct strait_emu_transport *t, int index, struct strait_error *err)
{
    struct strait_emu_out_connection *connection = &t->out_connections[index];
    connection->resume_ns = 0;
    for (size_t turn = 0;;) {
        int n_sharing;
        struct strait_emu_posted *m = next_of(t, connection, &n_sharing);
        if (is_held(t, connection, m, turn))
            return strait_emu_connection_set_blocked(t, &connection->blocked, false, connection->fd,
                                                     STRAIT_EMU_OUT, index, err);
        const double ns_per_byte = connection->stream->ns_per_byte * n_sharing;
        struct iovec v[N_NOISE_VECTORS + 1];
        struct msghdr h = {.msg_iov = v};
        const size_t most = strait_emu_outgoing_whole_bytes(connection->n_written,
                                                            allowance(t, connection, ns_per_byte));
        h.msg_iovlen = (size_t)vectors_of(t, connection, m, most, v);
        size_t len = 0;
        for (size_t i = 0; i < h.msg_iovlen; i++)
            len += v[i].iov_len;
        /* A segment cut short by the end of a write would waste a place in the window. */
        const size_t end = part_bytes(t, connection, m->packet);
        const bool is_last = connection->n_written + len == end;
        const ssize_t n =
            sendmsg(connection->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL | (is_last ? 0 : MSG_MORE));
        if (strait_emu_connection_would_block(n))
            return strait_emu_connection_set_blocked(t, &connection->blocked, true, connection->fd,
                                                     STRAIT_EMU_OUT, index, err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_connection_broken(connection->stream->shared->dst, "to", n, err);
        connection->n_written += (size_t)n;
        turn += (size_t)n;
        pay(connection, (size_t)n, ns_per_byte);
        t->bytes_sent += (uint64_t)n;
        if (connection->n_written == end)
            end_part(t, connection);
    }
}

int strait_emu_outgoing_flush_ready(struct strait_emu_transport *t, struct strait_error *err)
{
    pthread_mutex_lock(&t->lock);
    for (unsigned n = t->n_ready; n > 0; n--) {
        struct strait_emu_out_connection *connection = t->ready;
        t->ready = connection->next_ready;
        if (!t->ready)
            t->ready_end = &t->ready;
        t->n_ready--;
        connection->ready = false;
        pthread_mutex_unlock(&t->lock);
        if (!connection->blocked && !connection->resume_ns &&
            strait_emu_outgoing_flush(t, (int)(connection - t->out_connections), err) != 0)
            return -1;
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return 0;
}

int strait_emu_outgoing_flush_rested(struct strait_emu_transport *t, struct strait_error *err)
{
    const int64_t now = strait_proc_mono_ns();
    if (t->resume_ns == 0 || now < t->resume_ns)
        return 0;
    t->resume_ns = 0;
    for (int i = 0; i < t->n_outs * t->n_connections; i++) {
        struct strait_emu_out_connection *connection = &t->out_connections[i];
        if (connection->resume_ns > now)
            rest(t, connection, connection->resume_ns);
        else if (connection->resume_ns && strait_emu_outgoing_flush(t, i, err) != 0)
            return -1;
    }
    return 0;
}
