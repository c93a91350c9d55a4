/* Traffic of others: long TCP flows that compete with the run's own on the ports that ask for them.
 * Their other end is one more rank, the last, behind a port at the core that never limits. A flow
 * always has a message on its way and one posted behind it, and ends with the run; no log counts
 * it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rank_state.h"

/* Above the channels that strategies use; CLOSED carries one word of each rank: it has ended. */
enum { FIRST = STRAIT_MAX_CHANNELS - 1 - STRAIT_MAX_OTHER_FLOWS, CLOSED = STRAIT_MAX_CHANNELS - 1 };
enum { DATA, END };
/* A message is what the port carries in this time, or in two round trips, or a window, whichever is
 * the most: so the message behind the one that ends keeps the flow's window full. */
static const double MESSAGE_S = 0.02;

struct flow {                     /* a sender */
    struct strait_packet *packet; /* the same one each time */
    atomic_bool *stops;
    struct strait_rank *lane;
    int dst, channel;
};

struct sink { /* of a channel, from all senders */
    struct strait_rank *lane;
    int channel, n_senders;
};

struct flows { /* of one rank */
    struct flow *senders;
    struct sink sinks[STRAIT_MAX_OTHER_FLOWS];
    int n_senders;
    atomic_bool stops;
};

bool strait_others_use_stream(const struct strait_network *n, int src, int dst, int channel)
{
    const int outside = n->n_ranks - 1, i = channel - FIRST;
    if (channel == CLOSED)
        return dst == outside;
    return i >= 0 && i < (src == outside   ? n->in[dst].n_flows
                          : dst == outside ? n->out[src].n_flows
                                           : 0);
}

static void *must(struct strait_rank *r, void *p)
{
    struct strait_error err = {0};
    if (p)
        return p;
    strait_error_memory(&err, NULL);
    r->backend->ops->fail(r, &err);
}

static void send_on(struct strait_rank *lane, void *arg)
{
    struct flow *f = arg;
    struct strait_op *last = NULL;
    while (!atomic_load(f->stops)) {
        struct strait_op *next = lane->backend->ops->send(lane, f->dst, f->channel, DATA,
                                                          strait_packet_keep(f->packet), true);
        if (last)
            lane->backend->ops->wait(lane, last, NULL);
        last = next;
    }
    lane->backend->ops->send(lane, f->dst, f->channel, END, must(lane, strait_packet_new(0)),
                             false);
    if (last)
        lane->backend->ops->wait(lane, last, NULL);
    strait_packet_drop(f->packet);
}

static void take_all(struct strait_rank *lane, void *arg)
{
    const struct sink *k = arg;
    struct strait_message m;
    for (int n_left = k->n_senders; n_left > 0; n_left -= m.tag == END) {
        lane->backend->ops->recv(lane, &m, STRAIT_ANY, k->channel, INFINITY);
        strait_packet_drop(m.packet);
    }
}

static double message_bytes(const struct strait_network *n, int src, int dst)
{
    const double s = fmax(MESSAGE_S, 2 * strait_path_rtt_s(n, src, dst));
    const double window_bytes = isfinite(n->tcp.window_bytes) ? n->tcp.window_bytes : 0;
    return fmax(window_bytes, strait_path_goodput_bytes_per_s(n, src, dst) * s);
}

static void begin_sender(struct strait_rank *r, struct flows *all, int dst, int channel)
{
    const size_t n_bytes = (size_t)message_bytes(r->run->network, r->me, dst);
    struct flow *f = &all->senders[all->n_senders++];
    *f = (struct flow){.stops = &all->stops, .dst = dst, .channel = channel};
    f->packet = must(r, strait_packet_new(r->run->real_payload ? n_bytes : 0));
    if (f->packet->data)
        memset(f->packet->data, 0, n_bytes);
    f->packet->payload_bytes = f->packet->raw_bytes = n_bytes;
    f->lane = r->backend->ops->spawn(r, send_on, f);
}

/* The flows of this rank begin. */
static struct flows *begin(struct strait_rank *r)
{
    const struct strait_network *n = r->run->network;
    const int outside = n->n_ranks - 1;
    const bool is_outside = r->me == outside;
    struct flows *all = must(r, calloc(1, sizeof(*all)));
    size_t n_senders = 1;
    for (int rank = 0; rank < outside; rank++)
        n_senders += is_outside      ? (size_t)n->in[rank].n_flows
                     : rank == r->me ? (size_t)n->out[rank].n_flows
                                     : 0;
    all->senders = must(r, calloc(n_senders, sizeof(*all->senders)));
    for (int rank = is_outside ? 0 : r->me; rank < (is_outside ? outside : r->me + 1); rank++) {
        const int n_out = is_outside ? n->in[rank].n_flows : n->out[rank].n_flows,
                  n_in = is_outside ? n->out[rank].n_flows : n->in[rank].n_flows;
        for (int i = 0; i < n_in; i++)
            all->sinks[i].n_senders++;
        for (int i = 0; i < n_out; i++)
            begin_sender(r, all, is_outside ? rank : outside, FIRST + i);
    }
    for (int i = 0; i < STRAIT_MAX_OTHER_FLOWS; i++) {
        all->sinks[i].channel = FIRST + i;
        if (all->sinks[i].n_senders > 0)
            all->sinks[i].lane = r->backend->ops->spawn(r, take_all, &all->sinks[i]);
    }
    return all;
}

static void end(struct strait_rank *r, struct flows *all)
{
    for (int i = 0; i < all->n_senders; i++)
        r->backend->ops->join(r, all->senders[i].lane);
    for (int i = 0; i < STRAIT_MAX_OTHER_FLOWS; i++)
        if (all->sinks[i].lane)
            r->backend->ops->join(r, all->sinks[i].lane);
    free(all->senders);
    free(all);
}

void strait_others_main(struct strait_rank *r)
{
    struct flows *all = begin(r);
    struct strait_message m;
    for (int n_left = r->me; n_left > 0; n_left--) {
        r->backend->ops->recv(r, &m, STRAIT_ANY, CLOSED, INFINITY);
        strait_packet_drop(m.packet);
        if (m.src == 0 && r->run->ends_with_rank_0)
            break;
    }
    atomic_store(&all->stops, true);
    end(r, all);
}

void strait_others_beside(struct strait_rank *r, void (*program)(struct strait_rank *r))
{
    struct flows *all = begin(r);
    program(r);
    atomic_store(&all->stops, true);
    r->backend->ops->send(r, r->run->n_ranks - 1, CLOSED, 0, must(r, strait_packet_new(0)), false);
    end(r, all);
}
