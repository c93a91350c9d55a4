#include "lanes.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

struct strait_task {         /* of a lane */
    struct strait_turn turn; /* must be first */
    struct strait_coroutine *coroutine;
    struct strait_task *before, *after; /* in the list of all */
    struct strait_lanes *all;
    void (*body)(void *lane); /* NULL: it is idle */
    void *lane;
    struct strait_task *next; /* idle */
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

static void make_ready(struct strait_lanes *all, struct strait_turn *t)
{
    t->next = NULL;
    if (all->ready_first)
        all->ready_last->next = t;
    else
        all->ready_first = t;
    all->ready_last = t;
}

static void resume(struct strait_lanes *all, struct strait_task *t)
{
    if (strait_coroutine_resume(all->coroutines, t->coroutine)) {
        delist(all, t);
    } else if (!t->body) {
        t->next = all->idle;
        all->idle = t;
    }
}

/* One body after another: a coroutine is not begun for each. */
static void work(void *of)
{
    struct strait_task *t = of;
    while (t->body) {
        t->body(t->lane);
        t->body = NULL;
        strait_coroutine_pause(t->all->coroutines);
    }
}

/* NULL when memory runs out. */
static struct strait_task *new_task(struct strait_lanes *all)
{
    struct strait_task *t = calloc(1, sizeof(*t));
    if (t)
        t->coroutine = strait_coroutine_new(all->coroutines, work, t);
    if (!t || !t->coroutine) {
        free(t);
        return NULL;
    }
    t->all = all;
    enlist(all, t);
    return t;
}

int strait_lanes_begin(struct strait_lanes *all, struct strait_task **out, void (*body)(void *),
                       void *lane)
{
    struct strait_task *t = all->idle;
    if (t)
        all->idle = t->next;
    else if (!(t = new_task(all)))
        return -1;
    t->body = body;
    t->lane = lane;
    *out = t;
    resume(all, t);
    return 0;
}

void strait_lanes_end(struct strait_lanes *all)
{
    strait_coroutine_exit(all->coroutines);
}

static int sleep_until(struct strait_lanes *all, struct strait_turn *t, double until_s)
{
    t->timer.key = until_s;
    t->timer.tie = all->n_slept++;
    return strait_heap_push(&all->sleeping, &t->timer);
}

int strait_lanes_block(struct strait_lanes *all, struct strait_task *task, double until_s)
{
    if (!isinf(until_s) && sleep_until(all, &task->turn, until_s) != 0)
        return -1;
    strait_coroutine_pause(all->coroutines);
    return 0;
}

void strait_lanes_wake(struct strait_lanes *all, struct strait_task *t)
{
    if (strait_heap_holds(&t->turn.timer))
        strait_heap_remove(&all->sleeping, &t->turn.timer);
    make_ready(all, &t->turn);
}

void strait_lanes_call(struct strait_lanes *all, struct strait_turn *turn)
{
    make_ready(all, turn);
}

int strait_lanes_call_at(struct strait_lanes *all, struct strait_turn *turn, double at_s)
{
    return sleep_until(all, turn, at_s);
}

void strait_lanes_due(struct strait_lanes *all, double now_s)
{
    for (struct strait_heap_node *n; (n = strait_heap_first(&all->sleeping)) && n->key <= now_s;) {
        strait_heap_remove(&all->sleeping, n);
        make_ready(all, (struct strait_turn *)((char *)n - offsetof(struct strait_turn, timer)));
    }
}

/* With many ranks nothing of the next ones is in the cache any more. While one runs, the stack of
 * the next is fetched, where the stack of the one behind it is, and which one comes then. */
static void look_ahead(const struct strait_turn *next)
{
    const struct strait_turn *after = next ? next->next : NULL;
    if (!next || !after)
        return;
    if (!next->call)
        strait_coroutine_fetch(((const struct strait_task *)next)->coroutine);
    if (!after->call)
        __builtin_prefetch(((const struct strait_task *)after)->coroutine);
    __builtin_prefetch(after->next);
}

void strait_lanes_run(struct strait_lanes *all)
{
    for (struct strait_turn *t; (t = all->ready_first) && !all->coroutines->is_abandoned;) {
        all->ready_first = t->next;
        look_ahead(t->next);
        if (t->call)
            t->call(t);
        else
            resume(all, (struct strait_task *)t);
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
    all->idle = NULL;
    strait_heap_release(&all->sleeping);
}
