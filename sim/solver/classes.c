/* Flows over the same shared links are a class: all of them get the class's level, or what their
 * private links let through. As in a star (hub.c) a class keeps how much it has given to each unit
 * of weight, so that an event costs O(log n) for its flow and O(k log k) for the k classes, among
 * which progressive filling shares the links: of 10,000 clients in 20 sites that send to a server
 * there are 20. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "core/heap.h"

/* A component is divided above so many flows, if that makes few enough classes, and is put together
 * again below, or when a class has hardly more than one flow. */
enum { ENTER_FLOWS = 32, LEAVE_FLOWS = 16, ENTER_EACH = 4, LEAVE_EACH = 2 };
/* What a rounded level may be below a cap that it had reached. */
static const double ROUNDING = 1e-12;

static bool is_shared(const struct strait_fairshare *fs, int link)
{
    return fs->links[link].n_flows > 1;
}

static double private_cap(const struct strait_fairshare *fs, const struct strait_flow *flow)
{
    double cap = INFINITY;
    for (int i = 0; i < flow->n_links; i++)
        if (!is_shared(fs, flow->link[i]))
            cap = strait_least(cap, fs->links[flow->link[i]].bytes_per_s);
    return cap;
}

/* The class of flows over these shared links; made when it is new. NULL: memory ran out. */
static struct strait_component *class_of(struct strait_fairshare *fs, struct strait_component *c,
                                         const int *links, int n_links)
{
    for (size_t k = 0; k < c->n_classes; k++)
        if (c->classes[k]->n_links == n_links &&
            memcmp(c->classes[k]->link, links, (size_t)n_links * sizeof(*links)) == 0)
            return c->classes[k];
    if (c->n_classes == c->cap_classes) {
        const size_t cap = c->cap_classes > 0 ? 2 * c->cap_classes : 16;
        struct strait_component **classes = realloc(c->classes, cap * sizeof(*classes));
        if (!classes)
            return NULL;
        c->classes = classes;
        c->cap_classes = cap;
    }
    struct strait_component *made = strait_component_new(fs, c->last_s);
    if (!made)
        return NULL;
    strait_hub_begin(made, -1);
    memcpy(made->link, links, (size_t)n_links * sizeof(*links));
    made->n_links = n_links;
    return c->classes[c->n_classes++] = made;
}

static struct strait_component *class_for(struct strait_fairshare *fs, struct strait_component *c,
                                          const struct strait_flow *flow)
{
    int shared[STRAIT_FLOW_MAX_LINKS], n = 0;
    for (int i = 0; i < flow->n_links; i++)
        if (is_shared(fs, flow->link[i]))
            shared[n++] = flow->link[i];
    return class_of(fs, c, shared, n);
}

int strait_classes_join(struct strait_fairshare *fs, struct strait_component *c,
                        struct strait_flow *flow, double left_bytes)
{
    struct strait_component *k = class_for(fs, c, flow);
    if (!k || strait_component_reserve(k, k->n + 1) != 0)
        return -1;
    k->n++;
    flow->of_class = k;
    if (isinf(k->level)) /* of a class without fair flows: one that joins has not ended by that */
        k->level = 0;
    strait_hub_add(k, flow, left_bytes, private_cap(fs, flow));
    return 0;
}

double strait_classes_part(struct strait_flow *flow)
{
    struct strait_component *k = flow->of_class;
    const double left_bytes = strait_hub_remove(k, flow);
    if (--k->n == 0)
        strait_hub_begin(k, -1); /* begin the sums anew, which rounds less */
    flow->of_class = NULL;
    return left_bytes;
}

int strait_classes_begin(struct strait_fairshare *fs, struct strait_component *c)
{
    if (c->n < ENTER_FLOWS || c->n < 2 * c->undivided)
        return 0;
    int failed = 0;
    for (size_t i = 0; i < c->n && !failed; i++) {
        failed = class_for(fs, c, c->flows[i]) ? 0 : -1;
        if (ENTER_EACH * c->n_classes > c->n) {
            strait_classes_leave(fs, c);
            c->undivided = c->n;
            return 0;
        }
    }
    for (size_t i = 0; i < c->n && !failed; i++)
        failed = strait_classes_join(fs, c, c->flows[i], c->flows[i]->left_bytes);
    return failed;
}

void strait_classes_leave(struct strait_fairshare *fs, struct strait_component *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->flows[i]->of_class)
            c->flows[i]->left_bytes = strait_classes_part(c->flows[i]);
    for (size_t k = 0; k < c->n_classes; k++) {
        c->classes[k]->next = fs->spare;
        fs->spare = c->classes[k];
    }
    c->n_classes = 0;
}

bool strait_classes_pay(const struct strait_component *c)
{
    return c->n >= LEAVE_FLOWS && LEAVE_EACH * c->n_classes <= c->n;
}

void strait_classes_advance(struct strait_component *c, double now_s)
{
    for (size_t k = 0; k < c->n_classes; k++)
        strait_hub_advance(c->classes[k], now_s);
    c->last_s = now_s;
}

/* List the links of all classes, with what flows at their caps leave of them. */
static size_t list_links(struct strait_fairshare *fs, const struct strait_component *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->n_classes; k++)
        for (int i = 0; i < c->classes[k]->n_links; i++)
            fs->fillings[c->classes[k]->link[i]].reached = false;
    for (size_t k = 0; k < c->n_classes; k++) {
        const struct strait_component *of = c->classes[k];
        for (int i = 0; i < of->n_links; i++) {
            struct strait_filling *l = &fs->fillings[of->link[i]];
            if (!l->reached) {
                fs->touched[n++] = of->link[i];
                l->reached = true;
                l->free = fs->links[of->link[i]].bytes_per_s;
                l->open_weight = 0;
                l->n_open = 0;
            }
            l->free -= (double)of->capped_sum;
            l->open_weight += (double)of->fair_weight;
            l->n_open += strait_hub_is_shared(of);
        }
    }
    return n;
}

static void fix(struct strait_fairshare *fs, struct strait_component *of, double level)
{
    of->level = level;
    for (int i = 0; i < of->n_links; i++) {
        struct strait_filling *l = &fs->fillings[of->link[i]];
        l->free -= level * (double)of->fair_weight;
        l->open_weight -= (double)of->fair_weight;
        l->n_open--;
        if (!strait_heap_holds(&l->node))
            continue;
        if (l->n_open == 0)
            strait_heap_remove(&fs->filling, &l->node);
        else
            strait_heap_rekey(&fs->filling, &l->node, l->free / l->open_weight);
    }
}

static bool uses(const struct strait_component *of, const struct strait_filling *l,
                 const struct strait_fairshare *fs)
{
    for (int i = 0; i < of->n_links; i++)
        if (&fs->fillings[of->link[i]] == l)
            return true;
    return false;
}

/* Progressive filling with classes for flows. A link that nobody may take more of, since all flows
 * on it are at their caps, has no level of its own; one that they overfill has level 0. */
static void find_levels(struct strait_fairshare *fs, const struct strait_component *c)
{
    const size_t n_touched = list_links(fs, c);
    for (size_t k = 0; k < c->n_classes; k++)
        c->classes[k]->level = INFINITY;
    for (size_t i = 0; i < n_touched; i++) {
        struct strait_filling *l = &fs->fillings[fs->touched[i]];
        l->level = l->n_open > 0 || l->free >= 0 ? INFINITY : 0;
        l->node.key = l->free / l->open_weight;
        l->node.tie = fs->touched[i];
        if (l->n_open > 0)
            strait_heap_push(&fs->filling, &l->node); /* room was reserved at the start */
    }
    for (struct strait_heap_node *node; (node = strait_heap_first(&fs->filling));) {
        struct strait_filling *l =
            (struct strait_filling *)((char *)node - offsetof(struct strait_filling, node));
        l->level = strait_most(node->key, 0);
        for (size_t k = 0; k < c->n_classes && l->n_open > 0; k++) {
            struct strait_component *of = c->classes[k];
            if (strait_hub_is_shared(of) && isinf(of->level) && uses(of, l, fs))
                fix(fs, of, l->level);
        }
    }
    for (size_t k = 0; k < c->n_classes; k++)
        for (int i = 0; i < c->classes[k]->n_links; i++)
            c->classes[k]->level =
                strait_least(c->classes[k]->level, fs->fillings[c->classes[k]->link[i]].level);
}

/* Flows leave their caps while a level is below them, and reach them while it is not. Where classes
 * form a tree that ends: levels only fall while caps are left, and only rise while caps are
 * reached. */
int strait_classes_settle(struct strait_fairshare *fs, struct strait_component *c)
{
    bool raised = false;
    for (size_t n = 2 * c->n + 16; n > 0; n--) {
        bool lowered = false, moved = false;
        find_levels(fs, c);
        for (size_t k = 0; k < c->n_classes; k++)
            lowered |= strait_hub_lower(c->classes[k],
                                        c->classes[k]->level * (1 + (raised ? ROUNDING : 0)));
        for (size_t k = 0; k < c->n_classes && !lowered; k++)
            while (strait_hub_raise(c->classes[k], c->classes[k]->level))
                moved = true;
        if (!lowered && !moved)
            return 0;
        raised |= moved;
    }
    return -1;
}

double strait_classes_next_s(const struct strait_component *c)
{
    double next_s = INFINITY;
    for (size_t k = 0; k < c->n_classes; k++)
        next_s = strait_least(next_s, strait_hub_next_s(c->classes[k]));
    return next_s;
}

struct strait_flow *strait_classes_first_ended(const struct strait_component *c, double slack_s)
{
    struct strait_flow *f = NULL;
    for (size_t k = 0; k < c->n_classes && !f; k++)
        f = strait_hub_first_ended(c->classes[k], slack_s);
    return f;
}
