/* The two halves of a ring all-reduce. Parts of three ranks after each step (capitals are sums):
 *
 *             rank 0        rank 1        rank 2
 *   start     a0 a1 a2      b0 b1 b2      c0 c1 c2
 *   step 0    .  a1 a2+c2   a0+b0 .  b2   c0 b1+c1 .      rank i sends part i, adds part i-1
 *   step 1    .  S1 .       .  .  S2      S0 .  .         rank i sends what it just added
 *             each rank now owns part (i+1) mod 3; the gather passes these on twice:
 *   step 0    S0 S1 .       .  S1 S2      S0 .  S2
 *   step 1    S0 S1 S2      S0 S1 S2      S0 S1 S2
 *
 * Sum order of part p: rank p first, then p+1, ... (float, in ring order). With a codec every hop
 * of the reduction decodes, adds and encodes again (n - 1 errors); the gather encodes once at the
 * source and passes the bytes on (one error). In the encoded form every rank's part is encoded
 * once, packets are added encoded, and the sum's packet is passed around: also n errors, but on one
 * grid of integers, where order does not matter; streams without a common step have one more error
 * each. */
#include <assert.h>
#include <math.h>

#include "open_mpi.h"

void strait_reduce_scatter(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                           struct strait_tensor *x)
{
    if (g.library == STRAIT_OPEN_MPI) {
        strait_reduce_scatter_by_open_mpi(r, g, c, x);
        return;
    }
    if (g.library == STRAIT_NCCL) {
        strait_reduce_scatter_by_nccl(r, g, c, x);
        return;
    }
    const int next = g.ranks[strait_around(g.me + 1, g.n)],
              previous = g.ranks[strait_around(g.me - 1, g.n)];
    struct strait_slice_room rooms[2];
    struct strait_tensor *mine = strait_slice_in(&rooms[1], r, x, g.me, g.n);
    for (int step = 0; step < g.n - 1; step++) {
        const int at = strait_around(g.me - step - 1, g.n);
        struct strait_tensor *sum = strait_slice_in(&rooms[step % 2], r, x, at, g.n);
        struct strait_tensor *theirs = strait_spare(r, sum);
        strait_send(r, next, g.channel, step, strait_encode_sum(r, c, step + 1, mine));
        struct strait_message m = strait_recv(r, previous, g.channel);
        assert(m.tag == step);
        strait_decode(r, theirs, m.packet);
        strait_add(r, sum, theirs, 1);
        mine = sum;
    }
}

void strait_all_gather_packet(struct strait_rank *r, struct strait_group g,
                              struct strait_packet *taken, struct strait_tensor *x)
{
    if (g.library == STRAIT_OPEN_MPI) {
        strait_all_gather_by_open_mpi(r, g, taken, x);
        return;
    }
    const int next = g.ranks[strait_around(g.me + 1, g.n)],
              previous = g.ranks[strait_around(g.me - 1, g.n)];
    struct strait_packet *passing = taken;
    struct strait_slice_room room;
    strait_decode(r, strait_slice_in(&room, r, x, strait_around(g.me + 1, g.n), g.n),
                  strait_keep(passing));
    for (int step = 0; step < g.n - 1; step++) {
        strait_send(r, next, g.channel, g.n + step, passing);
        struct strait_message m = strait_recv(r, previous, g.channel);
        assert(m.tag == g.n + step);
        passing = strait_keep(m.packet);
        strait_decode(r, strait_slice_in(&room, r, x, strait_around(g.me - step, g.n), g.n),
                      m.packet);
    }
    strait_drop(r, passing);
}

void strait_all_gather(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x)
{
    struct strait_slice_room room;
    if (g.library == STRAIT_NCCL)
        strait_all_gather_by_nccl(r, g, c, x);
    else if (g.n > 1)
        strait_all_gather_packet(
            r, g,
            strait_encode_sum(r, c, g.n,
                              strait_slice_in(&room, r, x, strait_around(g.me + 1, g.n), g.n)),
            x);
}

/* Encodes its next own part while the partial sum is on its way. */
struct strait_packet *strait_reduce_scatter_encoded(struct strait_rank *r, struct strait_group g,
                                                    struct strait_codec *c, struct strait_tensor *x)
{
    const int next = g.ranks[strait_around(g.me + 1, g.n)],
              previous = g.ranks[strait_around(g.me - 1, g.n)];
    if (g.n == 1)
        return NULL;
    if (g.agreement) {
        for (int i = 0; i < g.n; i++)
            strait_group_parts(r, &g)[i] = strait_slice(r, x, i, g.n);
        strait_agree(r, g.agreement, g, c, strait_group_parts(r, &g), g.n);
    }
    struct strait_slice_room room;
    struct strait_packet *sum =
        strait_encode_part(r, g.agreement, c, g.me, strait_slice_in(&room, r, x, g.me, g.n));
    for (int step = 0; step < g.n - 1; step++) {
        const int at = strait_around(g.me - step - 1, g.n);
        struct strait_tensor *part = strait_slice_in(&room, r, x, at, g.n);
        strait_send(r, next, g.channel, step, sum);
        struct strait_packet *mine = strait_encode_part(r, g.agreement, c, at, part);
        struct strait_message m = strait_recv(r, previous, g.channel);
        assert(m.tag == step);
        sum = strait_add_encoded(r, c, part, m.packet, mine);
    }
    return sum;
}
