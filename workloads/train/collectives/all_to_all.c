/* All-reduce through the owners of parts: the compressed reduce-scatter and all-gather of GRACE's
 * distributed back end (Xu et al., ICDCS 2021). Parts of three ranks (capitals are sums):
 *
 *             rank 0              rank 1              rank 2
 *   start     a0 a1 a2            b0 b1 b2            c0 c1 c2
 *   step 0    a0 b0 c0 > S0       a1 b1 c1 > S1       a2 b2 c2 > S2     rank i owns part i
 *   step 1    S0 S1 S2            S0 S1 S2            S0 S1 S2
 *
 * Sum order of part p: rank p first, then p+1, ... (as in the ring). With a codec every part is
 * encoded twice for any number of ranks: at its source for its owner, and the sum for all. The sum
 * has n - 1 errors, its copies one more. */
#include <assert.h>
#include <math.h>

#include "parts.h"

enum { PART, SUM }; /* tags */

/* Send every part to its owner, the next neighbour's first, so that no port is the first target of
 * all. */
static void scatter(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                    struct strait_tensor *x)
{
    struct strait_slice_room room;
    for (int k = 1; k < g.n; k++) {
        const int owner = strait_around(g.me + k, g.n);
        strait_send(r, g.ranks[owner], g.channel, PART,
                    strait_encode_sum(r, c, 1, strait_slice_in(&room, r, x, owner, g.n)));
    }
}

static struct strait_packet *receive_from(struct strait_rank *r, struct strait_group g, int place,
                                          int tag)
{
    struct strait_message m = strait_recv(r, g.ranks[place], g.channel);
    assert(m.tag == tag);
    return m.packet;
}

void strait_reduce_scatter_direct(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x)
{
    struct strait_tensor *mine = strait_slice(r, x, g.me, g.n);
    scatter(r, g, c, x);
    for (int k = 1; k < g.n; k++) /* wait: others may still read what the sum overwrites */
        strait_group_packets(r, &g)[k] = receive_from(r, g, strait_around(g.me + k, g.n), PART);
    for (int k = 1; k < g.n; k++) {
        struct strait_tensor *theirs = strait_spare(r, mine);
        strait_decode(r, theirs, strait_group_packets(r, &g)[k]);
        strait_add(r, mine, theirs, 1);
    }
}

void strait_all_reduce_to_owners(struct strait_rank *r, struct strait_group g,
                                 struct strait_codec *c, struct strait_tensor *x)
{
    struct strait_tensor *mine = strait_slice(r, x, g.me, g.n);
    struct strait_slice_room room;
    if (g.n == 1)
        return;
    strait_reduce_scatter_direct(r, g, c, x);
    struct strait_packet *sum = strait_encode_sum(r, c, g.n, mine);
    for (int k = 1; k < g.n; k++)
        strait_send(r, g.ranks[strait_around(g.me + k, g.n)], g.channel, SUM, strait_keep(sum));
    strait_decode(r, mine, sum); /* so that all ranks have the same bits */
    for (int k = 1; k < g.n; k++) {
        const int owner = strait_around(g.me + k, g.n);
        strait_decode(r, strait_slice_in(&room, r, x, owner, g.n), receive_from(r, g, owner, SUM));
    }
}
