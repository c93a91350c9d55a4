/* Two workers and a separate server, a layer of two partitions:
 *
 *             worker 0     worker 1     server
 *   start     a0 a1        b0 b1        . .
 *   push      a0 a1        b0 b1        a0 b0 > S0, then a1 b1 > S1
 *   pull      S0 S1        S0 S1        S0 S1
 *
 * Sum order: workers by rank; a co-located server's own first, unless packets are added encoded:
 * then it pushes to itself too, and the sum's packet is what all pull. Inside a node: ring
 * order. */
#include "servers.h"

#include <math.h>
#include <string.h>

enum {
    INSIDE = STRAIT_SERVERS_INSIDE,
    READY = STRAIT_SERVERS_READY,
    SUMMED = STRAIT_SERVERS_SUMMED
};
enum { PUSH = STRAIT_SERVERS_PUSH, PULL = STRAIT_SERVERS_PULL }; /* channels; a tag is a piece */
enum { END = -1, NOTHING = -2 };

/* Ranks are ordered node by node, in a node by position. */
static int worker_rank(const struct strait_servers *s, int worker)
{
    return worker * s->inside.n + s->place;
}

static int server_rank(const struct strait_servers *s, int server)
{
    return worker_rank(s, (s->colocated ? 0 : s->n_workers) + server);
}

/* The share of a layer that a position has after the reduce-scatter. */
static int share_of(const struct strait_servers *s, int rank)
{
    return (rank % s->inside.n + 1) % s->inside.n;
}

/* --- the plan ----------------------------------------------------------------------------- */

void strait_servers_assign(int *owner, double *load_bytes, int n_servers, const double *bytes,
                           int n_pieces, bool by_bytes)
{
    for (int i = 0; i < n_servers; i++)
        load_bytes[i] = 0;
    for (int q = n_pieces - 1; q >= 0; q--) {
        owner[q] = q % n_servers;
        for (int i = 0; i < n_servers && by_bytes; i++)
            if (i == 0 || load_bytes[i] < load_bytes[owner[q]])
                owner[q] = i;
        load_bytes[owner[q]] += bytes[q];
    }
}

/* The shares of a layer are cut alike, by the largest of them. */
static int n_pieces_of(size_t n_elems, int n_shares, double partition_bytes)
{
    const double share = ceil((double)n_elems / n_shares);
    return (int)fmax(1, ceil(4 * share / partition_bytes));
}

static void plan(struct strait_rank *r, struct strait_servers *s, bool whole)
{
    const struct strait_model *m = strait_model(r);
    const double partition = strait_param(r, "partition");
    s->n_layers = whole ? 1 : (int)m->n_layers;
    s->first = strait_alloc(r, (size_t)s->n_layers + 1, sizeof(int));
    for (int l = 0; l < s->n_layers; l++) {
        const int n = n_pieces_of(strait_n_elems(s->x[0][l]), s->inside.n, partition);
        s->first[l + 1] = s->first[l] + (whole && n < s->n_servers ? s->n_servers : n);
    }
    s->n_pieces = s->first[s->n_layers];
    const size_t n = (size_t)s->n_pieces;
    double *bytes = strait_alloc(r, n, sizeof(double));
    s->layer = strait_alloc(r, n, sizeof(int));
    s->owner = strait_alloc(r, n, sizeof(int));
    for (int l = 0; l < s->n_layers; l++)
        for (int q = s->first[l]; q < s->first[l + 1]; q++) {
            s->layer[q] = l;
            bytes[q] = 4.0 * (double)strait_n_elems(s->x[0][l]) / (s->first[l + 1] - s->first[l]);
        }
    strait_servers_assign(s->owner, strait_alloc(r, (size_t)s->n_servers, sizeof(double)),
                          s->n_servers, bytes, s->n_pieces,
                          (int)strait_param(r, "assign") == STRAIT_BY_BYTES);
}

/* Make all handles before there are lanes. */
static void cut(struct strait_rank *r, struct strait_servers *s)
{
    const size_t n = (size_t)s->n_pieces, n_shares = (size_t)s->inside.n;
    for (int turn = 0; turn < 2; turn++) {
        s->piece[turn] = strait_alloc(r, n_shares * n, sizeof(struct strait_tensor *));
        for (int share = 0; share < s->inside.n; share++)
            for (int q = 0; q < s->n_pieces; q++) {
                const int l = s->layer[q];
                struct strait_tensor *of = strait_slice(r, s->x[turn][l], share, s->inside.n);
                s->piece[turn][share * s->n_pieces + q] =
                    strait_slice(r, of, q - s->first[l], s->first[l + 1] - s->first[l]);
            }
    }
}

static void make_room(struct strait_rank *r, struct strait_servers *s)
{
    const size_t n = (size_t)s->n_pieces, n_all = n * (size_t)s->n_workers;
    const int share = share_of(s, strait_me(r));
    s->arrived = strait_alloc(r, n_all, sizeof(struct strait_tensor *));
    s->decoding = strait_alloc(r, n_all, sizeof(struct strait_task *));
    if ((int)strait_param(r, "sums") == STRAIT_SUMS_ENCODED &&
        !strait_sends_views(strait_codec(r, "up")) && strait_n_ranks(r) > 1)
        s->pushed = strait_alloc(r, n_all, sizeof(struct strait_packet *));
    for (int turn = 0; turn < 2; turn++)
        s->sum[turn] = strait_alloc(r, n, sizeof(struct strait_tensor *));
    for (int q = 0; q < s->n_pieces; q++) {
        const struct strait_tensor *like = s->piece[0][share * s->n_pieces + q];
        if (server_rank(s, s->owner[q]) != strait_me(r))
            continue;
        for (int turn = 0; turn < 2; turn++)
            s->sum[turn][q] =
                s->colocated ? s->piece[turn][share * s->n_pieces + q] : strait_like(r, like);
        for (int w = 0; w < s->n_workers; w++)
            s->arrived[w * s->n_pieces + q] = strait_like(r, like);
    }
}

/* Where packets are added encoded only after their senders have agreed. */
static void make_agreements(struct strait_rank *r, struct strait_servers *s)
{
    struct strait_codec *codec = strait_codec(r, "up");
    if (!s->pushed || !strait_servers_trains(r, s) || !strait_codec_agrees(codec))
        return;
    int *ranks = strait_alloc(r, (size_t)s->n_workers, sizeof(int));
    for (int w = 0; w < s->n_workers; w++)
        ranks[w] = worker_rank(s, w);
    s->peers = strait_group_of(r, ranks, s->n_workers, PUSH);
    s->agreements = strait_alloc(r, (size_t)s->n_layers, sizeof(struct strait_agreement *));
    for (int l = 0; l < s->n_layers; l++)
        s->agreements[l] = strait_agreement_of(r, codec, s->first[l + 1] - s->first[l]);
}

struct strait_servers *strait_servers_new(struct strait_rank *r, enum strait_push_order order,
                                          int credit)
{
    struct strait_servers *s = strait_alloc(r, 1, sizeof(*s));
    const int n_inside = (int)strait_param(r, "node_size"), me = strait_me(r);
    int *ranks = strait_alloc(r, (size_t)n_inside, sizeof(int));
    for (int i = 0; i < n_inside; i++)
        ranks[i] = me - me % n_inside + i;
    s->inside = strait_group_of(r, ranks, n_inside, INSIDE);
    s->place = me % n_inside;
    s->n_servers = (int)strait_param(r, "servers") / n_inside;
    s->colocated = (int)strait_param(r, "placement") == STRAIT_COLOCATED;
    s->n_workers = strait_n_ranks(r) / n_inside - (s->colocated ? 0 : s->n_servers);
    s->gradients = strait_rank_gradients(r);
    s->urgent = order == STRAIT_URGENT_FIRST;
    for (int turn = 0; turn < 2; turn++)
        s->x[turn] = order == STRAIT_WHOLE ? &s->gradients.whole[turn] : s->gradients.layer[turn];
    plan(r, s, order == STRAIT_WHOLE);
    s->credit = credit < s->n_pieces ? credit : s->n_pieces; /* no more can be under way */
    cut(r, s);
    make_room(r, s);
    make_agreements(r, s);
    const size_t n = (size_t)s->n_pieces, n_layers = (size_t)s->n_layers;
    s->n_here = strait_alloc(r, n, sizeof(int));
    s->n_sums = strait_alloc(r, n, sizeof(int));
    s->n_pulls = strait_alloc(r, n * (size_t)n_inside, sizeof(int));
    s->n_unsent = strait_alloc(r, n_layers, sizeof(int));
    s->n_ready = strait_alloc(r, n_layers, sizeof(int));
    s->window = strait_alloc(r, (size_t)s->credit + 1, sizeof(struct strait_task *));
    return s;
}

bool strait_servers_trains(const struct strait_rank *r, const struct strait_servers *s)
{
    return strait_me(r) < s->n_workers * s->inside.n;
}

int strait_servers_n_parts(const struct strait_servers *s, int layer)
{
    return (s->first[layer + 1] - s->first[layer]) * s->inside.n;
}

/* --- push --------------------------------------------------------------------------------- */

/* A layer whose gradient is ready, or END; NOTHING when none is ready and something is left to
 * send. */
static int next_ready(struct strait_rank *lane, const struct strait_servers *s)
{
    struct strait_message m;
    if (!strait_recv_by(lane, &m, strait_me(lane), READY,
                        s->n_unsent_all == 0 ? INFINITY : -INFINITY))
        return NOTHING;
    strait_drop(lane, m.packet);
    return m.tag;
}

static void take(struct strait_rank *lane, struct strait_servers *s, int layer)
{
    const int my_share = share_of(s, strait_me(lane)) * s->n_pieces;
    if (s->inside.n > 1)
        strait_reduce_scatter(lane, s->inside, strait_codec(lane, "none"),
                              s->x[s->n_ready[layer] % 2][layer]);
    if (s->agreements)
        strait_agree(lane, s->agreements[layer], s->peers, strait_codec(lane, "up"),
                     &s->piece[s->n_ready[layer] % 2][my_share + s->first[layer]],
                     s->first[layer + 1] - s->first[layer]);
    s->n_ready[layer]++;
    s->n_unsent[layer] = s->first[layer + 1] - s->first[layer];
    s->n_unsent_all += s->n_unsent[layer];
}

/* Gradients become ready from the last layer on, and are needed from the first layer on. */
static int next_layer(const struct strait_servers *s)
{
    int l = s->urgent ? 0 : s->n_layers - 1;
    while (s->n_unsent[l] == 0)
        l += s->urgent ? 1 : -1;
    return l;
}

/* Push the next partition of a layer; every worker begins with a different one. */
static void push_piece(struct strait_rank *lane, struct strait_servers *s, int layer)
{
    const int n = s->first[layer + 1] - s->first[layer], i = n - s->n_unsent[layer]--,
              q = s->first[layer] + (strait_me(lane) / s->inside.n + 1 + i) % n,
              server = server_rank(s, s->owner[q]);
    s->n_unsent_all--;
    const bool mine = server == strait_me(lane);
    if (mine && !s->pushed) {
        strait_post(lane, PUSH, q);
        return;
    }
    struct strait_packet *packet = strait_encode_part(
        lane, s->agreements ? s->agreements[layer] : NULL, strait_codec(lane, "up"),
        q - s->first[layer],
        s->piece[(s->n_ready[layer] - 1) % 2][share_of(s, strait_me(lane)) * s->n_pieces + q]);
    if (s->credit > 0 && !mine)
        s->window[s->n_sent++ % s->credit] = strait_send_acked(lane, server, PUSH, q, packet);
    else
        strait_send(lane, server, PUSH, q, packet);
}

/* Checks for newly ready layers before each send. */
static void push(struct strait_rank *lane, void *arg)
{
    struct strait_servers *s = arg;
    for (int l; (l = next_ready(lane, s)) != END;) {
        if (l != NOTHING)
            take(lane, s, l);
        else if (s->credit > 0 && s->n_sent - s->n_acked == s->credit)
            strait_wait(lane, s->window[s->n_acked++ % s->credit]);
        else
            push_piece(lane, s, next_layer(s));
    }
    while (s->n_acked < s->n_sent)
        strait_wait(lane, s->window[s->n_acked++ % s->credit]);
}

/* --- serve -------------------------------------------------------------------------------- */

/* Every byte passes a thread of the node, one a peer node, which the node's positions share; all
 * peers have the same to say, so that one thread here is as fast as all of these. */
static void transport(struct strait_rank *lane, const struct strait_servers *s,
                      const struct strait_packet *packet)
{
    const double n_threads = fmax(1, s->n_workers - 1),
                 share = strait_param(lane, "transport") * n_threads / s->inside.n,
                 time_s = (double)packet->payload_bytes / share;
    if (time_s > 0)
        strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER, time_s, NULL, NULL);
}

static void send_sum(struct strait_rank *lane, const struct strait_servers *s, int q,
                     struct strait_packet *packet)
{
    const int first = strait_me(lane) / s->inside.n + 1;
    for (int i = 0; i < s->n_workers; i++) {
        const int to = worker_rank(s, (first + i) % s->n_workers);
        if (to != strait_me(lane))
            transport(lane, s, packet);
        strait_send(lane, to, PULL, q, strait_keep(packet));
    }
    strait_drop(lane, packet);
}

/* The packets of all workers, added as they are, in rank order. */
static struct strait_packet *sum_encoded(struct strait_rank *lane, const struct strait_servers *s,
                                         int q)
{
    struct strait_tensor *like = s->piece[0][share_of(s, strait_me(lane)) * s->n_pieces + q];
    struct strait_packet *sum = s->pushed[q];
    for (int w = 1; w < s->n_workers; w++)
        sum = strait_add_encoded(lane, strait_codec(lane, "up"), like, sum,
                                 s->pushed[w * s->n_pieces + q]);
    return sum;
}

/* What was decoded as it arrived, added in rank order. By then all have read the sum of the round
 * before last, whose memory is reused. Returns: NULL without a network. */
static struct strait_packet *sum_decoded(struct strait_rank *lane, const struct strait_servers *s,
                                         int q)
{
    struct strait_tensor *sum = s->sum[s->n_sums[q] % 2][q];
    for (int w = 0; w < s->n_workers; w++) {
        if (worker_rank(s, w) == strait_me(lane))
            continue; /* the sum starts from it */
        strait_wait(lane, s->decoding[w * s->n_pieces + q]);
        if (w > 0 || s->colocated)
            strait_add(lane, sum, s->arrived[w * s->n_pieces + q], 1);
    }
    if (strait_n_ranks(lane) == 1)
        return NULL;
    return strait_encode(lane, strait_codec(lane, "down"), NAN, sum);
}

/* A worker's partition has come. */
static void take_push(struct strait_rank *lane, struct strait_servers *s, struct strait_message m)
{
    const int q = m.tag, at = m.src / s->inside.n * s->n_pieces + q;
    if (m.src != strait_me(lane))
        transport(lane, s, m.packet);
    if (s->pushed)
        s->pushed[at] = m.packet;
    else if (m.src == strait_me(lane))
        strait_drop(lane, m.packet);
    else
        s->decoding[at] = strait_decode_start(
            lane, at == q && !s->colocated ? s->sum[s->n_sums[q] % 2][q] : s->arrived[at],
            m.packet);
}

static bool serve(struct strait_rank *lane, struct strait_servers *s)
{
    struct strait_message m = strait_recv(lane, STRAIT_ANY, PUSH);
    const int q = m.tag;
    if (q == END) {
        strait_drop(lane, m.packet);
        return false;
    }
    take_push(lane, s, m);
    if (++s->n_here[q] < s->n_workers)
        return true;
    struct strait_packet *sum = s->pushed ? sum_encoded(lane, s, q) : sum_decoded(lane, s, q);
    s->n_here[q] = 0;
    s->n_sums[q]++;
    if (sum)
        send_sum(lane, s, q, sum);
    else
        strait_post(lane, PULL, q);
    return true;
}

static void serve_all(struct strait_rank *lane, void *arg)
{
    while (serve(lane, arg))
        ;
}

void strait_servers_serve(struct strait_rank *r, struct strait_servers *s)
{
    int n_pieces = 0;
    strait_use_host_memory(r);
    for (int q = 0; q < s->n_pieces; q++)
        n_pieces += server_rank(s, s->owner[q]) == strait_me(r);
    while (strait_round(r))
        for (int i = 0; i < n_pieces * s->n_workers; i++)
            serve(r, s);
}

/* --- pull --------------------------------------------------------------------------------- */

/* A server sends this position's share; pass it on to the neighbours in the node. */
static void pull(struct strait_rank *lane, void *arg)
{
    struct strait_servers *s = arg;
    for (;;) {
        struct strait_message m = strait_recv(lane, STRAIT_ANY, PULL);
        if (m.tag == END) {
            strait_drop(lane, m.packet);
            return;
        }
        const int at = share_of(s, m.src) * s->n_pieces + m.tag;
        for (int i = 1; i < s->inside.n && m.src % s->inside.n == s->place; i++)
            strait_send(lane, s->inside.ranks[(s->place + i) % s->inside.n], PULL, m.tag,
                        strait_keep(m.packet));
        if (strait_n_ranks(lane) == 1)
            strait_drop(lane, m.packet);
        else
            strait_decode(lane, s->piece[s->n_pulls[at] % 2][at], m.packet);
        s->n_pulls[at]++;
        strait_post(lane, SUMMED, s->layer[m.tag]);
    }
}

void strait_servers_start(struct strait_rank *r, struct strait_servers *s)
{
    s->lanes[0] = strait_spawn(r, push, s);
    s->lanes[1] = strait_spawn(r, pull, s);
    if (s->colocated)
        s->lanes[2] = strait_spawn(r, serve_all, s);
}

void strait_servers_stop(struct strait_rank *r, struct strait_servers *s)
{
    strait_post(r, READY, END);
    strait_post(r, PULL, END);
    if (s->colocated)
        strait_post(r, PUSH, END);
    for (int i = 0; i < 2 + s->colocated; i++)
        strait_join(r, s->lanes[i]);
}
