/* Order: numbers sorted, and a priority queue of nodes that live inside other structs: smallest key
 * first, then smallest tie. */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strait_heap_node {
    double key;
    int64_t tie;
    size_t place; /* private; 0: in none */
};
struct strait_heap_entry { /* with the node's key, so that comparing reads no other memory */
    double key;
    int64_t tie;
    struct strait_heap_node *node; /* NULL: it was removed */
};
/* Nodes that come in ascending order, as times mostly do, lie sorted at [first, end), where both
 * ends are O(1); a heap, from the last entry down, has the others, which are few where most come so.
 */
struct strait_heap {
    struct strait_heap_entry *entries;
    size_t n, cap; /* of all */
    size_t first, end, n_loose;
};

/** Reserve room for n nodes in all; later pushes up to n cannot fail. 0, or -1 when memory runs
 *  out. */
int strait_heap_reserve(struct strait_heap *h, size_t n);
void strait_heap_rekey(struct strait_heap *h, struct strait_heap_node *node, double key);
void strait_heap_release(struct strait_heap *h);

static inline bool strait_heap_before(const struct strait_heap_entry *a,
                                      const struct strait_heap_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}
/* What is not inline of the two below. */
int strait_heap_insert(struct strait_heap *h, struct strait_heap_node *node);
void strait_heap_take_out(struct strait_heap *h, struct strait_heap_node *node);

/** Insert a node whose key and tie are set. 0, or -1 when memory runs out. O(log n), amortised. */
static inline int strait_heap_push(struct strait_heap *h, struct strait_heap_node *node)
{
    const struct strait_heap_entry entry = {node->key, node->tie, node};
    if (node->place != 0 || h->end + h->n_loose == h->cap ||
        (h->end > 0 && strait_heap_before(&entry, &h->entries[h->end - 1])))
        return strait_heap_insert(h, node);
    h->n++;
    h->entries[h->end++] = entry;
    node->place = h->end;
    return 0;
}
/** O(log n), and mostly O(1) of the first of those that came in ascending order. */
static inline void strait_heap_remove(struct strait_heap *h, struct strait_heap_node *node)
{
    const size_t first = h->first, next = first + 1;
    if (node->place != next || next > h->end || h->entries[first].node != node ||
        (next < h->end && !h->entries[next].node)) {
        strait_heap_take_out(h, node);
        return;
    }
    node->place = 0;
    h->n--;
    h->first = next < h->end ? next : 0;
    h->end = next < h->end ? h->end : 0;
}
static inline struct strait_heap_node *strait_heap_first(const struct strait_heap *h)
{
    if (h->n == 0)
        return NULL;
    const struct strait_heap_entry *sorted = &h->entries[h->first],
                                   *loose = &h->entries[h->cap - 1];
    const bool is_loose =
        h->n_loose > 0 && (h->first == h->end || strait_heap_before(loose, sorted));
    return is_loose ? loose->node : sorted->node;
}
/** The key of that node; INFINITY: there is none. Reads no node. */
static inline double strait_heap_first_key(const struct strait_heap *h)
{
    if (h->n == 0)
        return INFINITY;
    const double sorted = h->first < h->end ? h->entries[h->first].key : INFINITY;
    const double loose = h->n_loose > 0 ? h->entries[h->cap - 1].key : INFINITY;
    return loose < sorted ? loose : sorted;
}
/** All nodes one by one, in no order, with *at from 0 on; NULL: there are no more. Nothing may be
 *  inserted or removed meanwhile. */
struct strait_heap_node *strait_heap_next(const struct strait_heap *h, size_t *at);
static inline bool strait_heap_holds(const struct strait_heap_node *node)
{
    return node->place != 0;
}

/* fmin and fmax of numbers that are not NaN, for which these have to look: they are calls. */
static inline double strait_least(double a, double b)
{
    return a < b ? a : b;
}
static inline double strait_most(double a, double b)
{
    return a > b ? a : b;
}
static inline size_t strait_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}
/** Sort ascending; no number is NaN. */
void strait_sort(double *x, size_t n);
/** Sort, and return the middle one, or the mean of the middle two. In: n > 0, no number NaN. */
double strait_median(double *x, size_t n);
