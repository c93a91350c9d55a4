/* Processor sharing of one link by flows with private caps. */
#include <assert.h>
#include <math.h>

#include "component.h"
#include "core/heap.h"

static struct strait_flow *of_finish(struct strait_heap_node *node)
{
    return node ? (struct strait_flow *)((char *)node - offsetof(struct strait_flow, finish))
                : NULL;
}

static struct strait_flow *of_by_cap(struct strait_heap_node *node)
{
    return node ? (struct strait_flow *)((char *)node - offsetof(struct strait_flow, by_cap))
                : NULL;
}

/* --- flows: a single one, as in rings, lies in no heap ---------------------------------------- */

static struct strait_flow *single(const struct strait_component *c, bool capped)
{
    return c->single->capped == capped ? c->single : NULL;
}

/* That ends first. */
static struct strait_flow *first_fair(const struct strait_component *c)
{
    return c->single ? single(c, false) : of_finish(strait_heap_first(&c->fair_finish));
}

static struct strait_flow *first_capped(const struct strait_component *c)
{
    return c->single ? single(c, true) : of_finish(strait_heap_first(&c->capped_finish));
}

/* Their keys, which are asked for at each event: no memory of flows is read for them. */
static double first_key(const struct strait_component *c, bool capped)
{
    if (c->single)
        return c->single->capped == capped ? c->single->finish.key : INFINITY;
    return strait_heap_first_key(capped ? &c->capped_finish : &c->fair_finish);
}

static struct strait_flow *fair_with_least_cap(const struct strait_component *c)
{
    return c->single ? single(c, false) : of_by_cap(strait_heap_first(&c->fair_by_cap));
}

static struct strait_flow *capped_with_most_cap(const struct strait_component *c)
{
    return c->single ? single(c, true) : of_by_cap(strait_heap_first(&c->capped_by_cap));
}

bool strait_hub_is_shared(const struct strait_component *c)
{
    return c->single ? !c->single->capped : c->fair_finish.n > 0;
}

static void must_push(struct strait_heap *h, struct strait_heap_node *node)
{
    const int rc = strait_heap_push(h, node);
    assert(rc == 0); /* room was reserved */
    (void)rc;
}

static void hold(struct strait_component *c, struct strait_flow *f)
{
    if (f == c->single)
        return;
    must_push(f->capped ? &c->capped_finish : &c->fair_finish, &f->finish);
    if (f->capped || c->is_ordered)
        must_push(f->capped ? &c->capped_by_cap : &c->fair_by_cap, &f->by_cap);
}

static void let_go(struct strait_component *c, struct strait_flow *f)
{
    if (f == c->single)
        return;
    strait_heap_remove(f->capped ? &c->capped_finish : &c->fair_finish, &f->finish);
    if (f->capped || c->is_ordered)
        strait_heap_remove(f->capped ? &c->capped_by_cap : &c->fair_by_cap, &f->by_cap);
}

/* Of fair flows, of which none may reach its cap before most of them have ended. */
static void order_by_cap(struct strait_component *c)
{
    size_t at = 0;
    c->is_ordered = true;
    for (struct strait_heap_node *node; (node = strait_heap_next(&c->fair_finish, &at));)
        must_push(&c->fair_by_cap, &of_finish(node)->by_cap);
}

static void expect_fair(struct strait_component *c)
{
    c->is_ordered = false;
    c->least_cap = INFINITY;
}

/* ---------------------------------------------------------------------------------------------- */

void strait_hub_begin(struct strait_component *c, int link)
{
    c->hub = link;
    c->single = NULL;
    c->level = INFINITY;
    c->served_bytes = 0;
    c->capped_sum = c->fair_weight = 0;
    expect_fair(c);
}

static void put_fair(struct strait_component *c, struct strait_flow *f, double left_bytes)
{
    f->capped = false;
    f->finish.key = c->served_bytes + left_bytes / f->weight;
    f->by_cap.key = f->cap / f->weight;
    c->least_cap = strait_least(c->least_cap, f->by_cap.key);
    c->fair_weight += f->weight;
    hold(c, f);
}

static void put_capped(struct strait_component *c, struct strait_flow *f, double left_bytes)
{
    f->capped = true;
    f->finish.key = c->last_s + left_bytes / f->cap;
    f->by_cap.key = -f->cap / f->weight;
    c->capped_sum += f->cap;
    hold(c, f);
}

/* Keeps every capped flow's cap at or below every other flow's cap. */
void strait_hub_add(struct strait_component *c, struct strait_flow *flow, double left_bytes,
                    double cap)
{
    struct strait_flow *before = c->single;
    const struct strait_flow *greatest = capped_with_most_cap(c);
    if (before) {
        c->single = NULL;
        hold(c, before);
    } else if (c->fair_finish.n + c->capped_finish.n == 0) {
        c->single = flow;
    }
    flow->cap = cap;
    if (greatest && cap / flow->weight <= greatest->cap / greatest->weight)
        put_capped(c, flow, left_bytes);
    else
        put_fair(c, flow, left_bytes);
}

static double take_out(struct strait_component *c, struct strait_flow *flow)
{
    double left_bytes;
    let_go(c, flow);
    if (flow->capped) {
        left_bytes = (flow->finish.key - c->last_s) * flow->cap;
        c->capped_sum = c->capped_by_cap.n > 0 ? c->capped_sum - flow->cap : 0;
    } else {
        left_bytes = (flow->finish.key - c->served_bytes) * flow->weight;
        c->fair_weight = c->fair_finish.n > 0 ? c->fair_weight - flow->weight : 0;
        if (c->fair_finish.n == 0)
            expect_fair(c);
    }
    return strait_most(left_bytes, 0);
}

double strait_hub_remove(struct strait_component *c, struct strait_flow *flow)
{
    const double left_bytes = take_out(c, flow);
    if (flow == c->single)
        c->single = NULL;
    return left_bytes;
}

void strait_hub_advance(struct strait_component *c, double now_s)
{
    if (strait_hub_is_shared(c))
        c->served_bytes += c->level * (now_s - c->last_s);
    c->last_s = now_s;
}

static double level_of(const struct strait_component *c, double bytes_per_s)
{
    const double free = (double)(bytes_per_s - c->capped_sum);
    if (strait_hub_is_shared(c))
        return free / (double)c->fair_weight;
    return free >= 0 ? INFINITY : 0;
}

bool strait_hub_lower(struct strait_component *c, double level)
{
    struct strait_flow *f = capped_with_most_cap(c);
    if (!f || !(f->cap / f->weight > level))
        return false;
    put_fair(c, f, take_out(c, f));
    return true;
}

bool strait_hub_raise(struct strait_component *c, double level)
{
    if (c->least_cap > level)
        return false;
    if (!c->single && !c->is_ordered)
        order_by_cap(c);
    struct strait_flow *f = fair_with_least_cap(c);
    if (!f || !(f->cap / f->weight <= level))
        return false;
    put_capped(c, f, take_out(c, f));
    return true;
}

/* Find the level at which the link is full when flows with smaller caps get their caps. */
void strait_hub_settle(struct strait_component *c, double bytes_per_s)
{
    bool lowered = false;
    c->level = level_of(c, bytes_per_s);
    for (; strait_hub_lower(c, c->level); lowered = true)
        c->level = level_of(c, bytes_per_s);
    while (!lowered && strait_hub_raise(c, c->level))
        c->level = level_of(c, bytes_per_s);
}

double strait_hub_next_s(const struct strait_component *c)
{
    const double fair_bytes = first_key(c, false);
    const double fair_s = strait_hub_is_shared(c)
                              ? c->last_s + strait_most(fair_bytes - c->served_bytes, 0) / c->level
                              : INFINITY;
    return strait_least(fair_s, first_key(c, true));
}

struct strait_flow *strait_hub_first_ended(const struct strait_component *c, double slack_s)
{
    if (strait_hub_is_shared(c) && first_key(c, false) - c->served_bytes <= c->level * slack_s)
        return first_fair(c);
    if (first_key(c, true) <= c->last_s + slack_s)
        return first_capped(c);
    return NULL;
}
