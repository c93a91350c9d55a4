/* Scratch memory of a codec's state: threads that share the state each take a piece for one call.
 */
#pragma once
#include <pthread.h>

/* First member of whatever is pooled. */
struct strait_pooled {
    struct strait_pooled *next;
};

struct strait_pool {
    pthread_mutex_t mutex;
    struct strait_pooled *first;
};

void strait_pool_init(struct strait_pool *pool);
/** A piece that was given back, or NULL: the caller makes one. */
void *strait_pool_take(struct strait_pool *pool);
void strait_pool_give(struct strait_pool *pool, void *piece);
/** The pool is empty by then: the caller has taken and freed every piece. */
void strait_pool_release(struct strait_pool *pool);
