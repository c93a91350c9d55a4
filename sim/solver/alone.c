/* Flows that have all of their links to themselves, as most have in rings: one gets what its
 * narrowest link lets through, and needs no component until another flow comes. It ends at the same
 * moment as by itself in a component, to the last digit. */
#include <math.h>

#include "component.h"

void strait_alone_begin(struct strait_fairshare *fs, struct strait_flow *flow)
{
    double least_bytes_per_s = INFINITY;
    for (int i = 0; i < flow->n_links; i++) {
        struct strait_fair_link *l = &fs->links[flow->link[i]];
        l->n_flows = 1;
        l->flows = (uintptr_t)flow;
        least_bytes_per_s = strait_least(least_bytes_per_s, l->bytes_per_s);
    }
    flow->component = NULL;
    flow->started_s = fs->now_s;
    flow->finish.key = fs->now_s + flow->left_bytes / least_bytes_per_s;
    flow->next_done = NULL;
    *(fs->new_alone ? &fs->last_alone->next_done : &fs->new_alone) = flow;
    fs->last_alone = flow;
}

int strait_alone_settle(struct strait_fairshare *fs)
{
    int failed = 0;
    for (struct strait_flow *f = fs->new_alone; f && !failed; f = f->next_done)
        if (!f->component)
            failed = strait_heap_push(&fs->alone, &f->finish);
    fs->new_alone = NULL;
    return failed;
}

struct strait_component *strait_alone_leave(struct strait_fairshare *fs, struct strait_flow *flow)
{
    struct strait_component *c = strait_component_new(fs, flow->started_s);
    if (!c || strait_component_reserve(c, 2) != 0)
        return NULL;
    const bool settled = strait_heap_holds(&flow->finish);
    if (settled)
        strait_heap_remove(&fs->alone, &flow->finish);
    for (int i = 0; i < flow->n_links; i++)
        fs->links[flow->link[i]].component = c;
    strait_component_append(c, flow);
    strait_hub_begin(c, flow->link[0]);
    strait_hub_add(c, flow, flow->left_bytes, strait_flow_cap(fs, flow, c->hub));
    if (!settled)
        return c;
    strait_hub_settle(c, fs->links[c->hub].bytes_per_s);
    return strait_component_schedule(fs, c, strait_hub_next_s(c)) == 0 ? c : NULL;
}

struct strait_flow *strait_alone_first(const struct strait_fairshare *fs)
{
    struct strait_heap_node *node = strait_heap_first(&fs->alone);
    return node ? (struct strait_flow *)((char *)node - offsetof(struct strait_flow, finish))
                : NULL;
}

void strait_alone_end(struct strait_fairshare *fs, struct strait_flow *flow)
{
    strait_heap_remove(&fs->alone, &flow->finish);
    for (int i = 0; i < flow->n_links; i++) {
        fs->links[flow->link[i]].n_flows = 0;
        fs->links[flow->link[i]].flows = 0;
    }
}
