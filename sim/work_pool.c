#include "work_pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct strait_work {
    struct strait_work_pool *pool;
    struct strait_work *next;
    void (*fn)(void *);
    void *arg;
    bool is_done;
};

struct strait_work_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work, done; /* there is some; some has run */
    struct strait_work *first, **end;
    int n_running;
    bool is_halted;
};

static void *worker(void *of)
{
    struct strait_work_pool *pool = of;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->first || pool->is_halted)
            pthread_cond_wait(&pool->work, &pool->mutex);
        struct strait_work *w = pool->first;
        pool->first = w->next;
        if (!pool->first)
            pool->end = &pool->first;
        pool->n_running++;
        pthread_mutex_unlock(&pool->mutex);
        w->fn(w->arg);
        pthread_mutex_lock(&pool->mutex);
        w->is_done = true;
        pool->n_running--;
        pthread_cond_broadcast(&pool->done);
    }
    return NULL;
}

/* Signals are for the process's first thread. */
static int start_thread(struct strait_work_pool *pool)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, NULL, worker, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0)
        pthread_detach(thread);
    return failed;
}

struct strait_work_pool *strait_work_pool_new(int n_threads, struct strait_error *err)
{
    struct strait_work_pool *pool = calloc(1, sizeof(*pool));
    if (!pool) {
        strait_error_memory(err, NULL);
        return NULL;
    }
    pool->end = &pool->first;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int i = 0; i < n_threads || i == 0; i++) {
        errno = start_thread(pool);
        if (errno == 0)
            continue;
        strait_error_system(err, "pthread_create", "cannot start a thread to compute on");
        return NULL; /* with those that there are: the process ends */
    }
    return pool;
}

struct strait_work *strait_work_pool_start(struct strait_work_pool *pool, void (*fn)(void *),
                                           void *arg, struct strait_error *err)
{
    struct strait_work *w = calloc(1, sizeof(*w));
    if (!w) {
        strait_error_memory(err, NULL);
        return NULL;
    }
    *w = (struct strait_work){.pool = pool, .fn = fn, .arg = arg};
    pthread_mutex_lock(&pool->mutex);
    *pool->end = w;
    pool->end = &w->next;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    return w;
}

void strait_work_join(struct strait_work *work)
{
    pthread_mutex_lock(&work->pool->mutex);
    while (!work->is_done)
        pthread_cond_wait(&work->pool->done, &work->pool->mutex);
    pthread_mutex_unlock(&work->pool->mutex);
    free(work);
}

void strait_work_pool_halt(struct strait_work_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->is_halted = true;
    while (pool->n_running > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
