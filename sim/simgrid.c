/* The backend `sim`: SimGrid advances the clock and shares the links. One actor runs all lanes as
 * coroutines and begins all flows, on the host of each, and one actor for each stream takes its
 * flows, so that a blocking lane costs no SimGrid call. Uses the C API of 3.32, without what later
 * releases removed. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"
#include "engine.h"
#include "platform.h"
#include "simgrid_library.h"
#include "simgrid_rates.h"

/* 10,000 clients and a server need 20,000 actors (two streams a client) and 10,001 lanes; at two
 * mappings each they stay below the kernel's limit. */
enum { MAX_RANKS = 10001, OTHER_MAPPINGS = 1000 };

struct world {
    struct strait_simgrid sg;
    struct strait_engine *machine;
    sg_host_t *hosts;
    sg_sem_t bell;  /* wakes the actor that runs the lanes */
    bool waits;     /* it waits, and the bell was not rung yet */
    double until_s; /* at the latest */
    sg_actor_t lanes_actor;
    sg_host_t at;            /* where it is */
    struct carrier **starts; /* whose flows it starts next */
    size_t n_starts, cap_starts, n_actors, max_mappings;
    struct strait_simgrid_rates rates;
};

#if SIMGRID_VERSION >= 33400
#define PRECISION "precision/timing"
#else
#define PRECISION "surf/precision"
#endif
#define PRECISION_S 1e-9
#if defined(__SANITIZE_ADDRESS__) /* the sanitizer follows threads, not switched stacks */
#define FACTORY "thread"
#elif defined(__x86_64__)
#define FACTORY "raw"
#else
#define FACTORY "boost"
#endif

static double now_s(void *world)
{
    return ((const struct world *)world)->sg.simgrid_get_clock();
}

/* An actor is given texts alone: the world's address is one. */
static void start_actor(struct world *w, sg_host_t host, xbt_main_func_t code, void *data)
{
    char address[32];
    const char *const argv[] = {address};
    snprintf(address, sizeof(address), "%p", (void *)w);
    sg_actor_t actor = w->sg.sg_actor_init("", host);
    w->sg.sg_actor_set_data(actor, data);
    w->sg.sg_actor_start_(actor, code, 1, argv);
}

static struct world *world_of(int argc, char **argv)
{
    void *w = NULL;
    const int n = argc == 1 ? sscanf(argv[0], "%p", &w) : 0;
    assert(n == 1);
    (void)n;
    return w;
}

/* Of a stream: what it does next, and the actor on its destination's host that takes its flows. */
struct carrier {
    struct strait_turn turn; /* must be first: at until_s */
    double until_s, bytes;   /* bytes: of the flow that starts */
    struct strait_stream *stream;
    sg_mailbox_t mailbox; /* NULL: it has no actor yet */
};

static void note_start(struct world *w, struct carrier *c)
{
    if (w->n_starts == w->cap_starts) {
        w->cap_starts = w->cap_starts > 0 ? 2 * w->cap_starts : 64;
        w->starts = realloc(w->starts, w->cap_starts * sizeof(*w->starts));
        if (!w->starts)
            strait_child_no_memory(w->machine->child);
    }
    w->starts[w->n_starts++] = c;
}

/* The stream's next action at t_s. No call of SimGrid: lanes post on their own stacks. */
static void act(struct world *w, struct carrier *c, double t_s)
{
    for (;;) {
        const struct strait_action action = strait_stream_next(c->stream, t_s);
        if (action.kind == STRAIT_IDLE)
            return;
        if (action.kind == STRAIT_FLOW) {
            c->bytes = action.bytes;
            note_start(w, c);
            return;
        }
        t_s = c->until_s = action.until_s; /* exact, which SimGrid's clock may not be */
        if (t_s > w->sg.simgrid_get_clock()) {
            if (strait_lanes_call_at(&w->machine->lanes, &c->turn, t_s) != 0)
                strait_child_no_memory(w->machine->child);
            return;
        }
    }
}

static void act_at(struct strait_turn *turn)
{
    struct carrier *c = (struct carrier *)turn;
    act(c->stream->machine->world, c, c->until_s);
}

static void kick(void *world, struct strait_stream *s)
{
    struct world *w = world;
    struct carrier *c = s->kernel;
    if (!c) {
        s->kernel = c = strait_child_alloc(w->machine->child, 1, sizeof(*c));
        c->turn.call = act_at;
        c->stream = s;
    }
    act(w, c, now_s(w));
}

static void take_flows(int argc, char **argv)
{
    struct world *w = world_of(argc, argv);
    const struct strait_simgrid *sg = &w->sg;
    struct carrier *c = sg->sg_actor_self_get_data();
    sg->sg_actor_daemonize(sg->sg_actor_self());
    for (;;) {
        sg->sg_mailbox_get(c->mailbox);
        const double t_s = sg->simgrid_get_clock();
        strait_stream_flow_ended(c->stream, t_s);
        act(w, c, t_s);
        if (w->waits && (w->n_starts > 0 || w->machine->lanes.ready_first ||
                         strait_lanes_next_s(&w->machine->lanes) < w->until_s)) {
            w->waits = false;
            sg->sg_sem_release(w->bell);
        }
    }
}

static size_t max_mappings(void)
{
    size_t n = 65530; /* Linux: DEFAULT_MAX_MAP_COUNT */
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f && fscanf(f, "%zu", &n) != 1)
        n = 65530;
    if (f)
        fclose(f);
    return n;
}

/* Fail with an error where SimGrid would abort for lack of a stack. */
static void check_mappings(struct world *w, const struct strait_stream *s)
{
    const size_t n_stacks = w->n_actors + 2 + w->machine->lanes.coroutines->n_made;
    struct strait_error err = {0};
    if (2 * n_stacks + OTHER_MAPPINGS <= w->max_mappings)
        return;
    strait_error_set(&err, STRAIT_ERR_HOST, "sim",
                     "rank %d's stream to rank %d is one too many: %zu streams and lanes have a "
                     "stack each, of two mappings, and vm.max_map_count is %zu; raise it, or use "
                     "the backend fluid",
                     s->src, s->dst, n_stacks, w->max_mappings);
    strait_child_fail(w->machine->child, &err);
}

static void add_actor(struct world *w, struct carrier *c)
{
    char name[24];
    check_mappings(w, c->stream);
    snprintf(name, sizeof(name), "%zu", w->n_actors++);
    c->mailbox = w->sg.sg_mailbox_by_name(name);
    start_actor(w, w->hosts[c->stream->dst], take_flows, c);
}

/* A message begins where the actor is that puts it. Not sg_host_sendto: in 3.32 it searches a list
 * of all sends at its end, 4.4 us of 5.7 with 1,024 of them and 20 of 22 with 4,096. */
static void put(struct world *w, const struct carrier *c)
{
    sg_host_t src = w->hosts[c->stream->src];
    if (w->at != src)
        w->sg.sg_actor_set_host(w->lanes_actor, src);
    w->at = src;
    w->sg.sg_comm_detach(w->sg.sg_mailbox_put_init(c->mailbox, w, (long)c->bytes), NULL);
}

static void start(struct world *w, const struct carrier *c)
{
    const struct strait_stream *s = c->stream;
    int links[STRAIT_MAX_HOPS];
    if (!w->rates.links) {
        put(w, c);
        return;
    }
    const int n_links = strait_network_path(w->machine->run->network, s->src, s->dst, links);
    strait_simgrid_rates_lift(&w->rates, links, n_links);
    put(w, c);
    strait_simgrid_rates_lower(&w->rates, links, n_links);
}

/* A flow starts when both its ends are there: where links change their rates, it must be when it is
 * put. Each call lets others run, which may note more. */
static void start_flows(struct world *w)
{
    bool wait = w->rates.links;
    for (size_t i = 0; i < w->n_starts; i++)
        if (!w->starts[i]->mailbox) {
            add_actor(w, w->starts[i]);
            wait = true;
        }
    if (wait && w->n_starts > 0)
        w->sg.sg_actor_yield();
    for (size_t i = 0; i < w->n_starts; i++)
        start(w, w->starts[i]);
    w->n_starts = 0;
}

/* Wait until a lane is ready or the first sleeping lane is due. If a time-out and a ring coincide,
 * the ring that is left over makes the next wait return early. */
static void wait_for_lanes(struct world *w)
{
    const double next_s = strait_engine_next_s(w->machine),
                 left_s = next_s - w->sg.simgrid_get_clock();
    if (left_s <= PRECISION_S) { /* the clock need not come closer */
        strait_engine_due(w->machine, next_s);
        return;
    }
    w->waits = true;
    w->until_s = next_s;
    if (isinf(next_s))
        w->sg.sg_sem_acquire(w->bell);
    else if (w->sg.sg_sem_acquire_timeout(w->bell, left_s))
        w->sg.sg_actor_yield(); /* so that lanes see all flow ends at this instant */
    w->waits = false;
    strait_engine_due(w->machine, w->sg.simgrid_get_clock());
}

static void lanes_actor(int argc, char **argv)
{
    struct world *w = world_of(argc, argv);
    w->lanes_actor = w->sg.sg_actor_self();
    for (;;) { /* the last lane ends the process */
        strait_lanes_run(&w->machine->lanes);
        if (w->machine->lanes.coroutines->no_memory)
            strait_child_no_memory(w->machine->child);
        start_flows(w);
        if (!w->machine->lanes.ready_first && w->n_starts == 0)
            wait_for_lanes(w);
    }
}

static void rates_actor(int argc, char **argv)
{
    struct world *w = world_of(argc, argv);
    w->sg.sg_actor_daemonize(w->sg.sg_actor_self());
    strait_simgrid_rates_change(&w->rates);
}

static const struct strait_kernel kernel = {now_s, kick};

/* Set all options: the default LV08 multiplies latencies by 13, and its 4 MiB window is not the
 * run's. */
static void configure(const struct world *w)
{
    char name[] = "strait", quiet[] = "--log=root.thresh:critical"; /* not the user's argv */
    char factory[] = "--cfg=contexts/factory:" FACTORY;             /* set at its start */
    char *argv[] = {name, quiet, factory, NULL};
    int argc = 3;
    w->sg.simgrid_init(&argc, argv);
    w->sg.sg_cfg_set_string("network/model", "CM02");
    w->sg.sg_cfg_set_double("network/TCP-gamma", 0);
    w->sg.sg_cfg_set_boolean("network/crosstraffic", "no");
    w->sg.sg_cfg_set_double(PRECISION, PRECISION_S);
    w->sg.sg_cfg_set_int("contexts/stack-size", STRAIT_LANE_STACK_KIB);
}

static void simulate(struct strait_child *child)
{
    struct strait_error err = {0};
    struct world w = {0};
    const int fd = strait_simgrid_load(&w.sg, &err) == 0
                       ? strait_platform_write(child->run->network, &err)
                       : -1;
    if (fd < 0)
        strait_child_fail(child, &err);
    configure(&w);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    w.sg.simgrid_load_platform(path);
    close(fd);

    w.hosts = strait_child_alloc(child, (size_t)child->run->n_ranks, sizeof(*w.hosts));
    for (int i = 0; i < child->run->n_ranks; i++) {
        snprintf(path, sizeof(path), "h%d", i);
        w.hosts[i] = w.sg.sg_host_by_name(path);
    }
    w.machine = strait_engine_new(child->run, &strait_sim, &kernel, &w, child);
    strait_engine_begin(w.machine);
    w.bell = w.sg.sg_sem_init(0);
    w.max_mappings = max_mappings();
    start_actor(&w, w.hosts[0], lanes_actor, &w);
    strait_simgrid_rates_init(&w.rates, &w.sg, child->run->network, child);
    if (w.rates.links)
        start_actor(&w, w.hosts[0], rates_actor, &w);
    w.sg.simgrid_run();
}

static int check(const struct strait_run *run, struct strait_error *err)
{
    return strait_sim_check(run, "sim", MAX_RANKS, err);
}

static int add_facts(struct strait_run *run, struct strait_error *err)
{
    char version[32];
    snprintf(version, sizeof(version), "%d.%d", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
    const char *source = "SimGrid; set by name, no default is trusted";
    if (!run->facts)
        return 0;
    if (strait_sim_constant(run, "simgrid/version", json_string(version), "simgrid/version.h",
                            err) != 0 ||
        strait_sim_constant(run, "simgrid/network/model", json_string("CM02"), source, err) != 0 ||
        strait_sim_constant(run, "simgrid/network/TCP-gamma", json_real(0), source, err) != 0 ||
        strait_sim_constant(run, "simgrid/network/crosstraffic", json_false(), source, err) != 0 ||
        strait_sim_constant(run, "simgrid/" PRECISION, json_real(PRECISION_S), source, err) != 0 ||
        strait_sim_constant(run, "simgrid/contexts/factory", json_string(FACTORY), source, err) !=
            0 ||
        strait_sim_constant(run, "simgrid/contexts/stack-size", json_integer(STRAIT_LANE_STACK_KIB),
                            source, err) != 0)
        return -1;
    return strait_sim_facts(run, err);
}

static int run_once(struct strait_run *run, struct strait_error *err)
{
    struct strait_simgrid ready; /* loaded here, so that the next simulation finds it loaded */
    if (check(run, err) != 0 || strait_simgrid_load(&ready, err) != 0 ||
        strait_sim_run(run, false, simulate, err) != 0)
        return -1;
    return add_facts(run, err);
}

const struct strait_backend strait_sim = {
    .name = "sim",
    .summary = "simulated time on SimGrid's fair-share network model",
    .check = check,
    .run = run_once,
    .ops = &strait_engine_ops,
};
