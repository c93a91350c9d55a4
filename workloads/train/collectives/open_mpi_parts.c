/* Open MPI's broadcast of large packets from 16 ranks on (open-mpi/ompi v4.1.4, coll_base_bcast.c,
 * scatter_allgather), for simulations: parts are sizes, and the packet goes with the first of them
 * that a rank gets. Places from the root on; of four:
 *
 *             place 0   1         2         3
 *   start     0 1 2 3   .         .         .
 *   scatter   0 1 2 3   .         2 3       .          0 > 2: a half, as one message
 *             0 1 2 3   1         2 3       3          0 > 1, 2 > 3
 *   gather    0 1       0 1       2 3       2 3        0 - 1, 2 - 3: its own part, whatever it has
 *             0 1 2 3   0 1 2 3   0 1 2 3   0 1 2 3    0 - 2, 1 - 3: two
 *
 * Where the places are no power of two, one that has a partner passes on what it got to those of
 * its own half that have none, halving the distance. */
#include "open_mpi.h"

struct parts {
    struct strait_packet *packet; /* NULL: not here yet */
    size_t n_bytes, part_bytes;
    int root, place;
    bool is_packet; /* else a filler */
};

/* Bytes of the parts [lo, hi). */
static size_t bytes_of(const struct parts *p, int lo, int hi)
{
    const size_t end = (size_t)hi * p->part_bytes, begin = (size_t)lo * p->part_bytes;
    return (end < p->n_bytes ? end : p->n_bytes) - (begin < p->n_bytes ? begin : p->n_bytes);
}

static struct strait_packet *put(struct strait_rank *r, struct strait_sendrecv *x, int i)
{
    const struct parts *p = x->of;
    (void)i;
    return p->is_packet ? strait_rest_of(r, strait_keep(p->packet), p->n_bytes - x->out_bytes)
                        : strait_filler(r, x->out_bytes);
}

static void take(struct strait_rank *r, struct strait_sendrecv *x, int i,
                 struct strait_packet *taken)
{
    struct parts *p = x->of;
    (void)r, (void)i;
    if (p->is_packet)
        p->packet = taken;
    else
        strait_packet_drop(taken); /* held with the packet */
}

/* So many bytes to one place, and what another one sends; -1: that way nothing goes. */
static void pass(struct strait_rank *r, struct strait_sendrecv x, int to, size_t out_bytes,
                 int from)
{
    const struct parts *p = x.of;
    x.to = to < 0 ? -1 : x.g.ranks[strait_around(to + p->root, x.g.n)];
    x.from = from < 0 ? -1 : x.g.ranks[strait_around(from + p->root, x.g.n)];
    x.out_bytes = out_bytes;
    x.n_out = 1;
    x.put = put;
    x.take = take;
    strait_sendrecv(r, x);
}

static void scatter(struct strait_rank *r, struct strait_sendrecv x, struct parts *p)
{
    int mask = 1;
    while (mask < x.g.n && !(p->place & mask))
        mask <<= 1;
    p->is_packet = true;
    if (p->place > 0)
        pass(r, x, -1, 0, p->place - mask);
    for (mask >>= 1; mask > 0; mask >>= 1)
        if (p->place + mask < x.g.n)
            pass(r, x, p->place + mask, bytes_of(p, p->place + mask, p->place + 2 * mask), -1);
}

/* What the other half has, to those of this one whose partners are not there. */
static void pass_on(struct strait_rank *r, struct strait_sendrecv x, const struct parts *p,
                    int mask)
{
    const int root = p->place / mask * mask, n_paired = x.g.n - root - mask;
    const size_t n_bytes = bytes_of(p, root + mask, root + 2 * mask);
    for (int half = mask / 2; half > 0; half /= 2) {
        const int other = p->place ^ half, end = p->place / (2 * half) * (2 * half) + n_paired;
        if (other > p->place && p->place < end && other >= end)
            pass(r, x, other, n_bytes, -1);
        else if (other < p->place && other < end && p->place >= end)
            pass(r, x, -1, 0, other);
    }
}

static void gather(struct strait_rank *r, struct strait_sendrecv x, struct parts *p)
{
    p->is_packet = false;
    for (int mask = 1; mask < x.g.n; mask *= 2) {
        const int other = p->place ^ mask, root = p->place / mask * mask,
                  other_root = other / mask * mask;
        x.step = (unsigned)mask;
        if (other < x.g.n)
            pass(r, x, other, bytes_of(p, root, root + mask), other);
        if (other_root + mask > x.g.n && other_root < x.g.n)
            pass_on(r, x, p, mask);
    }
}

struct strait_packet *strait_broadcast_in_parts(struct strait_rank *r, struct strait_group g,
                                                int root, struct strait_packet *taken,
                                                size_t n_bytes)
{
    struct parts p = {.packet = taken,
                      .n_bytes = n_bytes,
                      .part_bytes = (n_bytes + (size_t)g.n - 1) / (size_t)g.n,
                      .root = root,
                      .place = strait_around(g.me - root, g.n)};
    const struct strait_sendrecv x = {.g = g, .of = &p};
    scatter(r, x, &p);
    gather(r, x, &p);
    return p.packet;
}
