/* NCCL's all-reduce, reduce-scatter and all-gather of tensors between nodes of one accelerator
 * each: the double tree, PAT or the ring, as nccl_plan.c chooses. Sum order of chunk p of a ring:
 * rank p + 1 first; so it is of part p of a reduce-scatter. */
#include <math.h>

#include "nccl_ring.h"

struct sum {
    struct strait_codec *none;
    struct strait_tensor *x;
    size_t n_elems;
    int n; /* > 0: pieces are of ranks' parts, n of them */
};

/* The last parts may be an element shorter than the first. */
static struct strait_tensor *piece_of(struct strait_rank *r, const struct sum *s,
                                      struct strait_nccl_piece piece)
{
    if (s->n == 0)
        return strait_range(r, s->x, piece.lo, piece.hi);
    const size_t start = strait_part_start(s->n_elems, piece.part, s->n),
                 end = strait_part_start(s->n_elems, piece.part + 1, s->n);
    return strait_range(r, s->x, start + piece.lo < end ? start + piece.lo : end,
                        start + piece.hi < end ? start + piece.hi : end);
}

static struct strait_packet *give(struct strait_rank *r, void *of, struct strait_nccl_piece piece)
{
    const struct sum *s = of;
    return strait_encode(r, s->none, NAN, piece_of(r, s, piece));
}

static void take(struct strait_rank *r, void *of, struct strait_nccl_piece piece, bool adds,
                 struct strait_packet *packet)
{
    const struct sum *s = of;
    struct strait_tensor *mine = piece_of(r, s, piece);
    if (!adds) {
        strait_decode(r, mine, packet);
        return;
    }
    struct strait_tensor *theirs = strait_spare(r, mine);
    strait_decode(r, theirs, packet);
    strait_add(r, mine, theirs, 1);
}

void strait_all_reduce_by_nccl(struct strait_rank *r, struct strait_group g,
                               struct strait_codec *none, struct strait_tensor *x)
{
    const size_t n_elems = strait_n_elems(x);
    struct sum s = {.none = none, .x = x, .n_elems = n_elems};
    if (g.n == 1)
        return;
    const struct strait_nccl_plan plan = strait_nccl_plan(strait_network(r), g.n, n_elems);
    if (plan.is_tree) {
        strait_all_reduce_by_trees(r, g, none, x);
        return;
    }
    strait_nccl_run(r, &(struct strait_nccl_ring){.g = g,
                                                  .plan = plan,
                                                  .n_units = n_elems,
                                                  .unit_bytes = sizeof(float),
                                                  .first_chunk = g.me - 1,
                                                  .last = 2 * g.n - 2,
                                                  .give = give,
                                                  .take = take,
                                                  .of = &s});
}

/* Positions one further on: part i of PAT is that of position i. */
static struct strait_group turned(struct strait_rank *r, struct strait_group g)
{
    int *ranks = strait_group_others(r, &g);
    for (int i = 0; i < g.n; i++)
        ranks[i] = g.ranks[strait_around(i - 1, g.n)];
    g.me = strait_around(g.me + 1, g.n);
    g.ranks = ranks;
    return g;
}

/* Part me + 1, as of our own ring: its sums or its values go around. */
static void spread(struct strait_rank *r, struct strait_group g, struct strait_codec *none,
                   struct strait_tensor *x, bool sums)
{
    const size_t n_elems = strait_n_elems(x);
    struct sum s = {.none = none, .x = x, .n_elems = n_elems, .n = g.n};
    const struct strait_nccl_plan plan =
        strait_nccl_plan_of(STRAIT_NCCL_SPREAD, strait_network(r), g.n, 4.0 * (double)n_elems);
    if (plan.is_pat) {
        (sums ? strait_reduce_scatter_by_pat : strait_all_gather_by_pat)(r, turned(r, g), none, x);
        return;
    }
    strait_nccl_run(r,
                    &(struct strait_nccl_ring){.g = g,
                                               .plan = plan,
                                               .is_spread = true,
                                               .n_units = (n_elems + (size_t)g.n - 1) / (size_t)g.n,
                                               .unit_bytes = sizeof(float),
                                               .first = sums ? 0 : g.n - 1,
                                               .first_chunk = sums ? g.me : g.me + 1,
                                               .last = sums ? g.n - 1 : 2 * g.n - 2,
                                               .give = give,
                                               .take = take,
                                               .of = &s});
}

void strait_reduce_scatter_by_nccl(struct strait_rank *r, struct strait_group g,
                                   struct strait_codec *none, struct strait_tensor *x)
{
    if (g.n > 1)
        spread(r, g, none, x, true);
}

void strait_all_gather_by_nccl(struct strait_rank *r, struct strait_group g,
                               struct strait_codec *none, struct strait_tensor *x)
{
    if (g.n > 1)
        spread(r, g, none, x, false);
}

bool strait_nccl_uses(const struct strait_network *network, int n, size_t n_elems, int channel,
                      int src, int dst)
{
    if (strait_nccl_plan(network, n, n_elems).is_tree)
        return channel < 2 && strait_double_tree_uses(n, channel, src, dst);
    return channel == 0 && src != dst && dst == (src + 1) % n;
}

bool strait_nccl_may_use(int n, int channel, int src, int dst)
{
    if (channel < 0 || channel > 1 || src == dst)
        return false;
    return (channel == 0 && (dst == (src + 1) % n || strait_pat_uses(n, src, dst))) ||
           strait_double_tree_uses(n, channel, src, dst);
}
