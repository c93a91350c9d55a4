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
#include <assert.h>
#include <math.h>

#include "parts.h"

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
