/* Open MPI's all-reduce of large sums over TCP (open-mpi/ompi v4.1.4). From 8 KiB on, with two and
 * three ranks from 256 KiB, its fixed rules take Rabenseifner's algorithm
 * (coll_tuned_decision_fixed.c, number 6; coll_base_allreduce.c, redscat_allgather): halves with
 * the neighbour, then quarters at twice the distance, and back. Four ranks, capitals are sums:
 *
 *             rank 0        rank 1        rank 2        rank 3
 *   start     a0 a1 a2 a3   b0 b1 b2 b3   c0 c1 c2 c3   d0 d1 d2 d3
 *   halve     ab0 ab1 . .   . . ab2 ab3   cd0 cd1 . .   . . cd2 cd3     0 - 1, 2 - 3: a half
 *   halve     S0 . . .      . . S2 .      . S1 . .      . . . S3        0 - 2, 1 - 3: a quarter
 *   double    S0 S1 . .     . . S2 S3     S0 S1 . .     . . S2 S3       0 - 2, 1 - 3
 *   double    S0 S1 S2 S3   the same      the same      the same        0 - 1, 2 - 3
 *
 * Of other numbers, p the power of two below n, the first 2 (n - p) ranks exchange halves in pairs
 * before, the even one takes the other's half of the sum, and sends it all at the end.
 *
 * Each exchange is two messages at a time, and one of more than the eager limit is a handshake
 * (pml/ob1: TCP needs no registered memory, so that start_rdma asks with 40 bytes and no data, and
 * the receiver answers with a PUT): three delays. All of a pair goes over one connection, so an
 * answer waits behind what its sender has put there before. Where both begin together the answers
 * cross and data flows both ways at once; where the other's question has been read before, a rank
 * answers it before it asks, the other begins to send, and its own answer waits for all of that:
 * one way after the other. The next question then travels right behind that data, so that the next
 * exchange is one way after the other too.
 *
 * A send is done when its connection's buffer has the last of it, which is before it has left: such
 * a rank goes on, and its questions wait for the others. What comes while a rank computes is read
 * in its next call, after it has asked.
 *
 * Both states last: ranks that once exchange both ways at once do so for ever if none is ever late;
 * ranks that once went one way after the other go on so, sum after sum, as long as a pause is
 * shorter than a buffer takes to empty. On real processors some rank is late at some time, by more
 * than a question travels. So ranks end exchanges up to the group's skew late, as drawn, and in the
 * first sum, when connections open and memory is new, one of each pair by a hundred times that. */
#include <math.h>
#include <stdio.h>

#include "core/random.h"
#include "parts.h"

/* Source: btl_eager_limit and btl_rndv_eager_limit of opal/mca/btl/tcp/btl_tcp_component.c. */
enum { EAGER_ELEMS = 64 * 1024 / 4 };
/* What a connection's buffer holds when its writer has written the last: Linux wakes a writer when
 * two thirds of the buffer are taken (net/core/stream.c, sk_stream_is_writeable). The buffer has 4
 * MiB (tcp_wmem), in strait's own networks four windows of twice the path's rate times round trip
 * where that is more (emu/links/net.c). */
static const double HELD_BYTES = 4 * 1024 * 1024 * 2 / 3., HELD_WINDOWS = 2 * 4 * 2 / 3.;
/* How many times the skew one of each pair is late in the first sum. */
enum { FIRST = 100 };
/* Tags: all of a short message; the question and answer of a long one, its beginning that has to
 * leave before it is done, and its end. */
enum kind { WHOLE, ASK, MAY_SEND, BEGINNING, END };

/* One MPI_Sendrecv. */
struct exchange {
    struct strait_group g;
    struct strait_codec *none;
    int peer;
    struct strait_tensor *send, *recv; /* NULL: that way nothing goes */
    unsigned step;                     /* the same for both */
    bool is_first, adds, sent, got;
    struct strait_task *leaves; /* the beginning of what is sent; NULL: it may hold all */
};

/* How many elements of n have to leave before the send is done. */
static size_t n_leaving(const struct strait_rank *r, size_t n, int src, int dst)
{
    const struct strait_network *network = r->run->network;
    const double window_bytes = strait_path_bits_per_s(network, src, dst) / 8 *
                                strait_path_rtt_s(network, src, dst),
                 held = fmax(HELD_BYTES, HELD_WINDOWS * window_bytes) / 4;
    return (double)n > held ? n - (size_t)held : 0;
}

static struct strait_tensor *share(struct strait_rank *r, struct exchange *x, enum kind kind,
                                   bool is_mine)
{
    struct strait_tensor *of = is_mine ? x->send : x->recv;
    const size_t n = strait_n_elems(of);
    const size_t cut = n_leaving(r, n, is_mine ? r->me : x->peer, is_mine ? x->peer : r->me);
    return strait_range(r, of, kind == END ? cut : 0, kind == BEGINNING ? cut : n);
}

static struct strait_packet *packet_of(struct strait_rank *r, struct exchange *x, enum kind kind)
{
    return strait_encode(r, x->none, NAN, share(r, x, kind, true));
}

/* Whether this one of the pair is late in the first sum: a coin that both know. */
static bool is_late(const struct strait_rank *r, const struct exchange *x)
{
    const int low = r->me < x->peer ? r->me : x->peer;
    return (strait_random_bits(r->run->seed, "late", (uint64_t)low, x->step) & 1) == (r->me == low);
}

/* A rank reads the end of an exchange, and with it all that came meanwhile, some time late. */
static void lag(struct strait_rank *r, const struct exchange *x)
{
    char purpose[32];
    double late_s = x->g.skew_s;
    snprintf(purpose, sizeof(purpose), "late %u", x->step);
    if (late_s > 0)
        late_s *= !x->is_first ? strait_draw(r, purpose) : is_late(r, x) ? FIRST : 0;
    if (late_s > 0)
        strait_work(r, STRAIT_SPAN_WAIT, STRAIT_TIMER, late_s, NULL, NULL);
}

static void begin(struct strait_rank *r, struct exchange *x)
{
    x->sent = strait_n_elems(x->send) <= EAGER_ELEMS;
    strait_send(r, x->peer, x->g.channel, x->sent ? WHOLE : ASK,
                x->sent ? packet_of(r, x, WHOLE) : strait_control(r, 0));
}

static void give(struct strait_rank *r, struct exchange *x)
{
    if (n_leaving(r, strait_n_elems(x->send), r->me, x->peer) > 0)
        x->leaves =
            strait_send_acked(r, x->peer, x->g.channel, BEGINNING, packet_of(r, x, BEGINNING));
    strait_send(r, x->peer, x->g.channel, END, packet_of(r, x, END));
    x->sent = true;
}

static void take(struct strait_rank *r, struct exchange *x, struct strait_packet *packet,
                 enum kind kind)
{
    struct strait_tensor *mine = share(r, x, kind, false);
    x->got = kind != BEGINNING;
    if (x->adds) {
        struct strait_tensor *theirs = strait_spare(r, mine);
        strait_decode(r, theirs, packet);
        strait_add(r, mine, theirs, 1);
    } else {
        strait_decode(r, mine, packet);
    }
}

static void heed(struct strait_rank *r, struct exchange *x, struct strait_message m)
{
    if (m.tag == ASK || m.tag == MAY_SEND)
        strait_drop(r, m.packet);
    if (m.tag == ASK)
        strait_send(r, x->peer, x->g.channel, MAY_SEND, strait_control(r, 0));
    else if (m.tag == MAY_SEND)
        give(r, x);
    else
        take(r, x, m.packet, (enum kind)m.tag);
}

/* Until when this rank has read: until it was last in a call, with what came right behind that in
 * the same segments, two of them. */
static double read_until_s(const struct strait_rank *r, const struct exchange *x)
{
    const struct strait_network *network = r->run->network;
    return r->left_s + 2 * 8 * (1514 + network->overhead_bytes) /
                           strait_path_bits_per_s(network, x->peer, r->me);
}

static void run(struct strait_rank *r, struct exchange x)
{
    struct strait_message m;
    const double read_s = read_until_s(r, &x);
    x.sent = !x.send;
    x.got = !x.recv;
    const bool came = !x.got && strait_recv_by(r, &m, x.peer, x.g.channel, read_s);
    const bool was_read = came && m.arrived_s <= read_s;
    if (was_read)
        heed(r, &x, m);
    if (x.send)
        begin(r, &x);
    if (came && !was_read)
        heed(r, &x, m);
    while (!x.sent || !x.got)
        heed(r, &x, strait_recv(r, x.peer, x.g.channel));
    if (x.leaves)
        strait_wait(r, x.leaves);
    lag(r, &x);
    r->left_s = strait_now_s(r);
}

enum { STAYS = 0 }; /* of a folded pair the first rank */

/* The window of a place after so many halvings: elements [lo, hi). */
struct window {
    size_t lo, hi;
};

/* Half of a window: the lower place keeps the left one. */
static struct window half(struct window w, bool left)
{
    const size_t cut = w.lo + (w.hi - w.lo) / 2;
    return left ? (struct window){w.lo, cut} : (struct window){cut, w.hi};
}

static struct window window_of(size_t n_elems, int place, int end)
{
    struct window w = {0, n_elems};
    for (int mask = 1; mask < end; mask *= 2)
        w = half(w, !(place & mask));
    return w;
}

static struct strait_tensor *part(struct strait_rank *r, struct strait_tensor *x, struct window w)
{
    return strait_range(r, x, w.lo, w.hi);
}

void strait_all_reduce_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                   struct strait_codec *c, struct strait_tensor *x)
{
    const struct strait_fold f = strait_fold_of(g.n, g.me, STAYS);
    const struct window all = {0, strait_n_elems(x)};
    const bool folds = g.me < 2 * f.extra, stays = f.place >= 0;
    struct exchange e = {.g = g, .none = c, .is_first = r->left_s <= 0};
    if (folds) {
        e.peer = g.ranks[stays ? g.me + 1 : g.me - 1];
        e.send = part(r, x, half(all, !stays));
        e.recv = part(r, x, half(all, stays));
        e.adds = true;
        run(r, e);
        e.step = 1;
        e.send = stays ? NULL : e.recv; /* the right half of the pair's sum */
        e.recv = stays ? part(r, x, half(all, false)) : NULL;
        e.adds = false;
        run(r, e);
    }
    for (int mask = 1; mask < f.n && stays; mask *= 2) {
        const struct window w = window_of(all.hi, f.place, mask);
        const bool left = !(f.place & mask);
        e.adds = true;
        e.step = (unsigned)(1 + mask);
        e.peer = g.ranks[strait_unfolded(f, f.place ^ mask)];
        e.send = part(r, x, half(w, !left));
        e.recv = part(r, x, half(w, left));
        run(r, e);
    }
    e.adds = false;
    for (int mask = f.n / 2; mask > 0 && stays; mask /= 2) {
        const struct window w = window_of(all.hi, f.place, mask);
        const bool left = !(f.place & mask);
        e.step = (unsigned)(1 + f.n + mask);
        e.peer = g.ranks[strait_unfolded(f, f.place ^ mask)];
        e.send = part(r, x, half(w, left));
        e.recv = part(r, x, half(w, !left));
        run(r, e);
    }
    if (folds) {
        e.peer = g.ranks[stays ? g.me + 1 : g.me - 1];
        e.step = (unsigned)(1 + 2 * f.n);
        e.send = stays ? x : NULL;
        e.recv = stays ? NULL : x;
        run(r, e);
    }
}

bool strait_open_mpi_uses(int n, int src, int dst)
{
    const struct strait_fold a = strait_fold_of(n, src, STAYS), b = strait_fold_of(n, dst, STAYS);
    const bool pair = src / 2 == dst / 2 && src < 2 * a.extra && dst < 2 * a.extra;
    if (src == dst)
        return false;
    if (pair || a.place < 0 || b.place < 0)
        return pair;
    const int mask = a.place ^ b.place;
    return (mask & (mask - 1)) == 0;
}
