/* The writing half of the transport's thread: which stream hands how much to TCP, and when. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "clock.h"
#include "pump.h"
#include "wire.h"

enum { FRAME = STRAIT_EMU_MESSAGE_OVERHEAD_BYTES, N_NOISE_VECTORS = 16 };
/* Bytes that one stream may write before the others have their turn. */
enum { WRITE_TURN_BYTES = 1 << 17 };
/* From this size on a checksum is worth looking for. */
enum { LARGE_BYTES = 1 << 16 };
/* How long a sender that found its ring of envelopes full waits before it looks again. */
static const int64_t HELD_NS = 1000000;
/* What a stream may hand over at once, as the time that it takes at its pace. */
static const int64_t BURST_NS = 2000000;
/* But never less than this in one write, or the calls cost more than the bytes. */
enum { LEAST_WRITE_BYTES = 1 << 14 };

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
                t->sent_checksum += strait_emu_wire_checksum(out->frame);
                return;
            }
    strait_emu_wire_pack(out->frame, m->packet, m->tag);
    t->sent_checksum += strait_emu_wire_checksum(out->frame);
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

int strait_emu_outgoing_flush(struct strait_emu_transport *t, int index, struct strait_error *err)
{
    struct strait_emu_out *out = &t->outs[index];
    out->resume_ns = 0;
    for (size_t turn = 0;;) {
        if (turn >= WRITE_TURN_BYTES) {
            take_turn_again(t, out);
            return strait_emu_pump_set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT,
                                               index, err);
        }
        pthread_mutex_lock(&t->lock);
        const struct strait_emu_posted *m = out->first;
        pthread_mutex_unlock(&t->lock);
        if (!m)
            return strait_emu_pump_set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT,
                                               index, err);
        if (is_too_fast(out)) {
            rest(t, out, out->paid_ns - BURST_NS / 2);
            return strait_emu_pump_set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT,
                                               index, err);
        }
        if (!out->begun && !begin_message(t, out, m)) {
            rest(t, out, strait_emu_mono_ns() + HELD_NS);
            return strait_emu_pump_set_blocked(t, &out->blocked, false, out->fd, STRAIT_EMU_OUT,
                                               index, err);
        }
        struct iovec v[N_NOISE_VECTORS + 1];
        struct msghdr h = {.msg_iov = v};
        h.msg_iovlen = (size_t)vectors_of(t, out, m->packet, allowance(out), v);
        size_t len = 0;
        for (size_t i = 0; i < h.msg_iovlen; i++)
            len += v[i].iov_len;
        /* A segment that is cut short by the end of a write would cost a place in the window. */
        const bool is_last = out->n_written + len == FRAME + m->packet->payload_bytes;
        const ssize_t n =
            sendmsg(out->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL | (is_last ? 0 : MSG_MORE));
        if (strait_emu_pump_would_block(n))
            return strait_emu_pump_set_blocked(t, &out->blocked, true, out->fd, STRAIT_EMU_OUT,
                                               index, err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return strait_emu_pump_broken(out->shared->dst, "to", n, err);
        out->n_written += (size_t)n;
        turn += (size_t)n;
        pay(out, (size_t)n);
        t->bytes_sent += (uint64_t)n;
        if (out->n_written == FRAME + m->packet->payload_bytes)
            end_message(t, out);
    }
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

int strait_emu_outgoing_flush_ready(struct strait_emu_transport *t, struct strait_error *err)
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
        if (!out->blocked && !out->resume_ns &&
            strait_emu_outgoing_flush(t, (int)(out - t->outs), err) != 0)
            return -1;
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return 0;
}

int strait_emu_outgoing_flush_rested(struct strait_emu_transport *t, struct strait_error *err)
{
    const int64_t now = strait_emu_mono_ns();
    if (t->resume_ns == 0 || now < t->resume_ns)
        return 0;
    t->resume_ns = 0;
    for (int i = 0; i < t->n_outs; i++) {
        struct strait_emu_out *out = &t->outs[i];
        if (out->resume_ns > now)
            rest(t, out, out->resume_ns);
        else if (out->resume_ns && strait_emu_outgoing_flush(t, i, err) != 0)
            return -1;
    }
    return 0;
}
