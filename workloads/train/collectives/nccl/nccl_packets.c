/* NCCL's all-gather and broadcast of packets. Whoever gathers encoded tensors by it has to pad them
 * to the largest, and to gather sizes first. A broadcast is a chain from the root on, in chunks
 * (src/device/broadcast.h of NVIDIA/nccl at 5067397c); three ranks, two chunks:
 *
 *             rank 0   1     2
 *   step 0    A B      A .   . .
 *   step 1    A B      A B   A .
 *   step 2    A B      A B   A B */
#include "nccl_ring.h"

#include <math.h>

enum { WORD_BYTES = 8 }; /* of a size */

/* What each rank has, of as many bytes. */
struct gather {
    struct strait_nccl_ring ring;
    struct strait_packet **all;
    double *sizes;
};

static struct strait_packet *give(struct strait_rank *r, void *of, struct strait_nccl_piece piece)
{
    const struct gather *x = of;
    return strait_piece(r, x->all[piece.part], piece.lo, piece.hi);
}

/* The first byte of a packet comes first: the channel of its second half begins behind it. */
static void take(struct strait_rank *r, void *of, struct strait_nccl_piece piece, bool adds,
                 struct strait_packet *packet)
{
    const struct gather *x = of;
    (void)adds;
    if (piece.lo == 0)
        x->all[piece.part] = strait_empty_like(r, packet, (size_t)x->sizes[piece.part]);
    strait_put_piece(r, x->all[piece.part], piece.lo, packet);
}

static struct strait_packet *give_size(struct strait_rank *r, void *of,
                                       struct strait_nccl_piece piece)
{
    const struct gather *x = of;
    struct strait_packet *word = strait_filler(r, WORD_BYTES);
    word->words[0] = x->sizes[piece.part];
    return word;
}

static void take_size(struct strait_rank *r, void *of, struct strait_nccl_piece piece, bool adds,
                      struct strait_packet *packet)
{
    const struct gather *x = of;
    (void)adds;
    x->sizes[piece.part] = packet->words[0];
    strait_drop(r, packet);
}

static void took(struct strait_rank *r, void *of, int behind, struct strait_packet *packet)
{
    const struct gather *x = of;
    const struct strait_nccl_piece all = {strait_around(x->ring.g.me - behind, x->ring.g.n), 0,
                                          x->ring.n_units};
    x->ring.take(r, x->ring.of, all, false, packet);
}

static void gather(struct strait_rank *r, struct gather *x, double n_bytes)
{
    const struct strait_group g = x->ring.g;
    x->ring.n_units = (size_t)fmax(n_bytes, 1);
    x->ring.plan = strait_nccl_plan_of(STRAIT_NCCL_SPREAD, strait_network(r), g.n,
                                       g.n * (double)x->ring.n_units);
    if (x->ring.plan.is_pat)
        strait_gather_by_pat(
            r, g, x->ring.give(r, x, (struct strait_nccl_piece){g.me, 0, x->ring.n_units}), took,
            x);
    else
        strait_nccl_run(r, &x->ring);
}

void strait_gather_by_nccl(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           bool sizes_first)
{
    struct gather x = {.ring = {.g = g,
                                .is_spread = true,
                                .unit_bytes = 1,
                                .first = g.n - 1,
                                .first_chunk = g.me,
                                .last = 2 * g.n - 2,
                                .give = give_size,
                                .take = take_size,
                                .of = &x},
                       .all = all,
                       .sizes = strait_group_sizes(r, &g)};
    double largest_bytes = 0;
    if (g.n == 1)
        return;
    for (int i = 0; i < g.n; i++)
        x.sizes[i] = (double)all[g.me]->payload_bytes;
    if (sizes_first)
        gather(r, &x, WORD_BYTES);
    for (int i = 0; i < g.n; i++)
        largest_bytes = fmax(largest_bytes, x.sizes[i]);
    x.ring.give = give;
    x.ring.take = take;
    gather(r, &x, largest_bytes);
}

/* From the root on, whose packet it is; the others get it in pieces. */
static struct strait_packet *chain(struct strait_rank *r, struct strait_group g, int root,
                                   struct strait_packet *packet, size_t n_bytes)
{
    const struct strait_nccl_plan plan =
        strait_nccl_plan_of(STRAIT_NCCL_BROADCAST, strait_network(r), g.n, (double)n_bytes);
    const size_t share = (n_bytes + (size_t)plan.n_channels - 1) / (size_t)plan.n_channels;
    const int next = strait_around(g.me + 1, g.n), previous = strait_around(g.me - 1, g.n);
    for (size_t at = 0; at < share; at += plan.chunk_bytes)
        for (int i = 0; i < plan.n_channels; i++) {
            const size_t start = (size_t)i * share, end = start + share,
                         lo = start + at < n_bytes ? start + at : n_bytes,
                         most = end < n_bytes ? end : n_bytes,
                         hi = lo + plan.chunk_bytes < most ? lo + plan.chunk_bytes : most;
            struct strait_packet *piece;
            if (g.me == root) {
                strait_nccl_pass(r, &g, &plan, next, i, strait_piece(r, packet, lo, hi));
                continue;
            }
            (void)strait_nccl_next(r, &g, previous, &piece);
            if (next != root)
                strait_nccl_pass(r, &g, &plan, next, i, strait_keep(piece));
            if (lo == 0)
                packet = strait_empty_like(r, piece, n_bytes);
            strait_put_piece(r, packet, lo, piece);
        }
    return packet;
}

struct strait_packet *strait_broadcast_by_nccl(struct strait_rank *r, struct strait_group g,
                                               int root, struct strait_packet *taken,
                                               size_t n_bytes)
{
    if (g.n == 1)
        return taken;
    if (n_bytes == 0) { /* of any size: that goes first */
        struct strait_packet *word = strait_control(r, taken ? (double)taken->payload_bytes : 0);
        struct strait_packet *came = chain(r, g, root, word, WORD_BYTES);
        n_bytes = (size_t)came->words[0];
        strait_drop(r, came);
        if (came != word)
            strait_drop(r, word);
    }
    return chain(r, g, root, taken, n_bytes);
}
