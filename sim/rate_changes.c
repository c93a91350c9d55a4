#include "rate_changes.h"

#include <math.h>
#include <stdlib.h>

struct strait_rate_change {
    struct strait_heap_node node; /* ties: links by number */
};

double strait_rate_changes_at(const struct strait_network *network, int link, double t_s)
{
    struct strait_link l = *strait_network_link(network, link);
    l.rate_bits_per_s = strait_link_bits_per_s(&l, t_s);
    return strait_goodput_bytes_per_s(network, &l);
}

int strait_rate_changes_init(struct strait_rate_changes *c, const struct strait_network *network)
{
    const int n_links = strait_network_n_links(network);
    size_t n = 0;
    *c = (struct strait_rate_changes){.network = network};
    const int n_scheduled = strait_network_n_scheduled(network);
    if (n_scheduled == 0)
        return 0;
    c->links = calloc((size_t)n_scheduled, sizeof(*c->links));
    for (int i = 0; i < n_links && c->links; i++) {
        const struct strait_schedule *s = strait_network_link(network, i)->schedule;
        const double next_s = s ? strait_schedule_next_s(s, 0) : INFINITY;
        if (isinf(next_s))
            continue;
        c->links[n].node = (struct strait_heap_node){.key = next_s, .tie = i};
        if (strait_heap_push(&c->heap, &c->links[n++].node) != 0)
            return -1;
    }
    return c->links ? 0 : -1;
}

void strait_rate_changes_release(struct strait_rate_changes *c)
{
    strait_heap_release(&c->heap);
    free(c->links);
}

double strait_rate_changes_next_s(const struct strait_rate_changes *c)
{
    return c->heap.n > 0 ? strait_heap_first(&c->heap)->key : INFINITY;
}

int strait_rate_changes_take(struct strait_rate_changes *c, double *bytes_per_s, double now_s)
{
    struct strait_heap_node *node = strait_heap_first(&c->heap);
    if (!node || node->key > now_s)
        return -1;
    const int link = (int)node->tie;
    const double at_s = node->key;
    const double next_s =
        strait_schedule_next_s(strait_network_link(c->network, link)->schedule, at_s);
    *bytes_per_s = strait_rate_changes_at(c->network, link, at_s);
    if (isinf(next_s))
        strait_heap_remove(&c->heap, node);
    else
        strait_heap_rekey(&c->heap, node, next_s);
    return link;
}
