/* A few helper threads, made once; no allocation and no busy waiting afterwards. */
#include "team.h"
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct strait_team {
    pthread_mutex_t mutex;
    pthread_cond_t called, left;
    void (*work)(void *arg);
    void *arg;
    bool busy;      /* a caller runs the team */
    bool open;      /* helpers may still join this call */
    bool done;      /* for good */
    unsigned calls; /* number of calls, so that no helper joins one twice */
    unsigned n_inside;
    unsigned n_helpers;
    pid_t pid; /* the process that made the team; a forked child has no helpers */
    pthread_t helpers[];
};

static void *help(void *arg)
{
    struct strait_team *t = arg;
    unsigned seen = 0;
    pthread_mutex_lock(&t->mutex);
    for (;;) {
        while (!t->done && !(t->open && t->calls != seen))
            pthread_cond_wait(&t->called, &t->mutex);
        if (t->done)
            break;
        seen = t->calls;
        t->n_inside++;
        pthread_mutex_unlock(&t->mutex);
        t->work(t->arg);
        pthread_mutex_lock(&t->mutex);
        if (--t->n_inside == 0)
            pthread_cond_signal(&t->left);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

struct strait_team *strait_team_new(unsigned n_threads, struct strait_error *err)
{
    assert(n_threads >= 1);
    struct strait_team *t = calloc(1, sizeof(*t) + (n_threads - 1) * sizeof(t->helpers[0]));
    if (!t) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "threads", "no memory for a team");
        return NULL;
    }
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->called, NULL);
    pthread_cond_init(&t->left, NULL);
    t->pid = getpid();
    for (; t->n_helpers < n_threads - 1; t->n_helpers++) {
        errno = pthread_create(&t->helpers[t->n_helpers], NULL, help, t);
        if (errno != 0) {
            strait_error_system(err, "threads", "expected %u threads, got %u", n_threads,
                                t->n_helpers + 1);
            strait_team_free(t);
            return NULL;
        }
    }
    return t;
}

void strait_team_free(struct strait_team *t)
{
    if (!t)
        return;
    if (getpid() == t->pid) {
        pthread_mutex_lock(&t->mutex);
        t->done = true;
        pthread_cond_broadcast(&t->called);
        pthread_mutex_unlock(&t->mutex);
        for (unsigned i = 0; i < t->n_helpers; i++)
            pthread_join(t->helpers[i], NULL);
        pthread_cond_destroy(&t->left);
        pthread_cond_destroy(&t->called);
        pthread_mutex_destroy(&t->mutex);
    }
    free(t);
}

unsigned strait_team_size(const struct strait_team *t)
{
    return t ? t->n_helpers + 1 : 1;
}

void strait_team_run(struct strait_team *t, void (*work)(void *arg), void *arg)
{
    if (!t || t->n_helpers == 0 || getpid() != t->pid) {
        work(arg);
        return;
    }
    pthread_mutex_lock(&t->mutex);
    const bool mine = !t->busy;
    if (mine) {
        t->busy = t->open = true;
        t->calls++;
        t->work = work;
        t->arg = arg;
        pthread_cond_broadcast(&t->called);
    }
    pthread_mutex_unlock(&t->mutex);
    work(arg);
    if (!mine)
        return;
    pthread_mutex_lock(&t->mutex);
    t->open = false;
    while (t->n_inside > 0)
        pthread_cond_wait(&t->left, &t->mutex);
    t->busy = false;
    pthread_mutex_unlock(&t->mutex);
}

void strait_turns_init(struct strait_turns *turns)
{
    pthread_mutex_init(&turns->mutex, NULL);
    pthread_cond_init(&turns->passed, NULL);
    turns->now = 0;
}

void strait_turns_release(struct strait_turns *turns)
{
    pthread_cond_destroy(&turns->passed);
    pthread_mutex_destroy(&turns->mutex);
}

void strait_turns_await(struct strait_turns *turns, size_t number)
{
    pthread_mutex_lock(&turns->mutex);
    while (turns->now != number)
        pthread_cond_wait(&turns->passed, &turns->mutex);
    pthread_mutex_unlock(&turns->mutex);
}

void strait_turns_pass(struct strait_turns *turns)
{
    pthread_mutex_lock(&turns->mutex);
    turns->now++;
    pthread_cond_broadcast(&turns->passed);
    pthread_mutex_unlock(&turns->mutex);
}
