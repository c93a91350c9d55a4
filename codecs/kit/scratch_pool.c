/* A pool of scratch buffers in a codec's state. */
#include "scratch_pool.h"
#include <assert.h>
#include <stddef.h>

void strait_pool_init(struct strait_pool *pool)
{
    pool->first = NULL;
    pthread_mutex_init(&pool->mutex, NULL);
}

void *strait_pool_take(struct strait_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    struct strait_pooled *piece = pool->first;
    if (piece)
        pool->first = piece->next;
    pthread_mutex_unlock(&pool->mutex);
    return piece;
}

void strait_pool_give(struct strait_pool *pool, void *piece)
{
    struct strait_pooled *pooled = piece;
    pthread_mutex_lock(&pool->mutex);
    pooled->next = pool->first;
    pool->first = pooled;
    pthread_mutex_unlock(&pool->mutex);
}

void strait_pool_release(struct strait_pool *pool)
{
    assert(!pool->first);
    pthread_mutex_destroy(&pool->mutex);
}
