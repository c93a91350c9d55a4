/* Broadcast of one rank's tensor, encoded once at the root and passed on encoded (one error).
 *
 * Binomial tree, eight ranks: the far half first, so that it can continue while the root does.
 *
 *             rank 0   1    2    3    4    5    6    7
 *   step 0    A        .    .    .    A    .    .    .      0 > 4
 *   step 1    A        .    A    .    A    .    A    .      0 > 2, 4 > 6
 *   step 2    A        A    A    A    A    A    A    A      0 > 1, 2 > 3, 4 > 5, 6 > 7
 *   of three  A . .  >  A . A  >  A A A                     0 > 2, then 0 > 1
 *
 * The steps are an order of posting: a rank's sends share its port, as in Open MPI's tree, so that
 * k = log2 n levels of m bytes take the sum over j = 1 .. k of delay + j m / rate.
 *
 * Chain of three ranks, two pieces: a received piece is passed on while the next one arrives.
 *
 *             rank 0   1     2
 *   step 0    A B      A .   . .
 *   step 1    A B      A B   A .
 *   step 2    A B      A B   A B */
#include <math.h>

#include "open_mpi.h"

struct strait_packet *strait_broadcast_packet(struct strait_rank *r, struct strait_group g,
                                              int root, struct strait_packet *taken, size_t n_bytes)
{
    if (g.library == STRAIT_OPEN_MPI)
        return strait_broadcast_by_open_mpi(r, g, root, taken, n_bytes);
    if (g.library == STRAIT_NCCL)
        return strait_broadcast_by_nccl(r, g, root, taken, n_bytes);
    if (g.library == STRAIT_GLOO)
        return strait_broadcast_by_gloo(r, g, root, taken, n_bytes);
    const int place = strait_around(g.me - root, g.n); /* the root's is 0 */
    int mask = 1;
    while (mask < g.n && !(place & mask))
        mask <<= 1;
    struct strait_packet *packet =
        place == 0 ? taken
                   : strait_recv(r, g.ranks[strait_around(g.me - mask, g.n)], g.channel).packet;
    for (mask >>= 1; mask > 0; mask >>= 1)
        if (place + mask < g.n)
            strait_send(r, g.ranks[strait_around(g.me + mask, g.n)], g.channel, root,
                        strait_keep(packet));
    return packet;
}

void strait_broadcast(struct strait_rank *r, struct strait_group g, int root,
                      struct strait_codec *c, struct strait_tensor *x)
{
    strait_broadcast_sum(r, g, root, c, 0, x);
}

void strait_broadcast_sum(struct strait_rank *r, struct strait_group g, int root,
                          struct strait_codec *c, int n_ranks, struct strait_tensor *x)
{
    if (g.n == 1)
        return;
    struct strait_packet *mine = g.me == root ? strait_encode_sum(r, c, n_ranks, x) : NULL;
    struct strait_packet *packet = strait_broadcast_packet(
        r, g, root, mine, strait_sends_views(c) ? 4 * strait_n_elems(x) : 0);
    strait_decode(r, x, packet); /* the root decodes too, so that all ranks have the same bits */
}

/* The subtree of a place whose parent was `mask` away has the places up to there. Its sends share
 * its port, so all arrive together. */
static double subtree_s(int n, int place, int mask, double message_s, double delay_s)
{
    double largest_s = 0, n_sends = 0;
    for (int m = mask >> 1; m > 0; m >>= 1)
        if (place + m < n) {
            largest_s = fmax(largest_s, subtree_s(n, place + m, m, message_s, delay_s));
            n_sends++;
        }
    return n_sends > 0 ? n_sends * message_s + delay_s + largest_s : 0;
}

double strait_broadcast_s(int n, double message_s, double delay_s)
{
    int mask = 1;
    while (mask < n)
        mask <<= 1;
    return subtree_s(n, 0, mask, message_s, delay_s);
}

/* Decodes one piece while the next one arrives. */
void strait_broadcast_pipelined(struct strait_rank *r, struct strait_group g, int root,
                                struct strait_codec *c, struct strait_tensor *x, int n_pieces)
{
    const int place = strait_around(g.me - root, g.n);
    struct strait_task *decoding = NULL;
    for (int i = 0; i < n_pieces && g.n > 1; i++) {
        struct strait_tensor *piece = strait_slice(r, x, i, n_pieces);
        struct strait_packet *packet =
            place == 0 ? strait_encode(r, c, NAN, piece)
                       : strait_recv(r, g.ranks[strait_around(g.me - 1, g.n)], g.channel).packet;
        if (place < g.n - 1)
            strait_send(r, g.ranks[strait_around(g.me + 1, g.n)], g.channel, i,
                        strait_keep(packet));
        if (decoding)
            strait_wait(r, decoding);
        decoding = strait_decode_start(r, piece, packet);
    }
    if (decoding)
        strait_wait(r, decoding);
}
