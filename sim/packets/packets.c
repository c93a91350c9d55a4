#include "packets.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "tcp_parts.h"
#include "workloads/rank/backend.h"

/* Ties: links by number, then connections by source, destination and channel, as the emulation's
 * transport goes through them, then posts in the order in which they were made, then hosts. */
static const int64_t CONNECTIONS = (int64_t)1 << 32, POSTS = (int64_t)1 << 48,
                     HOSTS = (int64_t)1 << 56;

struct message {
    struct message *next;
    void *owner;
    double at_s;
    int64_t ordinal;     /* of all messages */
    uint64_t part_bytes; /* of each connection */
    uint64_t end_byte;   /* of each connection's stream */
};

/* What writes for all connections of a host, in turns (emu/process/outgoing.c). */
struct host {
    struct strait_heap_node node; /* when some wait for a turn */
    struct strait_connection *ready, **ready_end;
};

struct strait_pipe {
    struct strait_packets *world;
    struct host *host; /* that sends */
    void *owner;       /* of the message that arrived last */
    struct strait_pipe *next;
    struct strait_heap_node node;       /* when the first message of `later` is posted */
    struct message *later, **later_end; /* not posted yet */
    struct message *under_way, **way_end;
    uint64_t posted_bytes; /* to each connection */
    double start_s;        /* drawn: how long a sender takes to begin */
    struct strait_connection connections[STRAIT_MAX_CONNECTIONS];
};

struct strait_packets {
    struct strait_wire wire;
    const struct strait_network *network;
    uint64_t seed;
    bool ramp, starts_differ;
    unsigned n_connections;
    int64_t n_messages;
    struct strait_pipe *pipes, *arrived;
    struct host *hosts; /* of the network's ranks */
    double now_s;
};

struct strait_packets *strait_packets_new(const struct strait_network *network, uint64_t seed,
                                          bool ramp)
{
    struct strait_packets *w = calloc(1, sizeof(*w));
    struct host *hosts = calloc((size_t)network->n_ranks, sizeof(*hosts));
    if (!w || !hosts || strait_wire_init(&w->wire, network) != 0) {
        free(hosts);
        free(w);
        return NULL;
    }
    for (int i = 0; i < network->n_ranks; i++) {
        hosts[i].node.tie = HOSTS + i;
        hosts[i].ready_end = &hosts[i].ready;
    }
    w->hosts = hosts;
    w->network = network;
    w->seed = seed;
    w->ramp = ramp;
    w->starts_differ = strait_network_is_imperfect(network);
    w->n_connections = strait_tcp_n_connections(&network->tcp);
    return w;
}

static void free_messages(struct message *m)
{
    for (struct message *next; m; m = next) {
        next = m->next;
        free(m);
    }
}

void strait_packets_free(struct strait_packets *w)
{
    if (!w)
        return;
    for (struct strait_pipe *p; (p = w->pipes);) {
        w->pipes = p->next;
        free_messages(p->later);
        free_messages(p->under_way);
        for (unsigned i = 0; i < w->n_connections; i++)
            strait_connection_release(&p->connections[i]);
        free(p);
    }
    strait_wire_release(&w->wire);
    free(w->hosts);
    free(w);
}

struct strait_pipe *strait_packets_open(struct strait_packets *w, int src, int dst, int channel,
                                        unsigned n_before)
{
    struct strait_pipe *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->world = w;
    p->host = &w->hosts[src];
    p->later_end = &p->later;
    p->way_end = &p->under_way;
    const int64_t place =
        ((int64_t)src * w->network->n_ranks + dst) * STRAIT_MAX_CHANNELS + channel;
    for (unsigned i = 0; i < w->n_connections; i++) {
        const struct strait_connection_plan plan = {
            .network = w->network,
            .src = src,
            .dst = dst,
            .seed = w->seed,
            .channel = channel,
            .number = i,
            .ordinal = n_before * w->n_connections + i,
            .ramp = w->ramp,
        };
        strait_connection_init(&p->connections[i], &w->wire, p, &plan);
        p->connections[i].node.tie = CONNECTIONS + place * STRAIT_MAX_CONNECTIONS + (int64_t)i;
    }
    /* Senders that start at the same instant would hit queues in one order for ever; hosts differ
     * by about the time of a packet (Floyd and Jacobson, On Traffic Phase Effects in
     * Packet-Switched Gateways, 1992). Where nothing is dropped no order is worse, and every hop of
     * a ring would take half a packet longer. */
    const struct strait_wire_link *own = &w->wire.links[p->connections[0].there[0]];
    if (w->starts_differ)
        p->start_s = strait_random_unit(w->seed, "start", (uint64_t)src, 0) *
                     (w->network->tcp.segment_bytes + w->wire.header_bytes) / own->bytes_per_s;
    p->next = w->pipes;
    w->pipes = p;
    return p;
}

void *strait_pipe_owner(const struct strait_pipe *pipe)
{
    return pipe->owner;
}

static void await_post(struct strait_pipe *p)
{
    p->node.tie = POSTS + p->later->ordinal;
    strait_wire_at(&p->world->wire, &p->node, p->later->at_s);
}

int strait_pipe_post(struct strait_pipe *pipe, void *owner, double at_s, double bytes)
{
    struct message *m = calloc(1, sizeof(*m));
    if (!m)
        return -1;
    m->owner = owner;
    m->at_s = at_s + pipe->start_s;
    m->ordinal = pipe->world->n_messages++;
    m->part_bytes = (uint64_t)ceil(bytes / pipe->world->n_connections);
    *pipe->later_end = m;
    pipe->later_end = &m->next;
    if (pipe->later == m)
        await_post(pipe);
    return pipe->world->wire.no_memory ? -1 : 0;
}

static void add_ready(struct host *h, struct strait_connection *c)
{
    if (c->is_ready)
        return;
    c->is_ready = true;
    c->next_ready = NULL;
    *h->ready_end = c;
    h->ready_end = &c->next_ready;
}

static void post_first(struct strait_pipe *p, double now_s)
{
    struct strait_packets *w = p->world;
    struct message *m = p->later;
    p->later = m->next;
    if (!p->later)
        p->later_end = &p->later;
    else
        await_post(p);
    m->next = NULL;
    *p->way_end = m;
    p->way_end = &m->next;
    p->posted_bytes += m->part_bytes;
    m->end_byte = p->posted_bytes;
    for (unsigned i = 0; i < w->n_connections; i++)
        if (strait_connection_post(&p->connections[i], now_s, m->part_bytes))
            add_ready(p->host, &p->connections[i]);
    if (p->host->ready)
        strait_wire_at(&w->wire, &p->host->node, now_s);
}

/* All that wait on this host write in turns until their pace or TCP holds them. */
static void write_in_turns(struct host *h, double now_s)
{
    for (struct strait_connection *c; (c = h->ready);) {
        h->ready = c->next_ready;
        if (!h->ready)
            h->ready_end = &h->ready;
        c->is_ready = false;
        if (strait_connection_turn(c, now_s))
            add_ready(h, c);
    }
}

/* Whether the oldest message is complete on all connections. */
static bool is_complete(const struct strait_pipe *p)
{
    for (unsigned i = 0; i < p->world->n_connections; i++)
        if (!p->under_way ||
            strait_connection_received_bytes(&p->connections[i]) < p->under_way->end_byte)
            return false;
    return true;
}

static void drop_first(struct strait_pipe *p)
{
    struct message *m = p->under_way;
    p->owner = m->owner;
    p->under_way = m->next;
    if (!p->under_way)
        p->way_end = &p->under_way;
    free(m);
}

/* The link's first packet has left it: to the next link or to its end. */
static void forward(struct strait_packets *w, struct strait_wire_link *l, double now_s)
{
    struct strait_packet_on_wire *p = strait_wire_take(&w->wire, l);
    struct strait_connection *c = p->connection;
    const int *path = p->is_ack ? c->back : c->there;
    if (p->memory_bytes > 0 && p->hop == 0) {
        c->own_memory_bytes -= p->memory_bytes;
        if (c->is_held)
            strait_connection_send(c, now_s);
    }
    if (++p->hop < c->n_hops) {
        if (!strait_wire_carry(&w->wire, path[p->hop], p, now_s))
            strait_wire_free(&w->wire, p);
        return;
    }
    if (p->is_ack) {
        strait_connection_ack(c, p, now_s);
    } else {
        strait_connection_data(c, p, now_s);
        if (is_complete(c->owner))
            w->arrived = c->owner;
    }
    strait_wire_free(&w->wire, p);
}

static void happen(struct strait_packets *w, struct strait_heap_node *node)
{
    const double now_s = node->key;
    if (node->tie < CONNECTIONS) {
        forward(w,
                (struct strait_wire_link *)((char *)node - offsetof(struct strait_wire_link, node)),
                now_s);
        return;
    }
    strait_heap_remove(&w->wire.events, node);
    if (node->tie < POSTS)
        strait_connection_due(
            (struct strait_connection *)((char *)node - offsetof(struct strait_connection, node)),
            now_s);
    else if (node->tie < HOSTS)
        post_first((struct strait_pipe *)((char *)node - offsetof(struct strait_pipe, node)),
                   now_s);
    else
        write_in_turns((struct host *)((char *)node - offsetof(struct host, node)), now_s);
}

double strait_packets_run(struct strait_packets *w, double before_s, struct strait_pipe **arrived)
{
    *arrived = NULL;
    for (;;) {
        if (w->wire.no_memory)
            return NAN;
        if (w->arrived && is_complete(w->arrived)) { /* one segment may end several */
            drop_first(*arrived = w->arrived);
            return w->now_s;
        }
        w->arrived = NULL;
        struct strait_heap_node *node = strait_heap_first(&w->wire.events);
        if (!node || !(node->key < before_s))
            return INFINITY;
        w->now_s = node->key;
        happen(w, node);
    }
}
