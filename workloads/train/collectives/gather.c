/* All-gather of packets of any sizes, by a ring. Packets of three ranks after each step:
 *
 *             rank 0     rank 1     rank 2
 *   start     A          B          C
 *   step 0    A     C    A B          B C        rank i sends its own
 *   step 1    A B C      A B C      A B C        and passes on what it received
 *
 * Nothing is decoded on the way, so the only error is the source's. */
#include <assert.h>

#include "open_mpi.h"

/* Exchange all sizes, as control words of empty messages. */
static void exchange_sizes(struct strait_rank *r, struct strait_group g,
                           const struct strait_packet *mine)
{
    double word = (double)mine->payload_bytes;
    for (int step = 0; step < g.n - 1; step++) {
        strait_send(r, g.ranks[strait_around(g.me + 1, g.n)], g.channel, step,
                    strait_control(r, word));
        struct strait_message m = strait_recv(r, g.ranks[strait_around(g.me - 1, g.n)], g.channel);
        assert(m.tag == step);
        word = m.packet->words[0];
        strait_drop(r, m.packet);
    }
}

void strait_gather_packets(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           bool sizes_first)
{
    if (g.library == STRAIT_OPEN_MPI) {
        strait_gather_by_open_mpi(r, g, all, sizes_first ? 0 : all[g.me]->payload_bytes);
        return;
    }
    if (g.library == STRAIT_NCCL) {
        strait_gather_by_nccl(r, g, all, sizes_first);
        return;
    }
    if (g.library == STRAIT_GLOO) {
        strait_gather_with_gloo(r, g, all, sizes_first);
        return;
    }
    if (sizes_first)
        exchange_sizes(r, g, all[g.me]);
    for (int step = 0; step < g.n - 1; step++) {
        strait_send(r, g.ranks[strait_around(g.me + 1, g.n)], g.channel, g.n + step,
                    strait_keep(all[strait_around(g.me - step, g.n)]));
        struct strait_message m = strait_recv(r, g.ranks[strait_around(g.me - 1, g.n)], g.channel);
        assert(m.tag == g.n + step);
        all[strait_around(g.me - step - 1, g.n)] = m.packet;
    }
}
