#include "deadline_heap.h"
#include <assert.h>
#include <stdlib.h>

static bool before(const struct strait_emu_event *a, const struct strait_emu_event *b)
{
    return a->at_s < b->at_s || (a->at_s == b->at_s && a->turn < b->turn);
}

bool strait_emu_heap_push(struct strait_emu_heap *heap, double at_s, void *what)
{
    if (heap->n == heap->cap) {
        const size_t cap = heap->cap ? 2 * heap->cap : 1024;
        struct strait_emu_event *events = reallocarray(heap->events, cap, sizeof(*events));
        if (!events)
            return false;
        heap->events = events;
        heap->cap = cap;
    }
    const struct strait_emu_event e = {at_s, heap->n_pushed++, what};
    size_t i = heap->n++;
    for (; i > 0 && before(&e, &heap->events[(i - 1) / 2]); i = (i - 1) / 2)
        heap->events[i] = heap->events[(i - 1) / 2];
    heap->events[i] = e;
    return true;
}

struct strait_emu_event strait_emu_heap_pop(struct strait_emu_heap *heap)
{
    assert(heap->n > 0);
    const struct strait_emu_event top = heap->events[0];
    const struct strait_emu_event last = heap->events[--heap->n];
    size_t i = 0;
    for (size_t child = 1; child < heap->n; child = 2 * i + 1) {
        if (child + 1 < heap->n && before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!before(&heap->events[child], &last))
            break;
        heap->events[i] = heap->events[child];
        i = child;
    }
    if (heap->n > 0)
        heap->events[i] = last;
    return top;
}

void strait_emu_heap_release(struct strait_emu_heap *heap)
{
    free(heap->events);
    *heap = (struct strait_emu_heap){0};
}
