/* Open MPI's all-reduce (open-mpi/ompi v4.1.4) by its fixed rules (open_mpi_rules.c). Large sums
 * take Rabenseifner's algorithm (coll_base_allreduce.c, redscat_allgather): halves with the
 * neighbour, then quarters at twice the distance, and back. Four ranks, capitals are sums:
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
 * Small sums take recursive doubling: all that a rank has goes to the partner at distance 1, 2, 4,
 * and both add it; of folded pairs the odd one stays. Two and three ranks also take a ring: its
 * halves are those of open_mpi_scatter.c and open_mpi_gather.c. (A segmented ring without a size of
 * segments, as its rules ask for, is a ring.) */
#include <math.h>

#include "open_mpi.h"

enum { STAYS = 0, ODD_STAYS = 1 }; /* of a folded pair */

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

/* What a pair exchanges: `recv` becomes theirs, or the sum of both. */
struct both {
    struct strait_codec *none;
    struct strait_tensor *send, *recv; /* NULL: that way nothing goes */
    bool adds;
    bool is_same; /* what is sent changes: a copy of it is */
    struct strait_packet *copy;
};

static struct strait_packet *put(struct strait_rank *r, struct strait_sendrecv *x, int i)
{
    const struct both *b = x->of;
    (void)i;
    return b->copy ? b->copy : strait_encode(r, b->none, NAN, b->send);
}

static void take(struct strait_rank *r, struct strait_sendrecv *x, int i,
                 struct strait_packet *taken)
{
    const struct both *b = x->of;
    (void)i;
    if (b->adds) {
        struct strait_tensor *theirs = strait_spare(r, b->recv);
        strait_decode(r, theirs, taken);
        strait_add(r, b->recv, theirs, 1);
    } else {
        strait_decode(r, b->recv, taken);
    }
}

static void exchange(struct strait_rank *r, struct strait_sendrecv e, int peer, struct both *b)
{
    b->copy = b->is_same && b->send ? strait_snapshot(r, b->none, NAN, b->send) : NULL;
    e.to = b->send ? peer : -1;
    e.from = b->recv ? peer : -1;
    e.out_bytes = b->send ? 4 * strait_n_elems(b->send) : 0;
    e.n_out = 1;
    e.put = put;
    e.take = take;
    e.of = b;
    strait_sendrecv(r, e);
}

static void by_rabenseifner(struct strait_rank *r, struct strait_sendrecv e, struct strait_codec *c,
                            struct strait_tensor *x)
{
    const struct strait_group g = e.g;
    const struct strait_fold f = strait_fold_of(g.n, g.me, STAYS);
    const struct window all = {0, strait_n_elems(x)};
    const bool folds = g.me < 2 * f.extra, stays = f.place >= 0;
    struct both b = {.none = c};
    if (folds) {
        const int peer = g.ranks[stays ? g.me + 1 : g.me - 1];
        b.send = part(r, x, half(all, !stays));
        b.recv = part(r, x, half(all, stays));
        b.adds = true;
        exchange(r, e, peer, &b);
        e.step = 1;
        b.send = stays ? NULL : b.recv; /* the right half of the pair's sum */
        b.recv = stays ? part(r, x, half(all, false)) : NULL;
        b.adds = false;
        exchange(r, e, peer, &b);
    }
    for (int mask = 1; mask < f.n && stays; mask *= 2) {
        const struct window w = window_of(all.hi, f.place, mask);
        const bool left = !(f.place & mask);
        b.adds = true;
        e.step = (unsigned)(1 + mask);
        b.send = part(r, x, half(w, !left));
        b.recv = part(r, x, half(w, left));
        exchange(r, e, g.ranks[strait_unfolded(f, f.place ^ mask)], &b);
    }
    b.adds = false;
    for (int mask = f.n / 2; mask > 0 && stays; mask /= 2) {
        const struct window w = window_of(all.hi, f.place, mask);
        const bool left = !(f.place & mask);
        e.step = (unsigned)(1 + f.n + mask);
        b.send = part(r, x, half(w, left));
        b.recv = part(r, x, half(w, !left));
        exchange(r, e, g.ranks[strait_unfolded(f, f.place ^ mask)], &b);
    }
    if (folds) {
        e.step = (unsigned)(1 + 2 * f.n);
        b.send = stays ? x : NULL;
        b.recv = stays ? NULL : x;
        exchange(r, e, g.ranks[stays ? g.me + 1 : g.me - 1], &b);
    }
}

static void by_doubling(struct strait_rank *r, struct strait_sendrecv e, struct strait_codec *c,
                        struct strait_tensor *x)
{
    const struct strait_group g = e.g;
    const struct strait_fold f = strait_fold_of(g.n, g.me, ODD_STAYS);
    const bool folds = g.me < 2 * f.extra, stays = f.place >= 0;
    const int pair = folds ? g.ranks[stays ? g.me - 1 : g.me + 1] : -1;
    struct both b = {.none = c, .is_same = true};
    if (folds) {
        b.send = stays ? NULL : x;
        b.recv = stays ? x : NULL;
        b.adds = stays;
        exchange(r, e, pair, &b);
    }
    for (int mask = 1; mask < f.n && stays; mask *= 2) {
        b.send = b.recv = x;
        b.adds = true;
        e.step = (unsigned)(1 + mask);
        exchange(r, e, g.ranks[strait_unfolded(f, f.place ^ mask)], &b);
    }
    if (folds) {
        b.send = stays ? x : NULL;
        b.recv = stays ? NULL : x;
        b.adds = false;
        e.step = (unsigned)(1 + 2 * f.n);
        exchange(r, e, pair, &b);
    }
}

void strait_all_reduce_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                   struct strait_codec *c, struct strait_tensor *x)
{
    const struct strait_sendrecv e = {.g = g};
    const enum strait_open_mpi_way way =
        strait_open_mpi_way(STRAIT_MPI_ALLREDUCE, g.n, 4 * strait_n_elems(x));
    if (g.n == 1)
        return;
    if (way == STRAIT_MPI_RABENSEIFNER) {
        by_rabenseifner(r, e, c, x);
    } else if (way == STRAIT_MPI_DOUBLING || strait_n_elems(x) < (size_t)g.n) {
        by_doubling(r, e, c, x);
    } else {
        strait_ring_scatter_by_open_mpi(r, g, c, x);
        strait_ring_gather_by_open_mpi(r, g, c, x);
    }
}

bool strait_open_mpi_uses(int n, size_t n_elems, int channel, int src, int dst)
{
    const enum strait_open_mpi_way way = strait_open_mpi_way(STRAIT_MPI_ALLREDUCE, n, 4 * n_elems);
    const bool folds_odd = way != STRAIT_MPI_RABENSEIFNER;
    if (way == STRAIT_MPI_RING && n_elems >= (size_t)n)
        return dst == strait_around(src + (channel == STRAIT_ANSWERING ? -1 : 1), n) &&
               src != dst && (channel == 0 || (channel == STRAIT_ANSWERING && n > 2));
    const struct strait_fold a = strait_fold_of(n, src, folds_odd),
                             b = strait_fold_of(n, dst, folds_odd);
    const bool pair = src / 2 == dst / 2 && src < 2 * a.extra && dst < 2 * a.extra;
    if (src == dst || channel != 0)
        return false;
    if (pair || a.place < 0 || b.place < 0)
        return pair;
    const int mask = a.place ^ b.place;
    return (mask & (mask - 1)) == 0;
}
