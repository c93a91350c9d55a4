/* Reduction to a root by a binomial tree. Sums of three ranks, root 0, after each step:
 *
 *             rank 0      rank 1   rank 2
 *   start     a           b        c
 *   step 0    a+b         .        c          1 > 0
 *   step 1    (a+b)+c     .        .          2 > 0
 *
 * Sum order, places counted from the root: pairs, pairs of pairs, ...: ((0+1)+(2+3))+((4+5)+..).
 * With a codec each of the n - 1 messages is encoded, and each of their errors is in the sum. */
#include <assert.h>
#include <math.h>

#include "parts.h"

bool strait_tree_uses(int n, int src, int dst)
{
    for (int mask = 1; mask < n; mask <<= 1)
        if (dst == strait_around(src + mask, n) || dst == strait_around(src - mask, n))
            return src != dst;
    return false;
}

static void add_sum(struct strait_rank *r, struct strait_tensor *x, struct strait_packet *taken)
{
    struct strait_tensor *theirs = strait_spare(r, x);
    strait_decode(r, theirs, taken);
    strait_add(r, x, theirs, 1);
}

/* If packets are views, the root adds only when all subtrees have arrived: before that some of them
 * may still be reading the root's previous broadcast. */
void strait_reduce(struct strait_rank *r, struct strait_group g, int root, struct strait_codec *c,
                   struct strait_tensor *x)
{
    const int place = strait_around(g.me - root, g.n); /* the root's is 0 */
    const bool later = place == 0 && strait_sends_views(c);
    int n_here = 0;
    for (int mask = 1; mask < g.n; mask <<= 1) {
        if (place & mask) {
            strait_send(r, g.ranks[strait_around(g.me - mask, g.n)], g.channel, root,
                        strait_encode_sum(r, c, mask < g.n - place ? mask : g.n - place, x));
            return;
        }
        if (place + mask >= g.n)
            continue;
        struct strait_message m =
            strait_recv(r, g.ranks[strait_around(g.me + mask, g.n)], g.channel);
        assert(m.tag == root);
        if (later)
            strait_group_packets(r, &g)[n_here++] = m.packet;
        else
            add_sum(r, x, m.packet);
    }
    for (int i = 0; i < n_here; i++)
        add_sum(r, x, strait_group_packets(r, &g)[i]);
}

/* Reduction to a root along a chain, in pieces: the broadcast's chain, reversed. It starts at the
 * position after the root and goes once around. Sums of three ranks, root 0, two pieces:
 *
 *             rank 1   rank 2        rank 0
 *   start     b0 b1    c0 c1         a0 a1
 *   step 0    .  b1    b0+c0 c1      a0 a1            1 > 2
 *   step 1    .  .     .  b1+c1      a0+(b0+c0) a1    1 > 2, 2 > 0
 *   step 2    .  .     .  .          S0 S1            2 > 0
 *
 * Sum order: along the chain, the root last: a + ((b + c) + ..), each addition mine + theirs. With
 * a codec each of the n - 1 hops encodes, and all their errors are in the sum. */
void strait_reduce_pipelined(struct strait_rank *r, struct strait_group g, int root,
                             struct strait_codec *c, struct strait_tensor *x, int n_pieces)
{
    const int place = strait_around(g.me - root, g.n); /* 1 begins, the root's 0 ends */
    for (int i = 0; i < n_pieces && g.n > 1; i++) {
        struct strait_tensor *piece = strait_slice(r, x, i, n_pieces);
        if (place != 1) {
            struct strait_message m =
                strait_recv(r, g.ranks[strait_around(g.me - 1, g.n)], g.channel);
            struct strait_tensor *theirs = strait_spare(r, piece);
            assert(m.tag == i);
            strait_decode(r, theirs, m.packet);
            strait_add(r, piece, theirs, 1);
        }
        if (place != 0)
            strait_send(r, g.ranks[strait_around(g.me + 1, g.n)], g.channel, i,
                        strait_encode_sum(r, c, place, piece));
    }
}
