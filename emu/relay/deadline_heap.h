/* A binary heap of moments, earliest first; what was pushed first of equal ones comes first. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strait_emu_event {
    double at_s;
    uint64_t turn; /* set by push */
    void *what;
};

struct strait_emu_heap {
    struct strait_emu_event *events;
    size_t n, cap;
    uint64_t n_pushed;
};

/** Returns: false when memory ran out and nothing was pushed. */
bool strait_emu_heap_push(struct strait_emu_heap *heap, double at_s, void *what);
/** Take the earliest event of a heap that is not empty. */
struct strait_emu_event strait_emu_heap_pop(struct strait_emu_heap *heap);
void strait_emu_heap_release(struct strait_emu_heap *heap);
