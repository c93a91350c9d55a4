#include "fairshare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"

struct strait_fairshare *strait_fairshare_new(int n_links, const double *bytes_per_s)
{
    struct strait_fairshare *fs = calloc(1, sizeof(*fs));
    if (!fs)
        return NULL;
    fs->n_links = n_links;
    fs->links = calloc((size_t)n_links, sizeof(*fs->links));
    fs->fillings = calloc((size_t)n_links, sizeof(*fs->fillings));
    fs->touched = calloc((size_t)n_links, sizeof(*fs->touched));
    if (!fs->links || !fs->fillings || !fs->touched ||
        strait_heap_reserve(&fs->filling, (size_t)n_links) != 0) {
        strait_fairshare_free(fs);
        return NULL;
    }
    for (int i = 0; i < n_links; i++)
        fs->links[i].bytes_per_s = bytes_per_s[i];
    return fs;
}

void strait_fairshare_free(struct strait_fairshare *fs)
{
    if (!fs)
        return;
    for (size_t i = 0; i < fs->n_all; i++) {
        struct strait_component *c = fs->all[i];
        strait_heap_release(&c->fair_finish);
        strait_heap_release(&c->capped_finish);
        strait_heap_release(&c->fair_by_cap);
        strait_heap_release(&c->capped_by_cap);
        free(c->classes);
        free(c->flows);
        free(c);
    }
    strait_heap_release(&fs->by_next);
    strait_heap_release(&fs->alone);
    strait_heap_release(&fs->filling);
    free(fs->all);
    free(fs->of_link);
    free(fs->order);
    free(fs->touched);
    free(fs->fillings);
    free(fs->links);
    free(fs);
}

static void advance(struct strait_component *c, double now_s)
{
    if (now_s <= c->last_s)
        return;
    assert(!c->dirty); /* the rates are valid for this interval */
    if (c->hub >= 0)
        strait_hub_advance(c, now_s);
    else if (c->n_classes > 0)
        strait_classes_advance(c, now_s);
    else
        strait_progressive_filling_advance(c, now_s);
}

static void make_dirty(struct strait_fairshare *fs, struct strait_component *c)
{
    if (c->dirty)
        return;
    c->dirty = true;
    c->next = NULL;
    *(fs->dirty ? &fs->last_dirty->next : &fs->dirty) = c;
    fs->last_dirty = c;
}

/* The flows now share more than the hub: track the bytes of each flow. */
static void leave_hub(struct strait_fairshare *fs, struct strait_component *c)
{
    if (c->n_classes > 0)
        strait_classes_leave(fs, c);
    for (size_t i = 0; i < c->n && c->hub >= 0; i++)
        c->flows[i]->left_bytes = strait_hub_remove(c, c->flows[i]);
    c->hub = -1;
}

static void move_hub(struct strait_fairshare *fs, struct strait_component *c, int link)
{
    struct strait_flow *f = c->flows[0];
    const double left_bytes = strait_hub_remove(c, f);
    strait_hub_begin(c, link);
    strait_hub_add(c, f, left_bytes, strait_flow_cap(fs, f, link));
}

/* The links belong to different components: move all flows to the larger one. */
static struct strait_component *merge(struct strait_fairshare *fs, struct strait_component *a,
                                      struct strait_component *b)
{
    struct strait_component *to = a->n >= b->n ? a : b, *from = to == a ? b : a;
    if (strait_component_reserve(to, a->n + b->n + 1) != 0)
        return NULL;
    leave_hub(fs, to);
    leave_hub(fs, from);
    for (size_t i = 0; i < from->n; i++) {
        struct strait_flow *f = from->flows[i];
        for (int hop = 0; hop < f->n_links; hop++)
            fs->links[f->link[hop]].component = to;
        strait_component_append(to, f);
    }
    from->n = 0;
    make_dirty(fs, from);
    return to;
}

/* The only flow of a link. */
static struct strait_flow *single(const struct strait_fair_link *l)
{
    return (struct strait_flow *)l->flows;
}

/* Whose link gets another flow, or another capacity. */
static struct strait_component *of_alone(struct strait_fairshare *fs, struct strait_flow *flow)
{
    struct strait_component *c = strait_alone_leave(fs, flow);
    if (c && !strait_heap_holds(&c->node))
        make_dirty(fs, c);
    return c;
}

/* The component of a flow over these links, ready to add it. */
static struct strait_component *component_for(struct strait_fairshare *fs, const int *links,
                                              int n_links, double now_s)
{
    struct strait_component *c = NULL;
    int n_busy = 0, busy = -1;
    bool merged = false;
    for (int i = 0; i < n_links; i++) {
        struct strait_component *of = fs->links[links[i]].component;
        if (fs->links[links[i]].n_flows == 0)
            continue;
        if (!of && !(of = of_alone(fs, single(&fs->links[links[i]]))))
            return NULL;
        n_busy++;
        busy = links[i];
        if (of == c)
            continue;
        advance(of, now_s);
        merged = c != NULL;
        c = c ? merge(fs, c, of) : of;
        if (!c)
            return NULL;
    }
    if (!c) {
        c = strait_component_new(fs, now_s);
        if (c)
            strait_hub_begin(c, links[0]);
        return c;
    }
    if (merged || c->n_classes > 0)
        return c;
    if (n_busy > 1)
        leave_hub(fs, c);
    else if (c->hub >= 0 && c->hub != busy && c->n == 1)
        move_hub(fs, c, busy);
    else if (c->hub != busy)
        leave_hub(fs, c);
    return c;
}

static int reserve_scratch(struct strait_fairshare *fs)
{
    if (fs->n_flows < fs->cap_scratch)
        return 0;
    const size_t cap = fs->cap_scratch > 0 ? 2 * fs->cap_scratch : 64;
    free(fs->of_link); /* nothing in them lasts, and most are never touched */
    free(fs->order);
    fs->of_link = malloc(STRAIT_FLOW_MAX_LINKS * cap * sizeof(struct strait_flow *));
    fs->order = malloc(cap * sizeof(struct strait_flow *));
    fs->cap_scratch = fs->of_link && fs->order ? cap : 0;
    return fs->cap_scratch > 0 ? 0 : -1;
}

/* A link of a divided component has begun or ceased to be shared, and this flow stays on it. */
static int regroup(struct strait_fairshare *fs, struct strait_flow *flow)
{
    return strait_classes_join(fs, flow->component, flow, strait_classes_part(flow));
}

/* How many of the links have flows, and the last of these. */
static int count_busy(int *busy, const struct strait_fairshare *fs, const int *links, int n_links)
{
    int n_busy = 0;
    *busy = -1;
    for (int i = 0; i < n_links; i++)
        if (fs->links[links[i]].n_flows > 0) {
            n_busy++;
            *busy = links[i];
        }
    return n_busy;
}

int strait_fairshare_start(struct strait_fairshare *fs, struct strait_flow *flow, const int *links,
                           int n_links, double bytes, double now_s)
{
    assert(n_links >= 2 && n_links <= STRAIT_FLOW_MAX_LINKS && bytes > 0 && now_s >= fs->now_s);
    fs->now_s = now_s;
    if (reserve_scratch(fs) != 0)
        return -1;
    memcpy(flow->link, links, (size_t)n_links * sizeof(*links));
    flow->n_links = n_links;
    if (!(flow->weight > 0))
        flow->weight = 1;
    flow->left_bytes = bytes;
    flow->rate = 0;
    flow->finish.tie = flow->by_cap.tie = fs->n_started++;
    fs->n_flows++;
    int busy;
    const int n_busy = count_busy(&busy, fs, links, n_links);
    if (n_busy == 0 && flow->weight == 1) { /* a level per unit of weight would be rounded */
        strait_alone_begin(fs, flow);
        return 0;
    }
    struct strait_component *c = n_busy == 1 ? fs->links[busy].component : NULL;
    if (c && c->hub == busy) /* as most in a star: one hub gets another flow */
        advance(c, now_s);
    else
        c = component_for(fs, links, n_links, now_s);
    if (!c || strait_component_reserve(c, c->n + 1) != 0)
        return -1;
    strait_component_append(c, flow);
    for (int i = 0; i < n_links; i++) {
        fs->links[links[i]].component = c;
        fs->links[links[i]].n_flows++;
    }
    int failed = 0;
    for (int i = 0; i < n_links; i++) {
        struct strait_fair_link *l = &fs->links[links[i]];
        if (l->n_flows == 2 && c->n_classes > 0)
            failed |= regroup(fs, single(l));
        l->flows ^= (uintptr_t)flow;
    }
    if (c->hub >= 0)
        strait_hub_add(c, flow, bytes, strait_flow_cap(fs, flow, c->hub));
    else if (c->n_classes > 0)
        failed |= strait_classes_join(fs, c, flow, bytes);
    make_dirty(fs, c);
    return failed;
}

static bool uses(const struct strait_flow *flow, int link)
{
    for (int i = 0; i < flow->n_links; i++)
        if (flow->link[i] == link)
            return true;
    return false;
}

/* The caps of a hub's flows are the capacities of their private links. */
void strait_fairshare_change(struct strait_fairshare *fs, int link, double bytes_per_s,
                             double now_s)
{
    struct strait_component *c = fs->links[link].component;
    assert(now_s >= fs->now_s && bytes_per_s > 0);
    fs->now_s = now_s;
    if (!c && fs->links[link].n_flows > 0) {
        c = of_alone(fs, single(&fs->links[link]));
        fs->no_memory |= !c;
    }
    if (c)
        advance(c, now_s);
    if (c && c->n_classes > 0)
        strait_classes_leave(fs, c);
    fs->links[link].bytes_per_s = bytes_per_s;
    for (size_t i = 0; c && c->hub >= 0 && c->hub != link && i < c->n; i++)
        if (uses(c->flows[i], link)) {
            const double left_bytes = strait_hub_remove(c, c->flows[i]);
            strait_hub_add(c, c->flows[i], left_bytes, strait_flow_cap(fs, c->flows[i], c->hub));
        }
    if (c)
        make_dirty(fs, c);
}

static int settle(struct strait_fairshare *fs, struct strait_component *c)
{
    c->dirty = false;
    if (c->n > 0 && c->hub >= 0) {
        strait_hub_settle(c, fs->links[c->hub].bytes_per_s);
        return strait_component_schedule(fs, c, strait_hub_next_s(c));
    }
    if (c->n_classes > 0 && !strait_classes_pay(c))
        strait_classes_leave(fs, c);
    if (c->n > 0 && c->n_classes == 0 && strait_progressive_filling_settle(fs, c) != 0)
        return -1;
    if (c->n_classes > 0 && strait_classes_settle(fs, c) == 0)
        return strait_component_schedule(fs, c, strait_classes_next_s(c));
    if (c->n_classes > 0) {
        strait_classes_leave(fs, c);
        c->undivided = c->n;
        return strait_progressive_filling_settle(fs, c);
    }
    if (c->n == 0) {
        if (strait_heap_holds(&c->node))
            strait_heap_remove(&fs->by_next, &c->node);
        c->next = fs->spare;
        fs->spare = c;
    }
    return 0;
}

double strait_fairshare_next_s(struct strait_fairshare *fs)
{
    fs->looked_s = NAN;
    if (fs->no_memory || strait_alone_settle(fs) != 0)
        return NAN;
    while (fs->dirty) {
        struct strait_component *c = fs->dirty;
        fs->dirty = c->next;
        if (settle(fs, c) != 0)
            return NAN;
    }
    const struct strait_heap_node *node = strait_heap_first(&fs->by_next);
    const struct strait_flow *alone = strait_alone_first(fs);
    const double next_s = node ? node->key : INFINITY;
    return alone ? strait_least(alone->finish.key, next_s) : next_s;
}

static void remove_flow(struct strait_fairshare *fs, struct strait_flow *flow)
{
    struct strait_component *c = flow->component;
    if (c->hub >= 0)
        strait_hub_remove(c, flow);
    else if (c->n_classes > 0)
        strait_classes_part(flow);
    c->flows[flow->place] = c->flows[--c->n];
    c->flows[flow->place]->place = flow->place;
    for (int i = 0; i < flow->n_links; i++) {
        struct strait_fair_link *l = &fs->links[flow->link[i]];
        l->flows ^= (uintptr_t)flow;
        if (--l->n_flows == 0)
            l->component = NULL;
    }
    for (int i = 0; i < flow->n_links && c->n_classes > 0; i++)
        if (fs->links[flow->link[i]].n_flows == 1)
            fs->no_memory |= regroup(fs, single(&fs->links[flow->link[i]])) != 0;
    flow->component = NULL;
    fs->n_flows--;
}

static struct strait_flow *first_ended(const struct strait_component *c, double slack_s)
{
    if (c->n == 0)
        return NULL;
    return c->hub >= 0        ? strait_hub_first_ended(c, slack_s)
           : c->n_classes > 0 ? strait_classes_first_ended(c, slack_s)
                              : strait_progressive_filling_first_ended(c, slack_s);
}

static void add_done(struct strait_fairshare *fs, struct strait_flow *f)
{
    f->next_done = NULL;
    *(fs->done_first ? &fs->done_last->next_done : &fs->done_first) = f;
    fs->done_last = f;
}

/* Move the flows of a due component that end now to the list of ended flows. At least one must end:
 * if rounding says otherwise, the first. */
static void collect(struct strait_fairshare *fs, struct strait_component *c, double now_s)
{
    advance(c, now_s);
    bool any = false;
    for (double slack_s = strait_fairshare_slack_s(now_s); c->n > 0 && !any; slack_s *= 2)
        for (struct strait_flow *f; (f = first_ended(c, slack_s)); any = true) {
            remove_flow(fs, f);
            add_done(fs, f);
        }
    make_dirty(fs, c);
}

/* What ends by until_s in order of its end: of what is alone and of components the first. False:
 * there is none. */
static bool collect_first(struct strait_fairshare *fs, double until_s)
{
    struct strait_flow *alone = strait_alone_first(fs);
    struct strait_heap_node *node = strait_heap_first(&fs->by_next);
    if (alone && alone->finish.key <= until_s &&
        (!node || alone->finish.key < node->key ||
         (alone->finish.key == node->key && alone->finish.tie < node->tie))) {
        strait_alone_end(fs, alone);
        fs->n_flows--;
        add_done(fs, alone);
        return true;
    }
    if (!node || node->key > until_s)
        return false;
    strait_heap_remove(&fs->by_next, node);
    collect(fs, (struct strait_component *)((char *)node - offsetof(struct strait_component, node)),
            fs->now_s);
    return true;
}

struct strait_flow *strait_fairshare_ended(struct strait_fairshare *fs, double now_s)
{
    assert(now_s >= fs->now_s);
    fs->now_s = now_s;
    if (!fs->done_first && fs->looked_s != now_s)
        for (const double until_s = now_s + strait_fairshare_slack_s(now_s);
             collect_first(fs, until_s);)
            continue;
    fs->looked_s = now_s;
    struct strait_flow *f = fs->done_first;
    if (f)
        fs->done_first = f->next_done;
    return f;
}
