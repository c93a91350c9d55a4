#include "heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Of a node's place: it is in the heap, and the rest is 1 + its index there; else 1 + its index
 * among the sorted ones. */
static const size_t LOOSE = ~(SIZE_MAX / 2);

static struct strait_heap_entry *loose(const struct strait_heap *h, size_t i)
{
    return &h->entries[h->cap - 1 - i];
}

static void put(struct strait_heap *h, size_t i, const struct strait_heap_entry *entry)
{
    *loose(h, i) = *entry;
    entry->node->place = LOOSE | (i + 1);
}

static void put_sorted(struct strait_heap *h, size_t i, const struct strait_heap_entry *entry)
{
    h->entries[i] = *entry;
    entry->node->place = i + 1;
}

static void sift_up(struct strait_heap *h, size_t i, struct strait_heap_node *node)
{
    const struct strait_heap_entry entry = {node->key, node->tie, node};
    for (; i > 0 && strait_heap_before(&entry, loose(h, (i - 1) / 2)); i = (i - 1) / 2)
        put(h, i, loose(h, (i - 1) / 2));
    put(h, i, &entry);
}

/* The gap at i goes down to a leaf, and the node up from there: it was last and belongs near
 * one. */
static void sift_down(struct strait_heap *h, size_t i, struct strait_heap_node *node)
{
    for (size_t child; (child = 2 * i + 1) < h->n_loose; i = child) {
        child += child + 1 < h->n_loose && strait_heap_before(loose(h, child + 1), loose(h, child));
        put(h, i, loose(h, child));
    }
    sift_up(h, i, node);
}

int strait_heap_reserve(struct strait_heap *h, size_t n)
{
    if (n <= h->cap)
        return 0;
    size_t cap = h->cap > 0 ? h->cap : 1;
    while (cap < n)
        cap *= 2;
    if (cap > SIZE_MAX / sizeof(*h->entries))
        return -1;
    struct strait_heap_entry *entries = malloc(cap * sizeof(*entries));
    if (!entries)
        return -1;
    if (h->cap > 0) { /* realloc would copy, and so touch, what was only reserved */
        memcpy(entries, h->entries, h->end * sizeof(*entries));
        memcpy(entries + cap - h->n_loose, h->entries + h->cap - h->n_loose,
               h->n_loose * sizeof(*entries));
    }
    free(h->entries);
    h->entries = entries;
    h->cap = cap;
    return 0;
}

/* Close the gaps that removed nodes have left. */
static void compact(struct strait_heap *h)
{
    size_t n = 0;
    for (size_t i = h->first; i < h->end; i++)
        if (h->entries[i].node)
            put_sorted(h, n++, &h->entries[i]);
    h->first = 0;
    h->end = n;
}

int strait_heap_insert(struct strait_heap *h, struct strait_heap_node *node)
{
    const struct strait_heap_entry entry = {node->key, node->tie, node};
    assert(!strait_heap_holds(node));
    /* With few gaps to close there would soon be none. */
    const bool is_full = h->end + h->n_loose == h->cap;
    if (is_full && 4 * h->n >= 3 * h->cap && strait_heap_reserve(h, h->cap + 1) != 0 &&
        h->n == h->cap)
        return -1;
    if (h->end + h->n_loose == h->cap)
        compact(h);
    h->n++;
    if (h->end == 0 || !strait_heap_before(&entry, &h->entries[h->end - 1]))
        put_sorted(h, h->end++, &entry);
    else
        sift_up(h, h->n_loose++, node);
    return 0;
}

/* First and last are never gaps. */
static void leave_gap(struct strait_heap *h, size_t i)
{
    h->entries[i].node = NULL;
    while (h->first < h->end && !h->entries[h->first].node)
        h->first++;
    while (h->first < h->end && !h->entries[h->end - 1].node)
        h->end--;
    if (h->first == h->end)
        h->first = h->end = 0;
}

/* Of the heap, where another node comes to i. */
static void sift(struct strait_heap *h, size_t i, struct strait_heap_node *node)
{
    const struct strait_heap_entry entry = {node->key, node->tie, node};
    if (i > 0 && strait_heap_before(&entry, loose(h, (i - 1) / 2)))
        sift_up(h, i, node);
    else
        sift_down(h, i, node);
}

void strait_heap_take_out(struct strait_heap *h, struct strait_heap_node *node)
{
    const bool is_loose = node->place & LOOSE;
    const size_t i = (node->place & ~LOOSE) - 1;
    assert(node->place > 0 && i < (is_loose ? h->n_loose : h->end) &&
           (is_loose ? loose(h, i) : &h->entries[i])->node == node);
    node->place = 0;
    h->n--;
    if (!is_loose) {
        leave_gap(h, i);
        return;
    }
    struct strait_heap_node *last = loose(h, --h->n_loose)->node;
    if (last != node)
        sift(h, i, last);
}

void strait_heap_rekey(struct strait_heap *h, struct strait_heap_node *node, double key)
{
    if (node->place & LOOSE) {
        node->key = key;
        sift(h, (node->place & ~LOOSE) - 1, node);
        return;
    }
    if (h->n == 1) {
        node->key = h->entries[h->first].key = key;
        return;
    }
    strait_heap_remove(h, node);
    node->key = key;
    const int failed = strait_heap_push(h, node);
    assert(!failed); /* its own room is there */
    (void)failed;
}

struct strait_heap_node *strait_heap_next(const struct strait_heap *h, size_t *at)
{
    while (*at < h->cap) {
        const size_t i = (*at)++;
        const bool holds = (i >= h->first && i < h->end) || i >= h->cap - h->n_loose;
        if (holds && h->entries[i].node)
            return h->entries[i].node;
    }
    return NULL;
}

void strait_heap_release(struct strait_heap *h)
{
    free(h->entries);
    memset(h, 0, sizeof(*h));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void strait_sort(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), by_value);
}

double strait_median(double *x, size_t n)
{
    strait_sort(x, n);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}
