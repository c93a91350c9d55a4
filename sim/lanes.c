#include "lanes.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

struct strait_task { /* of a lane */
    struct strait_coroutine *coroutine;
    struct strait_heap_node timer;
    struct strait_task *next;           /* ready */
    struct strait_task *before, *after; /* in the list of all */
};

static void enlist(struct strait_lanes *all, struct strait_task *t)
{
    t->after = all->first;
    if (t->after)
        t->after->before = t;
    all->first = t;
}

static void delist(struct strait_lanes *all, struct strait_task *t)
{
    if (t->after)
        t->after->before = t->before;
    *(t->before ? &t->before->after : &all->first) = t->after;
    free(t);
}

static void make_ready(struct strait_lanes *all, struct strait_task *t)
{
    t->next = NULL;
    if (all->ready_first)
        all->ready_last->next = t;
    else
        all->ready_first = t;
    all->ready_last = t;
}

int strait_lanes_begin(struct strait_lanes *all, struct strait_task **out, void (*body)(void *),
                       void *lane)
{
    struct strait_task *t = calloc(1, sizeof(*t));
    if (t)
        t->coroutine = strait_coroutine_new(all->coroutines, body, lane);
    if (!t || !t->coroutine) {
        free(t);
        return -1;
    }
    *out = t;
    enlist(all, t);
    make_ready(all, t);
    return 0;
}

int strait_lanes_block(struct strait_lanes *all, struct strait_task *task, double until_s)
{
    struct strait_heap_node *timer = &task->timer;
    if (!isinf(until_s)) {
        timer->key = until_s;
        timer->tie = all->n_slept++;
        if (strait_heap_push(&all->sleeping, timer) != 0)
            return -1;
    }
    strait_coroutine_pause(all->coroutines);
    return 0;
}

void strait_lanes_wake(struct strait_lanes *all, struct strait_task *t)
{
    if (strait_heap_holds(&t->timer))
        strait_heap_remove(&all->sleeping, &t->timer);
    make_ready(all, t);
}

void strait_lanes_due(struct strait_lanes *all, double now_s)
{
    for (struct strait_heap_node *n; (n = strait_heap_first(&all->sleeping)) && n->key <= now_s;) {
        strait_heap_remove(&all->sleeping, n);
        make_ready(all, (struct strait_task *)((char *)n - offsetof(struct strait_task, timer)));
    }
}

void strait_lanes_run(struct strait_lanes *all)
{
    for (struct strait_task *t; (t = all->ready_first) && !all->coroutines->is_abandoned;) {
        all->ready_first = t->next;
        if (strait_coroutine_resume(all->coroutines, t->coroutine))
            delist(all, t);
    }
}

double strait_lanes_next_s(const struct strait_lanes *all)
{
    const struct strait_heap_node *first = strait_heap_first(&all->sleeping);
    return first ? first->key : INFINITY;
}

void strait_lanes_release(struct strait_lanes *all)
{
    while (all->first) {
        strait_coroutine_give_up(all->coroutines, all->first->coroutine);
        delist(all, all->first);
    }
    strait_heap_release(&all->sleeping);
}
