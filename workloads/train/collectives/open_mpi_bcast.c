/* Open MPI's broadcast, MPI_Bcast (open-mpi/ompi v4.1.4, coll_base_bcast.c, coll_base_topo.c), by
 * its fixed rules, which cut nothing into segments: a rank passes a message on when all of it is
 * there. Places are counted from the root on; of seven:
 *
 *   linear     0 > 1, 2, 3, 4, 5, 6
 *   chain      0 > 1 > 2 > 3 > 4 > 5 > 6
 *   binary     0 > 1, 2;   1 > 3, 5;   2 > 4, 6
 *   binomial   0 > 1, 2, 4;   1 > 3, 5;   2 > 6
 *   k-nomial   0 > 4, 1, 2, 3;   4 > 5, 6       (radix 4)
 *
 * A rank sends to all its children at once. */
#include "open_mpi.h"

enum { RADIX = 4 };

/* Parent of a place other than the root's. */
static int parent_of(enum strait_open_mpi_way way, int place)
{
    int level = 1, digit = 1;
    switch (way) {
    case STRAIT_MPI_CHAIN:
        return place - 1;
    case STRAIT_MPI_BINARY: /* a level of `level` places begins with place level - 1 */
        while (2 * level - 1 <= place)
            level *= 2;
        return place - level / 2 < level - 1 ? place - level / 2 : place - level;
    case STRAIT_MPI_SCATTER:  /* of real ranks, or of blocks: the tree of its first half */
    case STRAIT_MPI_BINOMIAL: /* without the highest bit */
        while (2 * level <= place)
            level *= 2;
        return place - level;
    case STRAIT_MPI_KNOMIAL: /* without the lowest digit */
        while (place % (RADIX * digit) == 0)
            digit *= RADIX;
        return place / (RADIX * digit) * (RADIX * digit);
    default:
        return 0;
    }
}

static struct strait_packet *put(struct strait_rank *r, struct strait_sendrecv *x, int i)
{
    struct strait_packet **all = x->of;
    (void)r;
    return strait_keep(all[i]);
}

static void take(struct strait_rank *r, struct strait_sendrecv *x, int i,
                 struct strait_packet *taken)
{
    struct strait_packet **all = x->of;
    (void)r;
    all[i] = taken;
}

/* Once from the parent, then to all children. */
static void pass_down(struct strait_rank *r, struct strait_sendrecv x, enum strait_open_mpi_way way,
                      int root)
{
    struct strait_packet **all = x.of;
    const int place = strait_around(x.g.me - root, x.g.n);
    int n_children = 0;
    if (place > 0) {
        x.from = x.g.ranks[strait_around(parent_of(way, place) + root, x.g.n)];
        strait_sendrecv(r, x);
    }
    for (int i = 0; i < x.n_out; i++)
        x.out_bytes += all[i]->payload_bytes;
    for (int i = 1; i < x.g.n; i++)
        if (parent_of(way, i) == place)
            strait_group_others(r, &x.g)[n_children++] = x.g.ranks[strait_around(i + root, x.g.n)];
    if (n_children > 0)
        strait_send_each(r, x, strait_group_others(r, &x.g), n_children);
}

static void broadcast(struct strait_rank *r, struct strait_group g, int root,
                      struct strait_packet **all, int n, size_t n_bytes)
{
    const struct strait_sendrecv x = {.g = g,
                                      .to = -1,
                                      .from = -1,
                                      .is_one_of_many = true,
                                      .n_out = n,
                                      .put = put,
                                      .take = take,
                                      .of = all};
    if (g.n > 1)
        pass_down(r, x, strait_open_mpi_way(STRAIT_MPI_BCAST, g.n, n_bytes), root);
}

void strait_broadcast_blocks(struct strait_rank *r, struct strait_group g,
                             struct strait_packet **all, size_t n_bytes)
{
    broadcast(r, g, 0, all, g.n, n_bytes);
}

/* The size of the root's packet, which the others do not know: 8 bytes before. */
static size_t tell_size(struct strait_rank *r, struct strait_group g, int root,
                        const struct strait_packet *packet)
{
    struct strait_packet *word = packet ? strait_control(r, (double)packet->payload_bytes) : NULL;
    broadcast(r, g, root, &word, 1, sizeof(double));
    const size_t n_bytes = (size_t)word->words[0];
    strait_drop(r, word);
    return n_bytes;
}

struct strait_packet *strait_broadcast_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                                   int root, struct strait_packet *taken,
                                                   size_t n_bytes)
{
    struct strait_packet *packet = taken;
    if (n_bytes == 0)
        n_bytes = tell_size(r, g, root, taken);
    if (strait_open_mpi_way(STRAIT_MPI_BCAST, g.n, n_bytes) == STRAIT_MPI_SCATTER &&
        !r->backend->is_measured)
        return strait_broadcast_in_parts(r, g, root, taken, n_bytes);
    broadcast(r, g, root, &packet, 1, n_bytes);
    return packet;
}
