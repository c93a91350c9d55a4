/* Components of the fair-share solver, used by both ways to share a component's links. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "component.h"
#include "core/heap.h"

double strait_fairshare_slack_s(double now_s)
{
    const double min_s = 1e-12;
    if (now_s < 2048) /* four units in the last place are 2^-40 s at most, which is less */
        return min_s;
    return strait_most(min_s, 4 * (nextafter(now_s, INFINITY) - now_s));
}

static struct strait_component *make(struct strait_fairshare *fs)
{
    if (fs->n_all == fs->cap_all) {
        const size_t cap = fs->cap_all > 0 ? 2 * fs->cap_all : 16;
        struct strait_component **all = realloc(fs->all, cap * sizeof(*all));
        if (!all)
            return NULL;
        fs->all = all;
        fs->cap_all = cap;
    }
    struct strait_component *c = calloc(1, sizeof(*c));
    if (c)
        fs->all[fs->n_all++] = c;
    return c;
}

struct strait_component *strait_component_new(struct strait_fairshare *fs, double last_s)
{
    struct strait_component *c = fs->spare;
    if (c)
        fs->spare = c->next;
    else if (!(c = make(fs)))
        return NULL;
    assert(c->n == 0 && !strait_heap_holds(&c->node));
    c->hub = -1;
    c->last_s = last_s;
    c->dirty = false;
    c->undivided = 0;
    return c;
}

int strait_component_reserve(struct strait_component *c, size_t n)
{
    if (n <= c->cap_flows)
        return 0;
    const size_t cap = n > 2 * c->cap_flows ? n : 2 * c->cap_flows;
    struct strait_flow **flows = realloc(c->flows, cap * sizeof(*flows));
    if (!flows)
        return -1;
    c->flows = flows;
    if (strait_heap_reserve(&c->fair_finish, cap) != 0 ||
        strait_heap_reserve(&c->capped_finish, cap) != 0 ||
        strait_heap_reserve(&c->fair_by_cap, cap) != 0 ||
        strait_heap_reserve(&c->capped_by_cap, cap) != 0)
        return -1;
    c->cap_flows = cap;
    return 0;
}

void strait_component_append(struct strait_component *c, struct strait_flow *flow)
{
    flow->component = c;
    flow->place = c->n;
    c->flows[c->n++] = flow;
}

int strait_component_schedule(struct strait_fairshare *fs, struct strait_component *c,
                              double next_s)
{
    if (strait_heap_holds(&c->node)) {
        strait_heap_rekey(&fs->by_next, &c->node, next_s);
        return 0;
    }
    c->node.key = next_s;
    c->node.tie = c->flows[0]->finish.tie;
    return strait_heap_push(&fs->by_next, &c->node);
}

double strait_flow_cap(const struct strait_fairshare *fs, const struct strait_flow *flow, int hub)
{
    double cap = INFINITY;
    for (int i = 0; i < flow->n_links; i++)
        if (flow->link[i] != hub)
            cap = strait_least(cap, fs->links[flow->link[i]].bytes_per_s);
    return cap;
}
