/* Messages and lanes of a rank: counted and logged, then passed to the backend. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "coding.h"
#include "rank.h"

struct strait_packet *strait_control(struct strait_rank *r, double word)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    p->words[0] = word;
    return p;
}

struct strait_packet *strait_filler(struct strait_rank *r, size_t n_bytes)
{
    struct strait_packet *p = strait_packet_new(r->run->real_payload ? n_bytes : 0);
    if (!p)
        strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "memory ran out");
    if (p->data)
        memset(p->data, 0, n_bytes);
    p->payload_bytes = p->raw_bytes = n_bytes;
    return p;
}

static void count_sent(struct strait_rank *r, int dst, const struct strait_packet *taken)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (dst != r->me) {
        strait_rank_state_lock(r);
        w->log->n_messages++;
        w->log->payload_bytes += taken->payload_bytes;
        w->log->raw_bytes += taken->raw_bytes;
        strait_rank_state_unlock(r);
    }
}

void strait_send(struct strait_rank *r, int dst, int channel, int tag, struct strait_packet *taken)
{
    count_sent(r, dst, taken);
    r->backend->ops->send(r, dst, channel, tag, taken, false);
}

struct strait_task *strait_send_acked(struct strait_rank *r, int dst, int channel, int tag,
                                      struct strait_packet *taken)
{
    count_sent(r, dst, taken);
    return strait_task_of(r, STRAIT_SPAN_WAIT,
                          r->backend->ops->send(r, dst, channel, tag, taken, true));
}

/* In a frame of its own: ranks that share a stack keep what lies on it while they wait. */
__attribute__((noinline)) static void log_received(struct strait_rank *r,
                                                   const struct strait_message *m, bool came,
                                                   int channel, double start_s)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const double end_s = strait_now_s(r);
    if (end_s > start_s) {
        const struct strait_times blocked = {start_s, start_s, end_s};
        strait_rank_state_span(r, STRAIT_SPAN_WAIT, &blocked, NULL, came ? m->src : -1, channel,
                               came ? m->tag : -1);
    }
    if (came && m->src != r->me) {
        const struct strait_times carried = {m->posted_s, m->posted_s, m->arrived_s};
        strait_rank_state_span(r, STRAIT_SPAN_TRANSFER, &carried, m->packet, m->src, channel,
                               m->tag);
        strait_footprint_arrive(w->footprint, r, m, channel);
        if (strait_packet_is_received(w, m->packet))
            strait_rank_state_hold(w, (double)m->packet->payload_bytes);
    }
}

bool strait_recv_by(struct strait_rank *r, struct strait_message *m, int src, int channel,
                    double deadline_s)
{
    const double start_s = strait_now_s(r);
    const bool came = r->backend->ops->recv(r, m, src, channel, deadline_s);
    log_received(r, m, came, channel, start_s);
    return came;
}

void strait_note_missing(struct strait_rank *r, int n)
{
    strait_rank_state_of(r)->log->n_missing += (uint64_t)n;
}

struct strait_message strait_recv(struct strait_rank *r, int src, int channel)
{
    struct strait_message m;
    const bool came = strait_recv_by(r, &m, src, channel, INFINITY);
    assert(came);
    return m;
}

void strait_follow(struct strait_rank *r, struct strait_packet *taken)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    if (!(taken->flags & STRAIT_PACKET_REFERS) || taken->flags & STRAIT_PACKET_COMES_BACK ||
        taken->n_elems != strait_model(r)->n_elems) {
        strait_drop(r, taken);
        return;
    }
    if (!w->follower)
        w->follower = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    strait_decode(r, w->follower, taken);
}

struct strait_message strait_recv_newest(struct strait_rank *r, int src, int channel)
{
    struct strait_message m = strait_recv(r, src, channel), next;
    while (strait_recv_by(r, &next, src, channel, -INFINITY)) {
        strait_follow(r, m.packet);
        m = next;
    }
    return m;
}

struct service {
    int src, channel;
    bool (*answer)(struct strait_rank *r, void *arg, const struct strait_message *newest);
    void *arg;
};

static bool serve(struct strait_rank *r, void *of)
{
    const struct service *s = of;
    const struct strait_message m = strait_recv_newest(r, s->src, s->channel);
    return s->answer(r, s->arg, &m);
}

void strait_serve(struct strait_rank *r, int src, int channel,
                  bool (*answer)(struct strait_rank *, void *, const struct strait_message *),
                  void *arg)
{
    struct service *s = strait_alloc(r, 1, sizeof(*s));
    *s = (struct service){src, channel, answer, arg};
    if (r->backend->ops->serve && !strait_trains(r)) /* training ends after the program */
        r->backend->ops->serve(r, src, channel, serve, s);
    while (serve(r, s))
        continue;
}

void strait_post(struct strait_rank *r, int channel, int word)
{
    r->backend->ops->send(r, r->me, channel, word, strait_control(r, word), false);
}

int strait_pend(struct strait_rank *r, int channel)
{
    struct strait_message m;
    const bool came = r->backend->ops->recv(r, &m, r->me, channel, INFINITY);
    assert(came);
    strait_packet_drop(m.packet);
    return m.tag;
}

struct strait_rank *strait_spawn(struct strait_rank *r, void (*fn)(struct strait_rank *, void *),
                                 void *arg)
{
    return r->backend->ops->spawn(r, fn, arg);
}

void strait_join(struct strait_rank *r, struct strait_rank *lane)
{
    r->backend->ops->join(r, lane);
}
