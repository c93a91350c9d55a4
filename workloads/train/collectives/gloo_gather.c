/* Gloo's all-gather (facebookincubator/gloo: gloo/allgather.cc) of packets that are padded to the
 * largest, as one has to who gathers encoded tensors by it: sizes first. Both are rings upwards in
 * which each packet travels as two halves (gloo_ring.h), so that with a round trip t every step
 * takes t beside its bytes, unless a half takes longer than t. Three ranks, 1 and 2 are halves:
 *
 *             rank 0         rank 1         rank 2
 *   start     a1 a2          b1 b2          c1 c2
 *   step 0    a1 a2 c1       a1 b1 b2       b1 c1 c2       every rank sends its first half
 *   step 1    a1 a2 c1 c2    a1 a2 b1 b2    b1 b2 c1 c2    and the second;
 *   step 2    + b1           + c1           + a1           then passes on what came two steps ago
 *   step 3    a b c          a b c          a b c
 *
 * Nothing is decoded on the way. */
#include "gloo_ring.h"

struct gather {
    const struct strait_group *g;
    struct strait_packet **all;         /* all[me] is there */
    struct strait_packet *(*halves)[2]; /* by rank */
};

/* Whose packet the piece of step i is, to be sent by position `me`. */
static int owner(const struct gather *x, int me, int i)
{
    return strait_around(me - i / 2, x->g->n);
}

static struct strait_packet *give_half(struct strait_rank *lane, void *of, int i)
{
    const struct gather *x = of;
    (void)lane;
    return strait_keep(x->halves[owner(x, x->g->me, i)][i % 2]);
}

static void take_half(struct strait_rank *r, void *of, int i, struct strait_packet *piece)
{
    const struct gather *x = of;
    (void)r;
    x->halves[owner(x, x->g->me - 1, i)][i % 2] = piece;
}

/* All packets, each as padded_bytes; room: for the halves of every rank. */
static void gather(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                   struct strait_packet *(*room)[2], size_t padded_bytes)
{
    struct gather x = {&g, all, room};
    struct strait_gloo_pass pass = {.g = g,
                                    .to = strait_around(g.me + 1, g.n),
                                    .from = strait_around(g.me - 1, g.n),
                                    .n_steps = 2 * (g.n - 1),
                                    .give = give_half,
                                    .take = take_half,
                                    .of = &x};
    for (int i = 0; i < 2; i++)
        room[g.me][i] = strait_half(r, all[g.me], i, padded_bytes);
    pass.ear = strait_gloo_hear(r, g, pass.n_steps);
    strait_gloo_run(r, &pass);
    strait_gloo_hung_up(r, pass.ear);
    for (int i = 0; i < 2; i++)
        strait_drop(r, room[g.me][i]);
}

void strait_gather_by_gloo(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           struct strait_gloo_room *room)
{
    double largest_bytes = 0;
    if (g.n == 1)
        return;
    room->sizes[g.me] = strait_control(r, (double)all[g.me]->payload_bytes);
    strait_launch(r);
    gather(r, g, room->sizes, room->halves, 0);
    for (int i = 0; i < g.n; i++) {
        const double bytes =
            i == g.me ? (double)all[g.me]->payload_bytes : room->halves[i][0]->words[0];
        largest_bytes = bytes > largest_bytes ? bytes : largest_bytes;
        room->n_bytes[i] = (size_t)bytes;
        for (int k = 0; k < 2 && i != g.me; k++)
            strait_drop(r, room->halves[i][k]);
    }
    strait_drop(r, room->sizes[g.me]);
    strait_launch(r);
    gather(r, g, all, room->halves, (size_t)largest_bytes);
    for (int i = 0; i < g.n; i++)
        if (i != g.me)
            all[i] = strait_whole(r, room->halves[i], room->n_bytes[i]);
}

struct strait_gloo_room strait_gloo_room_of(struct strait_rank *r)
{
    const size_t n = (size_t)strait_n_ranks(r);
    return (struct strait_gloo_room){.halves =
                                         strait_alloc(r, n, sizeof(struct strait_packet *[2])),
                                     .sizes = strait_alloc(r, n, sizeof(struct strait_packet *)),
                                     .n_bytes = strait_alloc(r, n, sizeof(size_t))};
}

bool strait_gloo_gather_uses(int n, int channel, int src, int dst)
{
    return strait_gloo_uses(n, channel, dst, src);
}
