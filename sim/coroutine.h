/* Coroutines with stacks of their own: guarded, and real memory only where touched. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct strait_coroutine;

struct strait_coroutines { /* zero it once, set stack_bytes */
    size_t stack_bytes;
    struct strait_coroutine *spare, *running;
    size_t n_made; /* each is two mappings of memory */
};

/** Make one that will call fn(arg) when first resumed. NULL when memory runs out. */
struct strait_coroutine *strait_coroutine_new(struct strait_coroutines *all, void (*fn)(void *),
                                              void *arg);
/** Run it until it pauses or ends; from outside of all coroutines.
 *  Returns: true when it has ended: its stack is used again by the next one */
bool strait_coroutine_resume(struct strait_coroutines *all, struct strait_coroutine *c);
/** Back to whoever resumed the running one. */
void strait_coroutine_pause(struct strait_coroutines *all);
