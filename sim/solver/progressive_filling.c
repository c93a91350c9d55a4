/* Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): the link with the
 * least capacity for each unit of weight of its open flows fixes the rates of these flows; repeat
 * without them. */
#include <math.h>

#include "component.h"
#include "core/heap.h"

void strait_progressive_filling_advance(struct strait_component *c, double now_s)
{
    for (size_t i = 0; i < c->n; i++)
        c->flows[i]->left_bytes =
            strait_most(c->flows[i]->left_bytes - c->flows[i]->rate * (now_s - c->last_s), 0);
    c->last_s = now_s;
}

static double next_s(const struct strait_component *c)
{
    double next_s = INFINITY;
    for (size_t i = 0; i < c->n; i++)
        next_s = strait_least(next_s, c->last_s + c->flows[i]->left_bytes / c->flows[i]->rate);
    return next_s;
}

struct strait_flow *strait_progressive_filling_first_ended(const struct strait_component *c,
                                                           double slack_s)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->flows[i]->left_bytes <= c->flows[i]->rate * slack_s)
            return c->flows[i];
    return NULL;
}

/* List the flows of every link that the component touches. Returns the number of links. */
static size_t list_flows(struct strait_fairshare *fs, const struct strait_component *c)
{
    size_t n_touched = 0, place = 0;
    for (size_t i = 0; i < c->n; i++)
        for (int hop = 0; hop < c->flows[i]->n_links; hop++) {
            struct strait_filling *l = &fs->fillings[c->flows[i]->link[hop]];
            if (l->n_open++ == 0) {
                fs->touched[n_touched++] = c->flows[i]->link[hop];
                l->open_weight = 0;
            }
            l->open_weight += c->flows[i]->weight;
        }
    for (size_t i = 0; i < n_touched; i++) {
        struct strait_filling *l = &fs->fillings[fs->touched[i]];
        l->first = l->end = place;
        place += l->n_open;
        l->free = fs->links[fs->touched[i]].bytes_per_s;
        l->reached = false;
    }
    for (size_t i = 0; i < c->n; i++)
        for (int hop = 0; hop < c->flows[i]->n_links; hop++)
            fs->of_link[fs->fillings[c->flows[i]->link[hop]].end++] = c->flows[i];
    return n_touched;
}

static struct strait_filling *of_node(struct strait_heap_node *node)
{
    return (struct strait_filling *)((char *)node - offsetof(struct strait_filling, node));
}

static void fix(struct strait_fairshare *fs, struct strait_flow *flow, double rate)
{
    flow->rate = rate;
    for (int hop = 0; hop < flow->n_links; hop++) {
        struct strait_filling *l = &fs->fillings[flow->link[hop]];
        l->free -= rate;
        l->n_open--;
        l->open_weight -= flow->weight;
        if (!strait_heap_holds(&l->node))
            continue;
        if (l->n_open == 0)
            strait_heap_remove(&fs->filling, &l->node);
        else
            strait_heap_rekey(&fs->filling, &l->node, l->free / l->open_weight);
    }
}

static void fill(struct strait_fairshare *fs, const struct strait_component *c, size_t n_touched)
{
    for (size_t i = 0; i < c->n; i++)
        c->flows[i]->rate = 0;
    for (size_t i = 0; i < n_touched; i++) {
        struct strait_filling *l = &fs->fillings[fs->touched[i]];
        l->node.key = l->free / l->open_weight;
        l->node.tie = fs->touched[i];
        strait_heap_push(&fs->filling, &l->node); /* room was reserved at the start */
    }
    for (struct strait_heap_node *node; (node = strait_heap_first(&fs->filling));) {
        const struct strait_filling *l = of_node(node);
        const double level = node->key;
        for (size_t i = l->first; i < l->end; i++)
            if (fs->of_link[i]->rate <= 0)
                fix(fs, fs->of_link[i], level * fs->of_link[i]->weight);
    }
}

/* Move the flows of c that are connected with `seed` to fs->order[first] on. Returns the end. */
static size_t spread(struct strait_fairshare *fs, const struct strait_component *c,
                     struct strait_flow *seed, size_t first)
{
    size_t end = first;
    fs->order[end++] = seed;
    seed->component = NULL; /* seen */
    for (size_t i = first; i < end; i++)
        for (int hop = 0; hop < fs->order[i]->n_links; hop++) {
            struct strait_filling *l = &fs->fillings[fs->order[i]->link[hop]];
            for (size_t j = l->first; j < l->end && !l->reached; j++)
                if (fs->of_link[j]->component == c) {
                    fs->of_link[j]->component = NULL;
                    fs->order[end++] = fs->of_link[j];
                }
            l->reached = true;
        }
    return end;
}

/* The link that all n flows share, if they share no other; -1: none. */
static int hub_of(const struct strait_fairshare *fs, struct strait_flow *const *flows, size_t n)
{
    for (int hop = 0; hop < flows[0]->n_links; hop++) {
        const int link = flows[0]->link[hop];
        bool all = fs->links[link].n_flows == n;
        for (size_t i = 0; i < n && all; i++)
            for (int other = 0; other < flows[i]->n_links && all; other++)
                all =
                    flows[i]->link[other] == link || fs->links[flows[i]->link[other]].n_flows == 1;
        if (all)
            return link;
    }
    return -1;
}

/* Make a component of the n flows. */
static int found(struct strait_fairshare *fs, struct strait_flow *const *flows, size_t n,
                 double last_s)
{
    struct strait_component *c = strait_component_new(fs, last_s);
    if (!c || strait_component_reserve(c, n) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        strait_component_append(c, flows[i]);
        for (int hop = 0; hop < flows[i]->n_links; hop++)
            fs->links[flows[i]->link[hop]].component = c;
    }
    const int hub = hub_of(fs, flows, n);
    if (hub >= 0) {
        strait_hub_begin(c, hub);
        for (size_t i = 0; i < n; i++)
            strait_hub_add(c, flows[i], flows[i]->left_bytes, strait_flow_cap(fs, flows[i], hub));
        strait_hub_settle(c, fs->links[hub].bytes_per_s);
    }
    return strait_component_schedule(fs, c, hub >= 0 ? strait_hub_next_s(c) : next_s(c));
}

int strait_progressive_filling_settle(struct strait_fairshare *fs, struct strait_component *c)
{
    const size_t n = c->n;
    fill(fs, c, list_flows(fs, c));
    size_t end = spread(fs, c, c->flows[0], 0);
    if (end == n && hub_of(fs, fs->order, n) < 0) {
        for (size_t i = 0; i < n; i++)
            c->flows[i]->component = c;
        if (strait_classes_begin(fs, c) != 0)
            return -1;
        return strait_component_schedule(fs, c, next_s(c));
    }
    for (size_t first = 0, i = 0;;) {
        if (found(fs, &fs->order[first], end - first, c->last_s) != 0)
            return -1;
        while (i < n && c->flows[i]->component != c)
            i++;
        if (i == n)
            break;
        first = end;
        end = spread(fs, c, c->flows[i], first);
    }
    c->n = 0;
    return 0;
}
