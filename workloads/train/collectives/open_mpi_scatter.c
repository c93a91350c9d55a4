/* Open MPI's reduce-scatter, MPI_Reduce_scatter, and the all-gather of its parts, MPI_Allgatherv
 * (open-mpi/ompi v4.1.4, coll_base_reduce_scatter.c), by its fixed rules. Rank i ends with part
 * i + 1, as everywhere here: what Open MPI calls block i. Large sums go around the ring of ring.c;
 * smaller ones are halved, with the partner at the largest distance first. Blocks of four ranks:
 *
 *            rank 0        rank 1        rank 2        rank 3
 *   start    a0 a1 a2 a3   b0 b1 b2 b3   c0 c1 c2 c3   d0 d1 d2 d3
 *   halve    ac0 ac1 . .   bd0 bd1 . .   . . ac2 ac3   . . bd2 bd3     0 - 2, 1 - 3: two blocks
 *   halve    S0 . . .      . S1 . .      . . S2 .      . . . S3        0 - 1, 2 - 3: one
 *
 * Of other numbers the first 2 (n - p) ranks make pairs before, of which the odd one gets all of
 * the other's, and gives it its block at the end. Blocks of one message follow one another, a
 * packet each. (The butterfly, which the rules prefer from 32 ranks on, exchanges a block more;
 * with two and three ranks it is the same.) */
#include <math.h>

#include "open_mpi.h"

enum { ODD_STAYS = 1 };

/* Blocks that a pair exchanges, of a tensor; or what goes around a ring. */
struct blocks {
    struct strait_codec *none;
    struct strait_tensor *x;
    struct strait_packet *packet; /* of a ring; NULL: blocks are encoded as they are sent */
    int out, in;
    bool adds;
};

static struct strait_tensor *block(struct strait_rank *r, const struct strait_sendrecv *x, int i)
{
    const struct blocks *b = x->of;
    return strait_slice(r, b->x, strait_around(i + 1, x->g.n), x->g.n);
}

static struct strait_packet *put(struct strait_rank *r, struct strait_sendrecv *x, int i)
{
    const struct blocks *b = x->of;
    return b->packet ? b->packet : strait_encode(r, b->none, NAN, block(r, x, b->out + i));
}

static void take(struct strait_rank *r, struct strait_sendrecv *x, int i,
                 struct strait_packet *taken)
{
    const struct blocks *b = x->of;
    struct strait_tensor *mine = block(r, x, b->in + i);
    if (b->adds) {
        struct strait_tensor *theirs = strait_spare(r, mine);
        strait_decode(r, theirs, taken);
        strait_add(r, mine, theirs, 1);
    } else {
        strait_decode(r, mine, taken);
    }
}

static size_t bytes_of(struct strait_rank *r, const struct strait_sendrecv *x, int first, int n)
{
    size_t n_elems = 0;
    for (int i = 0; i < n; i++)
        n_elems += strait_n_elems(block(r, x, first + i));
    return 4 * n_elems;
}

/* n_out blocks to one, and what it sends, or what another one sends; -1: that way nothing goes. */
static void pass(struct strait_rank *r, struct strait_sendrecv x, struct blocks *b, int to, int out,
                 int n_out, int from, int in)
{
    b->out = out;
    b->in = in;
    x.to = to < 0 ? -1 : x.g.ranks[to];
    x.from = from < 0 ? -1 : x.g.ranks[from];
    x.put = put;
    x.take = take;
    x.of = b;
    x.n_out = n_out;
    x.out_bytes = bytes_of(r, &x, out, n_out);
    strait_sendrecv(r, x);
}

/* What is sent is encoded before: a ring's sends are a lane's own. */
void strait_ring_scatter_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                     struct strait_codec *none, struct strait_tensor *x)
{
    struct strait_sendrecv e = {.g = g};
    struct blocks b = {.none = none, .x = x, .adds = true};
    for (int step = 0; step < g.n - 1; step++) {
        const int out = strait_around(g.me - step - 1, g.n);
        e.step = (unsigned)step;
        e.of = &b;
        b.packet = strait_encode(r, none, NAN, block(r, &e, out));
        pass(r, e, &b, strait_around(g.me + 1, g.n), out, 1, strait_around(g.me - 1, g.n),
             strait_around(out - 1, g.n));
    }
}

/* The first block of a place among those that stay. */
static int first_block(const struct strait_fold *f, int place)
{
    return place < f->extra ? 2 * place : place + f->extra;
}

static void by_halving(struct strait_rank *r, struct strait_group g, struct strait_codec *none,
                       struct strait_tensor *x)
{
    const struct strait_fold f = strait_fold_of(g.n, g.me, ODD_STAYS);
    struct strait_sendrecv e = {.g = g};
    struct blocks b = {.none = none, .x = x, .adds = true};
    const bool folds = g.me < 2 * f.extra, stays = f.place >= 0;
    int lo = 0, hi = f.n; /* places whose blocks this one still adds */
    e.of = &b;
    if (folds && stays)
        pass(r, e, &b, -1, 0, 0, g.me - 1, 0);
    else if (folds)
        pass(r, e, &b, g.me + 1, 0, g.n, -1, 0);
    for (int mask = f.n / 2; mask > 0 && stays; mask /= 2) {
        const int mid = lo + mask, peer = strait_unfolded(f, f.place ^ mask);
        const bool low = f.place < mid;
        const int out = first_block(&f, low ? mid : lo), end = first_block(&f, low ? hi : mid);
        e.step = (unsigned)(1 + mask);
        pass(r, e, &b, peer, out, end - out, peer, first_block(&f, low ? lo : mid));
        lo = low ? lo : mid;
        hi = low ? mid : hi;
    }
    b.adds = false;
    e.step = (unsigned)(1 + f.n);
    if (folds && stays)
        pass(r, e, &b, g.me - 1, g.me - 1, 1, -1, 0);
    else if (folds)
        pass(r, e, &b, -1, 0, 0, g.me + 1, g.me);
}

void strait_reduce_scatter_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                       struct strait_codec *none, struct strait_tensor *x)
{
    if (g.n == 1)
        return;
    if (strait_open_mpi_way(STRAIT_MPI_REDUCE_SCATTER, g.n, 4 * strait_n_elems(x)) ==
        STRAIT_MPI_RING)
        strait_ring_scatter_by_open_mpi(r, g, none, x);
    else
        by_halving(r, g, none, x);
}

static void decode_all(struct strait_rank *r, struct strait_group g, struct strait_tensor *x)
{
    struct strait_slice_room room;
    for (int i = 0; i < g.n; i++)
        strait_decode(r, strait_slice_in(&room, r, x, strait_around(i + 1, g.n), g.n),
                      strait_group_packets(r, &g)[i]);
}

void strait_all_gather_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                   struct strait_packet *taken, struct strait_tensor *x)
{
    strait_group_packets(r, &g)[g.me] = taken;
    strait_gather_by_open_mpi(r, g, strait_group_packets(r, &g),
                              4 * strait_n_elems(x) / (size_t)g.n);
    decode_all(r, g, x);
}

void strait_ring_gather_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                    struct strait_codec *none, struct strait_tensor *x)
{
    strait_group_packets(r, &g)[g.me] =
        strait_encode(r, none, NAN, strait_slice(r, x, strait_around(g.me + 1, g.n), g.n));
    strait_gather_around_by_open_mpi(r, g, strait_group_packets(r, &g));
    decode_all(r, g, x);
}
