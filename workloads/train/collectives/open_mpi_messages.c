/* Messages of Open MPI over TCP (open-mpi/ompi v4.1.4), for its collectives.
 *
 * A message of more than the eager limit is a handshake (pml/ob1: TCP needs no registered memory,
 * so that start_rdma asks with 40 bytes and no data, and the receiver answers with a PUT): three
 * delays. All of a pair goes over one connection, so an answer waits behind what its sender has put
 * there before. Where both of a pair begin together the answers cross and data flows both ways at
 * once; where the other's question has been read before, a rank answers it before it asks, the
 * other begins to send, and its own answer waits for all of that: one way after the other. The next
 * question then travels right behind that data, so that the next exchange is one way after the
 * other too.
 *
 * A send is done when its connection's buffer has the last of it, which is before it has left: such
 * a rank goes on, and its questions wait for the others. What comes while a rank computes is read
 * in its next call, after it has asked.
 *
 * A pair's connection opens when they first meet (btl_tcp_endpoint.c): where both connect, that of
 * the lower rank stays. It goes to the other and back, then the lower rank says who it is; the
 * higher one agrees and asks at once, the lower one asks when it hears that: one delay later. So of
 * each pair the lower rank's data ends one delay later, and the higher rank is that late in what it
 * does next.
 *
 * Both states last: ranks that once exchange both ways at once do so for ever if none is ever late;
 * ranks that once went one way after the other go on so, call after call, as long as a pause is
 * shorter than a buffer takes to empty. On real processors some rank is late at some time, by more
 * than a question travels. So ranks end exchanges up to the group's skew late, as drawn, and in the
 * first exchange of a pair, when memory is new, one of them by a hundred times that.
 *
 * Where a rank sends to one and receives from another, as around a ring, no answer shares a
 * connection with data. */
#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "open_mpi.h"

/* Source: btl_eager_limit and btl_rndv_eager_limit of opal/mca/btl/tcp/btl_tcp_component.c. */
enum { EAGER_BYTES = 64 * 1024 };
/* What a connection's buffer holds when its writer has written the last: Linux wakes a writer when
 * two thirds of the buffer are taken (net/core/stream.c, sk_stream_is_writeable). The buffer has 4
 * MiB (tcp_wmem), in strait's own networks four windows of twice the path's rate times round trip
 * where that is more (emu/links/net.c). */
static const double HELD_BYTES = 4 * 1024 * 1024 * 2 / 3., HELD_WINDOWS = 2 * 4 * 2 / 3.;
/* How many times the skew one of a pair is late in their first exchange. */
enum { FIRST = 100 };
/* Tags: all of a short message; the question and answer of a long one; its beginning that has to
 * leave before it is done; a packet that others follow; the last one; who opens a connection. */
enum kind { WHOLE, ASK, MAY_SEND, BEGINNING, PART, END, OPENS };

/* How many of n bytes have to leave before the send is done. Real connections know by themselves.
 */
static size_t n_leaving(const struct strait_rank *r, size_t n_bytes, int src, int dst)
{
    const struct strait_network *network = r->run->network;
    const double window_bytes = strait_path_bits_per_s(network, src, dst) / 8 *
                                strait_path_rtt_s(network, src, dst),
                 held = fmax(HELD_BYTES, HELD_WINDOWS * window_bytes);
    return (double)n_bytes > held && !r->backend->is_measured ? n_bytes - (size_t)held : 0;
}

/* --- a packet of which the beginning has gone before ---------------------------------------- */

static void release_rest(struct strait_packet *p)
{
    strait_packet_drop(p->owner);
    free(p);
}

struct strait_packet *strait_rest_of(struct strait_rank *r, struct strait_packet *taken,
                                     size_t gone_bytes)
{
    struct strait_packet *rest = strait_packet_new(0);
    if (!rest) {
        struct strait_error err = {0};
        strait_error_set(&err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
        strait_fail(r, &err);
    }
    rest->payload_bytes = taken->payload_bytes - gone_bytes;
    rest->raw_bytes = taken->raw_bytes > gone_bytes ? taken->raw_bytes - gone_bytes : 0;
    rest->owner = taken;
    rest->release = release_rest;
    return rest;
}

/* The packet itself. Nothing is given back here: the payload of both its parts is held until the
 * packet is dropped. */
static struct strait_packet *whole_of(struct strait_packet *taken)
{
    struct strait_packet *whole = taken;
    while (whole->release == release_rest) {
        struct strait_packet *rest = whole;
        whole = strait_keep(rest->owner);
        strait_packet_drop(rest);
    }
    return whole;
}

/* --- an exchange ---------------------------------------------------------------------------- */

static void pause_s(struct strait_rank *r, double s)
{
    strait_work(r, STRAIT_SPAN_WAIT, STRAIT_TIMER, s, NULL, NULL);
}

/* Whether this one of the pair is late in their first exchange: a coin that both know. */
static bool is_late(const struct strait_rank *r, const struct strait_sendrecv *x)
{
    const int low = r->me < x->to ? r->me : x->to;
    return (strait_random_bits(r->run->seed, "late", (uint64_t)low, x->step) & 1) == (r->me == low);
}

/* A rank reads the end of an exchange, and with it all that came meanwhile, some time late. */
static void lag(struct strait_rank *r, const struct strait_sendrecv *x)
{
    strait_be_late(r, x->g.skew_s, x->step);
    if (x->is_new && x->g.skew_s > 0 && is_late(r, x))
        pause_s(r, FIRST * x->g.skew_s);
    r->left_s = strait_now_s(r);
}

/* All packets of a message; the beginning first, apart. */
static void give(struct strait_rank *r, struct strait_sendrecv *x)
{
    size_t gone_bytes = n_leaving(r, x->out_bytes, r->me, x->to);
    if (gone_bytes > 0)
        x->leaves =
            strait_send_acked(r, x->to, x->g.channel, BEGINNING, strait_filler(r, gone_bytes));
    for (int i = 0; i < x->n_out; i++) {
        struct strait_packet *p = x->put(r, x, i);
        const size_t cut_bytes = gone_bytes < p->payload_bytes ? gone_bytes : p->payload_bytes;
        const int last = x->out_bytes <= EAGER_BYTES ? WHOLE : END;
        gone_bytes -= cut_bytes;
        strait_send(r, x->to, x->g.channel, i + 1 < x->n_out ? PART : last,
                    cut_bytes > 0 ? strait_rest_of(r, p, cut_bytes) : p);
    }
    x->sent = true;
}

static void begin(struct strait_rank *r, struct strait_sendrecv *x)
{
    if (x->out_bytes <= EAGER_BYTES)
        give(r, x);
    else
        strait_send(r, x->to, x->g.channel, ASK, strait_control(r, 0));
}

/* What comes from the one that sends: a question, or data. */
static void heed_sender(struct strait_rank *r, struct strait_sendrecv *x, struct strait_message m,
                        int answering)
{
    if (m.tag == ASK) {
        strait_drop(r, m.packet);
        strait_send(r, x->from, answering, MAY_SEND, strait_control(r, 0));
    } else if (m.tag == BEGINNING) {
        strait_packet_drop(m.packet); /* held with the rest, as whole_of says */
    } else {
        x->got = m.tag != PART;
        x->take(r, x, x->n_taken++, whole_of(m.packet));
    }
}

static void heed(struct strait_rank *r, struct strait_sendrecv *x, struct strait_message m)
{
    if (m.tag == MAY_SEND) {
        strait_drop(r, m.packet);
        give(r, x);
    } else {
        heed_sender(r, x, m, x->is_one_of_many ? STRAIT_ANSWERING : x->g.channel);
    }
}

/* Until when this rank has read: until it was last in a call, with what came right behind that in
 * the same segments, two of them. */
static double read_until_s(const struct strait_rank *r, int from)
{
    const struct strait_network *network = r->run->network;
    return r->left_s +
           2 * 8 * (1514 + network->overhead_bytes) / strait_path_bits_per_s(network, from, r->me);
}

/* Whether this rank and that one meet for the first time. Real connections open by themselves. */
static bool meets(struct strait_rank *r, struct strait_sendrecv *x, int peer)
{
    bool *met = r->backend->is_measured ? NULL : strait_group_met(r, &x->g);
    if (!met || met[peer])
        return false;
    x->is_new = met[peer] = true;
    return true;
}

/* To a peer that only waits: there and back, twice. */
static void open_to(struct strait_rank *r, int peer)
{
    pause_s(r, 2 * strait_path_rtt_s(r->run->network, r->me, peer));
}

/* With a peer that connects too: the higher rank agrees, and asks at once. */
static void open_both(struct strait_rank *r, const struct strait_sendrecv *x, int peer)
{
    if (r->me < peer) {
        pause_s(r, strait_path_rtt_s(r->run->network, r->me, peer));
        strait_send(r, peer, x->g.channel, OPENS, strait_control(r, 0));
    }
    strait_drop(r, strait_recv(r, peer, x->g.channel).packet);
    if (r->me > peer)
        strait_send(r, peer, x->g.channel, OPENS, strait_control(r, 0));
}

/* Asks, or answers first what had been read before. */
static void ask(struct strait_rank *r, struct strait_sendrecv *x, int peer)
{
    struct strait_message m;
    const double read_s = read_until_s(r, peer);
    const bool came = !x->got && strait_recv_by(r, &m, peer, x->g.channel, read_s);
    const bool was_read = came && m.arrived_s <= read_s;
    if (was_read)
        heed(r, x, m);
    if (!x->sent)
        begin(r, x);
    if (came && !was_read)
        heed(r, x, m);
}

/* Both ways, or one, over one connection. */
static void with_one(struct strait_rank *r, struct strait_sendrecv *x, int peer)
{
    if (meets(r, x, peer) && !x->sent) {
        if (x->got)
            open_to(r, peer);
        else
            open_both(r, x, peer);
        begin(r, x);
    } else {
        ask(r, x, peer);
    }
    while (!x->sent || !x->got)
        heed(r, x, strait_recv(r, peer, x->g.channel));
    if (x->leaves)
        strait_wait(r, x->leaves);
}

static void give_when_told(struct strait_rank *lane, void *of)
{
    struct strait_sendrecv *x = of;
    strait_drop(lane, strait_recv(lane, x->to, STRAIT_ANSWERING).packet);
    give(lane, x);
    if (x->leaves)
        strait_wait(lane, x->leaves);
}

/* To one, from another. */
static void with_two(struct strait_rank *r, struct strait_sendrecv *x)
{
    (void)meets(r, x, x->from); /* who opens that */
    if (meets(r, x, x->to))
        open_to(r, x->to);
    begin(r, x);
    struct strait_rank *lane = x->sent ? NULL : strait_spawn(r, give_when_told, x);
    while (!x->got)
        heed_sender(r, x, strait_recv(r, x->from, x->g.channel), STRAIT_ANSWERING);
    if (lane)
        strait_join(r, lane);
}

void strait_sendrecv(struct strait_rank *r, struct strait_sendrecv x)
{
    const bool is_pair = x.to == x.from || x.to < 0 || x.from < 0;
    x.sent = x.to < 0;
    x.got = x.from < 0;
    if (is_pair) {
        const int peer = x.to < 0 ? x.from : x.to;
        with_one(r, &x, peer);
        x.to = peer;
    } else {
        with_two(r, &x);
    }
    lag(r, &x);
}

void strait_send_each(struct strait_rank *r, struct strait_sendrecv x, const int *peers, int n)
{
    int n_asked = 0, n_leaves = 0, far = -1;
    for (int i = 0; i < n; i++)
        if (meets(r, &x, peers[i]))
            far = peers[i];
    if (far >= 0) /* all at once */
        open_to(r, far);
    for (int i = 0; i < n; i++) {
        x.to = peers[i];
        x.sent = false;
        begin(r, &x);
        n_asked += !x.sent;
    }
    while (n_asked-- > 0) {
        const struct strait_message m = strait_recv(r, STRAIT_ANY, STRAIT_ANSWERING);
        strait_drop(r, m.packet);
        x.to = m.src;
        x.leaves = NULL;
        give(r, &x);
        if (x.leaves)
            strait_group_tasks(r, &x.g)[n_leaves++] = x.leaves;
    }
    for (int i = 0; i < n_leaves; i++)
        strait_wait(r, strait_group_tasks(r, &x.g)[i]);
    lag(r, &x);
}
