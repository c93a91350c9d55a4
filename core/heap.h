/* Order: numbers sorted, and a priority queue of nodes that live inside other structs: smallest key
 * first, then smallest tie. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strait_heap_node {
    double key;
    int64_t tie;
    size_t place; /* 1 + index in the heap, 0: in none */
};
struct strait_heap_entry { /* with the node's key, so that comparing reads no other memory */
    double key;
    int64_t tie;
    struct strait_heap_node *node; /* NULL: it was removed */
};
/* While nodes come in ascending order, as times mostly do, they lie sorted at [first, end) and both
 * ends are O(1). The first one that does not makes a heap of the n entries, until it is empty. */
struct strait_heap {
    struct strait_heap_entry *entries;
    size_t n, cap, first, end;
    bool is_heap; /* first is 0, end is n */
};

/** Reserve room for n nodes in all; later pushes up to n cannot fail. 0, or -1 when memory runs
 *  out. */
int strait_heap_reserve(struct strait_heap *h, size_t n);
/** Insert a node whose key and tie are set. 0, or -1 when memory runs out. O(log n), amortised. */
int strait_heap_push(struct strait_heap *h, struct strait_heap_node *node);
void strait_heap_remove(struct strait_heap *h, struct strait_heap_node *node); /* O(log n) */
void strait_heap_rekey(struct strait_heap *h, struct strait_heap_node *node, double key);
void strait_heap_release(struct strait_heap *h);

static inline struct strait_heap_node *strait_heap_first(const struct strait_heap *h)
{
    return h->n > 0 ? h->entries[h->first].node : NULL;
}
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
