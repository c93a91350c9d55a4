/* A pool of scratch buffers in a codec's state: threads that share the state each take one for the
 * time of a call. */
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
/** Take a free buffer, or NULL: the caller makes a new one. */
void *strait_pool_take(struct strait_pool *pool);
void strait_pool_give(struct strait_pool *pool, void *piece);
/** Before this the caller must have taken and freed every buffer. */
void strait_pool_release(struct strait_pool *pool);
