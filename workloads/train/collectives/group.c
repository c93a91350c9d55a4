/* Groups of ranks, and how a tensor is cut into parts. */
#include <assert.h>

#include "collectives.h"

struct strait_group_scratch { /* NULL until asked for */
    struct strait_tensor **parts;
    struct strait_packet **packets;
    struct strait_task **tasks;
    double *sizes;
    int *others;
    bool *met;
};

static struct strait_group make_group(struct strait_rank *r, const int *ranks, int n, int channel)
{
    return (struct strait_group){.n = n,
                                 .me = -1,
                                 .channel = channel,
                                 .ranks = ranks,
                                 .scratch =
                                     strait_alloc(r, 1, sizeof(struct strait_group_scratch))};
}

struct strait_group strait_group_of(struct strait_rank *r, const int *ranks, int n, int channel)
{
    int *own = strait_alloc(r, (size_t)n, sizeof(*own));
    struct strait_group g = make_group(r, own, n, channel);
    for (int i = 0; i < n; i++) {
        own[i] = ranks[i];
        if (ranks[i] == strait_me(r))
            g.me = i;
    }
    assert(g.me >= 0);
    return g;
}

struct strait_group strait_world(struct strait_rank *r, int channel)
{
    struct strait_group g = make_group(r, strait_all_ranks(r), strait_n_ranks(r), channel);
    g.me = strait_me(r);
    return g;
}

struct strait_tensor **strait_group_parts(struct strait_rank *r, const struct strait_group *g)
{
    struct strait_group_scratch *s = g->scratch;
    if (!s->parts)
        s->parts = strait_alloc(r, (size_t)g->n, sizeof(struct strait_tensor *));
    return s->parts;
}

struct strait_packet **strait_group_packets(struct strait_rank *r, const struct strait_group *g)
{
    struct strait_group_scratch *s = g->scratch;
    if (!s->packets)
        s->packets = strait_alloc(r, (size_t)g->n, sizeof(struct strait_packet *));
    return s->packets;
}

struct strait_task **strait_group_tasks(struct strait_rank *r, const struct strait_group *g)
{
    struct strait_group_scratch *s = g->scratch;
    if (!s->tasks)
        s->tasks = strait_alloc(r, 2 * (size_t)g->n, sizeof(struct strait_task *));
    return s->tasks;
}

double *strait_group_sizes(struct strait_rank *r, const struct strait_group *g)
{
    struct strait_group_scratch *s = g->scratch;
    if (!s->sizes)
        s->sizes = strait_alloc(r, (size_t)g->n, sizeof(*s->sizes));
    return s->sizes;
}

int *strait_group_others(struct strait_rank *r, const struct strait_group *g)
{
    struct strait_group_scratch *s = g->scratch;
    if (!s->others)
        s->others = strait_alloc(r, (size_t)g->n, sizeof(*s->others));
    return s->others;
}

bool *strait_group_met(struct strait_rank *r, const struct strait_group *g)
{
    struct strait_group_scratch *s = g->scratch;
    if (!s->met && g->n == strait_n_ranks(r))
        s->met = strait_alloc(r, (size_t)g->n, sizeof(*s->met));
    return s->met;
}

size_t strait_part_start(size_t n_elems, int i, int n)
{
    const size_t part = (size_t)i, parts = (size_t)n;
    return n_elems / parts * part + n_elems % parts * part / parts;
}
