/* Groups of ranks, and how a tensor is cut into parts. */
#include <assert.h>

#include "collectives.h"

static struct strait_group make_group(struct strait_rank *r, int n, int channel)
{
    return (struct strait_group){
        .n = n,
        .me = -1,
        .channel = channel,
        .ranks = strait_alloc(r, (size_t)n, sizeof(int)),
        .parts = strait_alloc(r, (size_t)n, sizeof(struct strait_tensor *)),
        .packets = strait_alloc(r, (size_t)n, sizeof(struct strait_packet *)),
        .tasks = strait_alloc(r, 2 * (size_t)n, sizeof(struct strait_task *)),
        .sizes = strait_alloc(r, (size_t)n, sizeof(double)),
        .others = strait_alloc(r, (size_t)n, sizeof(int))};
}

struct strait_group strait_group_of(struct strait_rank *r, const int *ranks, int n, int channel)
{
    struct strait_group g = make_group(r, n, channel);
    for (int i = 0; i < n; i++) {
        g.ranks[i] = ranks[i];
        if (ranks[i] == strait_me(r))
            g.me = i;
    }
    assert(g.me >= 0);
    return g;
}

struct strait_group strait_world(struct strait_rank *r, int channel)
{
    struct strait_group g = make_group(r, strait_n_ranks(r), channel);
    g.me = strait_me(r);
    for (int i = 0; i < g.n; i++)
        g.ranks[i] = i;
    return g;
}

size_t strait_part_start(size_t n_elems, int i, int n)
{
    const size_t part = (size_t)i, parts = (size_t)n;
    return n_elems / parts * part + n_elems % parts * part / parts;
}
