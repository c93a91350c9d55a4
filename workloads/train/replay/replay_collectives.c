/* Collectives of a trace. Values are summed as our own collectives do; where data only move,
 * packets of their size do. Of n ranks with `bytes` each, in messages of one rank:
 *
 *   all_reduce      as `all_reduce` of the strategy says (collectives/)
 *   reduce_scatter  ring, n - 1 of bytes / n
 *   all_gather      ring, n - 1 of bytes
 *   all_to_all      n - 1 of bytes / n, to the next neighbour first
 *   broadcast       binomial tree, one of bytes an edge
 *   reduce          the same tree towards the root, adding on the way
 *   gather, scatter n - 1 of bytes to or from the root, at once
 *   barrier         dissemination: log2 n empty ones, to the rank 1, 2, 4, ... places on */
#include <string.h>

#include "replay.h"
#include "workloads/train/collectives/parts.h"

static const unsigned SUMS = 1u << STRAIT_PROGRAM_ALL_REDUCE | 1u << STRAIT_PROGRAM_REDUCE_SCATTER;

static size_t n_elems(uint64_t bytes)
{
    return bytes > 4 ? (size_t)((bytes + 3) / 4) : 1;
}

static uint64_t largest_sum(const struct strait_program_rank *rank, int group)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < rank->n_nodes; i++) {
        const struct strait_program_node *n = &rank->nodes[i];
        if (n->kind == STRAIT_PROGRAM_COLLECTIVE && n->group == group &&
            SUMS >> n->collective & 1 && n->bytes > largest)
            largest = n->bytes;
    }
    return largest;
}

struct strait_replay_group strait_replay_group_of(struct strait_rank *r,
                                                  const struct strait_program *g, int group,
                                                  enum strait_all_reduce how)
{
    const int n = strait_program_group_n(g, group);
    struct strait_replay_group made = {.how = how};
    int *ranks = strait_alloc(r, (size_t)n, sizeof(*ranks));
    for (int i = 0; i < n; i++)
        ranks[i] = strait_program_group_rank(g, group, i);
    made.ranks = strait_group_of(r, ranks, n, STRAIT_REPLAY_GROUPS + group);
    made.parts = strait_alloc(r, (size_t)n, sizeof(struct strait_packet *));
    if (g->groups[group].kinds & SUMS)
        for (int i = 0; i < 2; i++)
            made.values[i] =
                strait_scratch(r, n_elems(largest_sum(&g->ranks[strait_me(r)], group)));
    return made;
}

static int place_of(const struct strait_group *g, int rank)
{
    for (int i = 0; i < g->n; i++)
        if (g->ranks[i] == rank)
            return i;
    return 0;
}

static void send_to(struct strait_rank *r, const struct strait_group *g, int place,
                    struct strait_packet *taken)
{
    strait_send(r, g->ranks[strait_around(place, g->n)], g->channel, 0, taken);
}

static void drop_from(struct strait_rank *r, const struct strait_group *g, int place)
{
    strait_drop(r, strait_recv(r, g->ranks[strait_around(place, g->n)], g->channel).packet);
}

static void all_to_all(struct strait_rank *r, const struct strait_group *g, uint64_t bytes)
{
    for (int k = 1; k < g->n; k++)
        send_to(r, g, g->me + k, strait_filler(r, bytes / (uint64_t)g->n));
    for (int k = 1; k < g->n; k++)
        drop_from(r, g, g->me - k);
}

static void all_gather(struct strait_rank *r, struct strait_replay_group *g, uint64_t bytes)
{
    g->parts[g->ranks.me] = strait_filler(r, bytes);
    strait_gather_packets(r, g->ranks, g->parts, false);
    for (int i = 0; i < g->ranks.n; i++)
        strait_drop(r, g->parts[i]);
}

static void reduce(struct strait_rank *r, const struct strait_group *g, int root, uint64_t bytes)
{
    const int place = strait_around(g->me - root, g->n);
    for (int mask = 1; mask < g->n; mask <<= 1) {
        if (place & mask) {
            send_to(r, g, g->me - mask, strait_filler(r, bytes));
            return;
        }
        if (place + mask >= g->n)
            continue;
        drop_from(r, g, g->me + mask);
        strait_work(r, STRAIT_SPAN_AGGREGATE, strait_device(r),
                    (double)bytes * strait_add_s_per_byte(r), NULL, NULL);
    }
}

static void to_or_from_root(struct strait_rank *r, const struct strait_group *g, int root,
                            uint64_t bytes, bool to_root)
{
    if (g->me != root && to_root)
        send_to(r, g, root, strait_filler(r, bytes));
    else if (g->me != root)
        drop_from(r, g, root);
    for (int k = 1; k < g->n && g->me == root; k++)
        if (to_root)
            drop_from(r, g, root + k);
        else
            send_to(r, g, root + k, strait_filler(r, bytes));
}

static void barrier(struct strait_rank *r, const struct strait_group *g)
{
    for (int k = 1; k < g->n; k <<= 1) {
        send_to(r, g, g->me + k, strait_control(r, 0));
        drop_from(r, g, g->me - k);
    }
}

void strait_replay_collective(struct strait_rank *lane, struct strait_replay_group *g,
                              const struct strait_program_node *node)
{
    const enum strait_program_collective what = (enum strait_program_collective)node->collective;
    const int root = node->peer >= 0 ? place_of(&g->ranks, node->peer) : 0;
    struct strait_tensor *x =
        SUMS >> what & 1
            ? strait_range(lane, g->values[g->n_reductions++ % 2], 0, n_elems(node->bytes))
            : NULL;
    struct strait_codec *none = strait_codec(lane, "none");
    switch (what) {
    case STRAIT_PROGRAM_ALL_REDUCE:
        strait_all_reduce(lane, g->ranks, none, x, g->how);
        break;
    case STRAIT_PROGRAM_REDUCE_SCATTER:
        strait_reduce_scatter(lane, g->ranks, none, x);
        break;
    case STRAIT_PROGRAM_ALL_GATHER:
        all_gather(lane, g, node->bytes);
        break;
    case STRAIT_PROGRAM_ALL_TO_ALL:
        all_to_all(lane, &g->ranks, node->bytes);
        break;
    case STRAIT_PROGRAM_BROADCAST:
        strait_drop(lane, strait_broadcast_packet(
                              lane, g->ranks, root,
                              g->ranks.me == root ? strait_filler(lane, node->bytes) : NULL,
                              node->bytes));
        break;
    case STRAIT_PROGRAM_REDUCE:
        reduce(lane, &g->ranks, root, node->bytes);
        break;
    case STRAIT_PROGRAM_GATHER:
    case STRAIT_PROGRAM_SCATTER:
        to_or_from_root(lane, &g->ranks, root, node->bytes, what == STRAIT_PROGRAM_GATHER);
        break;
    case STRAIT_PROGRAM_BARRIER:
    case STRAIT_N_PROGRAM_COLLECTIVES:
        barrier(lane, &g->ranks);
        break;
    }
}

/* Places of a group, from the kinds of collectives that are called in it. */
static bool places_use(unsigned kinds, enum strait_all_reduce how, int n, int src, int dst)
{
    const unsigned to_any = 1u << STRAIT_PROGRAM_ALL_TO_ALL | 1u << STRAIT_PROGRAM_GATHER |
                            1u << STRAIT_PROGRAM_SCATTER,
                   ring = 1u << STRAIT_PROGRAM_ALL_GATHER | 1u << STRAIT_PROGRAM_REDUCE_SCATTER,
                   tree = 1u << STRAIT_PROGRAM_BROADCAST | 1u << STRAIT_PROGRAM_REDUCE;
    if (kinds & to_any || (kinds & ring && dst == strait_around(src + 1, n)) ||
        (kinds & tree && strait_tree_uses(n, src, dst)) ||
        (kinds >> STRAIT_PROGRAM_ALL_REDUCE & 1 && strait_all_reduce_uses(how, n, src, dst)))
        return true;
    for (int k = 1; k < n && kinds >> STRAIT_PROGRAM_BARRIER & 1; k <<= 1)
        if (dst == strait_around(src + k, n))
            return true;
    return false;
}

bool strait_replay_group_uses(const struct strait_program *g, int group, enum strait_all_reduce how,
                              int src, int dst)
{
    const int n = strait_program_group_n(g, group);
    int from = group == STRAIT_PROGRAM_WORLD ? src : -1,
        to = group == STRAIT_PROGRAM_WORLD ? dst : -1;
    if (g->groups[group].kinds == 0)
        return false;
    for (int i = 0; i < n && group != STRAIT_PROGRAM_WORLD; i++) {
        from = g->groups[group].ranks[i] == src ? i : from;
        to = g->groups[group].ranks[i] == dst ? i : to;
    }
    return from >= 0 && to >= 0 && from != to &&
           places_use(g->groups[group].kinds, how, n, from, to);
}
