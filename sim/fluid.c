/* The backend `fluid`: an event loop of its own turns the clock, and an exact fair-share solver
 * says when flows end. A lane is a coroutine; a stream needs no stack. */
#include <math.h>
#include <stdlib.h>

#include "coroutine.h"
#include "facts.h"
#include "fairshare.h"
#include "machine.h"

/* A stack is two mappings; the kernel allows 65530 a process. */
enum { MOST_RANKS = 30000 };

struct world;

struct task { /* of a lane */
    struct world *world;
    struct strait_coroutine *coroutine;
    struct strait_heap_node timer;
    struct task *next; /* ready */
};

struct pump { /* of a stream */
    struct strait_flow flow;
    struct strait_heap_node timer;
    int links[STRAIT_MAX_HOPS], n_links;
};

struct world {
    double now_s;
    struct strait_machine *machine;
    struct strait_fairshare *fairshare;
    struct strait_coroutines coroutines;
    struct strait_heap lane_timers, stream_timers; /* tie: in the order of their making */
    int64_t n_timers;
    struct task *ready_first, *ready_last;
};

static void make_ready(struct world *w, struct task *t)
{
    t->next = NULL;
    if (w->ready_first)
        w->ready_last->next = t;
    else
        w->ready_first = t;
    w->ready_last = t;
}

static void set_timer(struct world *w, struct strait_heap *timers, struct strait_heap_node *timer,
                      double at_s)
{
    timer->key = at_s;
    timer->tie = w->n_timers++;
    if (strait_heap_push(timers, timer) != 0)
        strait_child_no_memory(w->machine->child);
}

static double now_s(void *world)
{
    return ((const struct world *)world)->now_s;
}

static void lane_body(void *lane)
{
    strait_lane_main(lane);
}

static void begin(void *world, struct strait_lane *lane)
{
    struct world *w = world;
    struct task *t = strait_child_alloc(w->machine->child, 1, sizeof(*t));
    lane->kernel = t;
    t->coroutine = strait_coroutine_new(&w->coroutines, lane_body, lane);
    if (!t->coroutine)
        strait_child_no_memory(w->machine->child);
    make_ready(w, t);
}

static void block(void *world, struct strait_lane *lane, double until_s)
{
    struct world *w = world;
    struct task *t = lane->kernel;
    if (!isinf(until_s))
        set_timer(w, &w->lane_timers, &t->timer, until_s);
    strait_coroutine_pause(&w->coroutines);
}

static void wake(void *world, struct strait_lane *lane)
{
    struct world *w = world;
    struct task *t = lane->kernel;
    if (strait_heap_holds(&t->timer))
        strait_heap_remove(&w->lane_timers, &t->timer);
    make_ready(w, t);
}

/* Carry out what the stream wants now. */
static void act(struct world *w, struct strait_stream *s)
{
    struct pump *p = s->kernel;
    for (;;) {
        const struct strait_action action = strait_stream_next(s, w->now_s);
        switch (action.kind) {
        case STRAIT_IDLE:
            return;
        case STRAIT_SLEEP:
            if (action.until_s <= w->now_s)
                continue;
            set_timer(w, &w->stream_timers, &p->timer, action.until_s);
            return;
        case STRAIT_FLOW:
            if (strait_fairshare_start(w->fairshare, &p->flow, p->links, p->n_links, action.bytes,
                                       w->now_s) != 0)
                strait_child_no_memory(w->machine->child);
            return;
        }
    }
}

static void kick(void *world, struct strait_stream *s)
{
    struct world *w = world;
    if (!s->kernel) {
        struct pump *p = strait_child_alloc(w->machine->child, 1, sizeof(*p));
        p->flow.owner = s;
        p->flow.weight = strait_path_share(w->machine->run->network, s->src, s->dst);
        p->n_links = strait_network_path(w->machine->run->network, s->src, s->dst, p->links);
        s->kernel = p;
    }
    act(w, s);
}

static const struct strait_kernel kernel = {now_s, begin, block, wake, kick};

static void run_ready(struct world *w)
{
    for (struct task *t; (t = w->ready_first);) {
        w->ready_first = t->next;
        if (strait_coroutine_resume(&w->coroutines, t->coroutine))
            free(t);
    }
}

/* Everything that is due: what flows left behind first, so that lanes see all of it. */
static void run_due(struct world *w)
{
    for (struct strait_flow *f; (f = strait_fairshare_ended(w->fairshare, w->now_s));) {
        strait_stream_flow_ended(f->owner, w->now_s);
        act(w, f->owner);
    }
    for (struct strait_heap_node *n;
         (n = strait_heap_first(&w->stream_timers)) && n->key <= w->now_s;) {
        strait_heap_remove(&w->stream_timers, n);
        struct pump *p = (struct pump *)((char *)n - offsetof(struct pump, timer));
        act(w, p->flow.owner);
    }
    for (struct strait_heap_node *n;
         (n = strait_heap_first(&w->lane_timers)) && n->key <= w->now_s;) {
        strait_heap_remove(&w->lane_timers, n);
        make_ready(w, (struct task *)((char *)n - offsetof(struct task, timer)));
    }
}

static double first_key(const struct strait_heap *h)
{
    return h->n > 0 ? h->nodes[0]->key : INFINITY;
}

static struct strait_fairshare *links_of(const struct strait_network *n, struct strait_child *child)
{
    const int n_links = strait_network_n_links(n);
    double *bytes_per_s = strait_child_alloc(child, (size_t)n_links, sizeof(*bytes_per_s));
    for (int i = 0; i < n_links; i++)
        bytes_per_s[i] = strait_goodput_bytes_per_s(n, strait_network_link(n, i));
    struct strait_fairshare *fs = strait_fairshare_new(n_links, bytes_per_s);
    if (!fs)
        strait_child_no_memory(child);
    free(bytes_per_s);
    return fs;
}

static void simulate(struct strait_child *child)
{
    struct world w = {.coroutines.stack_bytes = (size_t)STRAIT_LANE_STACK_KIB * 1024};
    w.fairshare = links_of(child->run->network, child);
    w.machine = strait_machine_new(child->run, &strait_fluid, &kernel, &w, child);
    strait_machine_begin(w.machine);
    for (;;) { /* the last lane ends the process */
        run_ready(&w);
        const double flow_s = strait_fairshare_next_s(w.fairshare);
        if (isnan(flow_s))
            strait_child_no_memory(child);
        const double next_s =
            fmin(flow_s, fmin(first_key(&w.stream_timers), first_key(&w.lane_timers)));
        if (isinf(next_s))
            return;
        w.now_s = fmax(w.now_s, next_s);
        run_due(&w);
    }
}

static int check(const struct strait_run *run, struct strait_error *err)
{
    return strait_sim_check(run, "fluid", MOST_RANKS, err);
}

static int run_once(struct strait_run *run, struct strait_error *err)
{
    if (check(run, err) != 0 || strait_child_run(run, simulate, err) != 0)
        return -1;
    return strait_sim_facts(run, err);
}

const struct strait_backend strait_fluid = {
    .name = "fluid",
    .summary = "simulated time on an exact fair-share solver of our own, for many ranks",
    .check = check,
    .run = run_once,
    .fail = strait_machine_fail,
    .now_s = strait_machine_now_s,
    .start = strait_machine_start,
    .send = strait_machine_send,
    .wait = strait_machine_wait,
    .recv = strait_machine_recv,
    .spawn = strait_machine_spawn,
    .join = strait_machine_join,
};
