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

/* How many times the skew processes differ in their start. */
enum { FIRST = 1000 };

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
                                    .sends_first = true,
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

/* Ranks begin a call up to the skew late, as drawn. Processes reach the first one as they start,
 * each later than the one before by more than a word travels. Then the data of a late rank goes
 * before its own words, for which the early one waits, so that the late one ends late, call after
 * call. */
static void begin_late(struct strait_rank *r, struct strait_group g)
{
    const bool is_first = r->left_s <= 0;
    const double rtt_s =
        strait_path_rtt_s(r->run->network, r->me, g.ranks[strait_around(g.me + 1, g.n)]);
    strait_be_late(r, is_first ? FIRST * g.skew_s : g.skew_s, 0);
    if (is_first && g.skew_s > 0)
        strait_work(r, STRAIT_SPAN_WAIT, STRAIT_TIMER, g.me * rtt_s, NULL, NULL);
    r->left_s = strait_now_s(r);
}

/* Out: room->n_bytes. */
static void gather_sizes(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                         struct strait_gloo_room *room)
{
    room->sizes[g.me] = strait_control(r, (double)all[g.me]->payload_bytes);
    gather(r, g, room->sizes, room->halves, 0);
    for (int i = 0; i < g.n; i++) {
        room->n_bytes[i] =
            i == g.me ? all[g.me]->payload_bytes : (size_t)room->halves[i][0]->words[0];
        for (int k = 0; k < 2 && i != g.me; k++)
            strait_drop(r, room->halves[i][k]);
    }
    strait_drop(r, room->sizes[g.me]);
}

static void gather_padded(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                          struct strait_gloo_room *room)
{
    size_t largest_bytes = 0;
    for (int i = 0; i < g.n; i++)
        largest_bytes = room->n_bytes[i] > largest_bytes ? room->n_bytes[i] : largest_bytes;
    gather(r, g, all, room->halves, largest_bytes);
    for (int i = 0; i < g.n; i++)
        if (i != g.me)
            all[i] = strait_whole(r, room->halves[i], room->n_bytes[i]);
}

void strait_gather_by_gloo(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           struct strait_gloo_room *room)
{
    if (g.n == 1)
        return;
    strait_launch(r);
    gather_sizes(r, g, all, room);
    strait_launch(r);
    gather_padded(r, g, all, room);
}

void strait_gather_with_gloo(struct strait_rank *r, struct strait_group g,
                             struct strait_packet **all, bool sizes_first)
{
    if (g.n == 1)
        return;
    begin_late(r, g);
    for (int i = 0; i < g.n; i++)
        g.gloo->n_bytes[i] = all[g.me]->payload_bytes;
    if (sizes_first)
        gather_sizes(r, g, all, g.gloo);
    gather_padded(r, g, all, g.gloo);
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
