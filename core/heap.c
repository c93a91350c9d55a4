#include "heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool before(const struct strait_heap_node *a, const struct strait_heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

static void put(struct strait_heap *h, size_t i, struct strait_heap_node *node)
{
    h->nodes[i] = node;
    node->place = i + 1;
}

static void sift_up(struct strait_heap *h, size_t i, struct strait_heap_node *node)
{
    for (; i > 0 && before(node, h->nodes[(i - 1) / 2]); i = (i - 1) / 2)
        put(h, i, h->nodes[(i - 1) / 2]);
    put(h, i, node);
}

static void sift_down(struct strait_heap *h, size_t i, struct strait_heap_node *node)
{
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && before(h->nodes[child + 1], h->nodes[child]))
            child++;
        if (!before(h->nodes[child], node))
            break;
        put(h, i, h->nodes[child]);
    }
    put(h, i, node);
}

int strait_heap_reserve(struct strait_heap *h, size_t n)
{
    if (n <= h->cap)
        return 0;
    size_t cap = h->cap > 0 ? h->cap : 4;
    while (cap < n)
        cap *= 2;
    if (cap > SIZE_MAX / sizeof(*h->nodes))
        return -1;
    struct strait_heap_node **nodes = realloc(h->nodes, cap * sizeof(*nodes));
    if (!nodes)
        return -1;
    h->nodes = nodes;
    h->cap = cap;
    return 0;
}

int strait_heap_push(struct strait_heap *h, struct strait_heap_node *node)
{
    assert(!strait_heap_holds(node));
    if (strait_heap_reserve(h, h->n + 1) != 0)
        return -1;
    h->n++;
    sift_up(h, h->n - 1, node);
    return 0;
}

void strait_heap_remove(struct strait_heap *h, struct strait_heap_node *node)
{
    const size_t i = node->place - 1;
    assert(node->place > 0 && i < h->n && h->nodes[i] == node);
    struct strait_heap_node *last = h->nodes[--h->n];
    node->place = 0;
    if (last == node)
        return;
    if (i > 0 && before(last, h->nodes[(i - 1) / 2]))
        sift_up(h, i, last);
    else
        sift_down(h, i, last);
}

void strait_heap_rekey(struct strait_heap *h, struct strait_heap_node *node, double key)
{
    const size_t i = node->place - 1;
    assert(node->place > 0 && i < h->n && h->nodes[i] == node);
    node->key = key;
    if (i > 0 && before(node, h->nodes[(i - 1) / 2]))
        sift_up(h, i, node);
    else
        sift_down(h, i, node);
}

void strait_heap_release(struct strait_heap *h)
{
    free(h->nodes);
    memset(h, 0, sizeof(*h));
}
