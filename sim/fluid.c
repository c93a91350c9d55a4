/* The backend `fluid`: its own event loop, with an exact fair-share solver that says when flows
 * end. Streams need no stack. */
#include <math.h>
#include <stdlib.h>

#include "facts.h"
#include "rate_changes.h"
#include "sim/solver/fairshare.h"
#include "engine.h"
#include "core/heap.h"

/* A stack uses two mappings, and the kernel allows 65530 a process; ranks of one lane share one. */
enum { MAX_RANKS = 30000, MAX_ONE_LANE_RANKS = 1000001 };

struct world;

/* Of a stream that is not idle. In whole lines of the caches, of which each event needs two. */
struct pump {
    struct strait_flow flow; /* `finish` is its timer while it waits for the next one */
    union {
        struct pump *next; /* spare */
        char rest[3 * 64 - sizeof(struct strait_flow)];
    };
};

struct world {
    double now_s;
    struct strait_engine *machine;
    struct strait_fairshare *fairshare;
    struct strait_rate_changes changes;
    struct strait_heap timers; /* of streams; ties in the order of creation */
    int64_t n_timers;
    struct pump *spare; /* of streams that are idle now */
};

static double now_s(void *world)
{
    return ((const struct world *)world)->now_s;
}

static void start(struct world *w, struct strait_stream *s, double bytes)
{
    struct pump *p = s->kernel;
    int links[STRAIT_MAX_HOPS];
    const int n_links = strait_network_path(w->machine->run->network, s->src, s->dst, links);
    if (strait_fairshare_start(w->fairshare, &p->flow, links, n_links, bytes, w->now_s) != 0)
        strait_child_no_memory(w->machine->child);
}

/* Carry out the stream's next action. */
static void act(struct world *w, struct strait_stream *s)
{
    struct pump *p = s->kernel;
    for (;;) {
        const struct strait_action action = strait_stream_next(s, w->now_s);
        switch (action.kind) {
        case STRAIT_IDLE:
            p->next = w->spare;
            w->spare = p;
            s->kernel = NULL;
            return;
        case STRAIT_SLEEP:
            if (action.until_s <= w->now_s)
                continue;
            p->flow.finish.key = action.until_s;
            p->flow.finish.tie = w->n_timers++;
            if (strait_heap_push(&w->timers, &p->flow.finish) != 0)
                strait_child_no_memory(w->machine->child);
            return;
        case STRAIT_FLOW:
            start(w, s, action.bytes);
            return;
        }
    }
}

static void kick(void *world, struct strait_stream *s)
{
    struct world *w = world;
    struct pump *p = w->spare;
    if (p)
        w->spare = p->next;
    else
        p = strait_child_alloc(w->machine->child, 1, sizeof(*p));
    p->flow.owner = s;
    p->flow.weight = strait_path_share(w->machine->run->network, s->src, s->dst);
    s->kernel = p;
    act(w, s);
}

static const struct strait_kernel kernel = {now_s, kick};

/* Process all due events: flow ends first, so that lanes see all their effects. */
static void run_due(struct world *w)
{
    for (struct strait_flow *f; (f = strait_fairshare_ended(w->fairshare, w->now_s));) {
        strait_stream_flow_ended(f->owner, w->now_s);
        act(w, f->owner);
    }
    double bytes_per_s;
    for (int link; w->changes.heap.n > 0 &&
                   (link = strait_rate_changes_take(&w->changes, &bytes_per_s, w->now_s)) >= 0;)
        strait_fairshare_change(w->fairshare, link, bytes_per_s, w->now_s);
    for (struct strait_heap_node *n; (n = strait_heap_first(&w->timers)) && n->key <= w->now_s;) {
        strait_heap_remove(&w->timers, n);
        struct strait_flow *f =
            (struct strait_flow *)((char *)n - offsetof(struct strait_flow, finish));
        act(w, f->owner);
    }
    strait_engine_due(w->machine, w->now_s);
}

static double first_key(const struct strait_heap *h)
{
    return h->n > 0 ? strait_heap_first(h)->key : INFINITY;
}

static struct strait_fairshare *links_of(const struct strait_network *n, struct strait_child *child)
{
    const int n_links = strait_network_n_links(n);
    double *bytes_per_s = strait_child_alloc(child, (size_t)n_links, sizeof(*bytes_per_s));
    for (int i = 0; i < n_links; i++)
        bytes_per_s[i] = strait_rate_changes_at(n, i, 0);
    struct strait_fairshare *fs = strait_fairshare_new(n_links, bytes_per_s);
    if (!fs)
        strait_child_no_memory(child);
    return fs;
}

static void release(void *world)
{
    struct world *w = world;
    strait_fairshare_free(w->fairshare);
    strait_heap_release(&w->timers);
    strait_rate_changes_release(&w->changes);
}

static void simulate(struct strait_child *child)
{
    struct world *w = strait_child_alloc(child, 1, sizeof(*w));
    strait_child_defer(child, release, w);
    w->fairshare = links_of(child->run->network, child);
    if (strait_rate_changes_init(&w->changes, child->run->network) != 0)
        strait_child_no_memory(child);
    w->machine = strait_engine_new(child->run, &strait_fluid, &kernel, w, child);
    strait_engine_begin(w->machine);
    for (;;) { /* the last lane ends the simulation */
        strait_lanes_run(&w->machine->lanes);
        if (child->coroutines->no_memory)
            strait_child_no_memory(child);
        strait_child_look(child);
        const double flow_s = strait_fairshare_next_s(w->fairshare);
        if (isnan(flow_s))
            strait_child_no_memory(child);
        const double next_s = strait_least(
            flow_s, strait_least(first_key(&w->timers), strait_engine_next_s(w->machine)));
        if (isinf(next_s))
            return;
        w->now_s =
            strait_most(w->now_s, strait_least(next_s, strait_rate_changes_next_s(&w->changes)));
        run_due(w);
    }
}

static int check(const struct strait_run *run, struct strait_error *err)
{
    return strait_sim_check(run, "fluid", run->has_one_lane ? MAX_ONE_LANE_RANKS : MAX_RANKS, err);
}

static int run_once(struct strait_run *run, struct strait_error *err)
{
    if (check(run, err) != 0 || strait_sim_run(run, run->in_process, simulate, err) != 0)
        return -1;
    return strait_sim_facts(run, err);
}

const struct strait_backend strait_fluid = {
    .name = "fluid",
    .summary = "simulated time on an exact fair-share solver of our own, for many ranks",
    .check = check,
    .run = run_once,
    .ops = &strait_engine_ops,
};
