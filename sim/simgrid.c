/* The backend `sim`: SimGrid advances the clock and shares the links. One actor runs all lanes as
 * coroutines, and one actor for each stream carries out its actions, so that a blocking lane costs
 * no SimGrid call. Uses the C API of 3.32, without what later releases removed. */
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
    sg_sem_t bell;                 /* wakes the actor that runs the lanes */
    bool waits;                    /* it waits, and the bell was not rung yet */
    double until_s;                /* at the latest */
    struct strait_stream **kicked; /* by lanes, in that order; their actors do not know yet */
    size_t n_kicked, cap_kicked, n_ends, max_mappings;
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

/* An actor on the sending host of a stream. Ends come in pairs, one on either host of the stream;
 * the second one is spare until a stream in the other direction needs it. */
struct end {
    struct strait_stream *stream; /* NULL: spare */
    sg_sem_t kicked;
    char mailbox_name[24];
    sg_mailbox_t mailbox;
    struct end *opposite, *next; /* opposite: its partner; next: spare, between the same hosts */
};

/* Not sg_host_sendto: in 3.32 it searches a list of all sends at its end, 4.4 us of 5.7 with 1,024
 * of them and 20 of 22 with 4,096. A put into a mailbox with a permanent receiver starts at once
 * too and uses the same links; the receiver, the opposite end, only tells SimGrid the
 * destination. */
static void carry(struct end *end, double bytes)
{
    const struct strait_engine *m = end->stream->machine;
    struct world *w = m->world;
    const long n_bytes = (long)bytes;
    if (w->rates.links) {
        int links[STRAIT_MAX_HOPS];
        const int n_links =
            strait_network_path(m->run->network, end->stream->src, end->stream->dst, links);
        strait_simgrid_rates_lift(&w->rates, links, n_links);
        sg_comm_t comm = w->sg.sg_mailbox_put_async(end->mailbox, end, n_bytes);
        strait_simgrid_rates_lower(&w->rates, links, n_links);
        w->sg.sg_comm_wait(comm);
    } else { /* waiting also starts it, in the same call */
        w->sg.sg_comm_wait(w->sg.sg_mailbox_put_init(end->mailbox, end, n_bytes));
    }
    w->sg.sg_mailbox_get(end->mailbox); /* there already; else the mailbox keeps every message */
}

static void end_actor(int argc, char **argv)
{
    struct world *w = world_of(argc, argv);
    const struct strait_simgrid *sg = &w->sg;
    struct end *end = sg->sg_actor_self_get_data();
    sg->sg_actor_daemonize(sg->sg_actor_self());
    sg->sg_mailbox_set_receiver(end->opposite->mailbox_name);
    sg->sg_sem_acquire(end->kicked);
    struct strait_stream *s = end->stream;
    for (double t_s = sg->simgrid_get_clock();;) {
        const struct strait_action action = strait_stream_next(s, t_s);
        switch (action.kind) {
        case STRAIT_IDLE:
            sg->sg_sem_acquire(end->kicked);
            t_s = sg->simgrid_get_clock();
            break;
        case STRAIT_SLEEP:
            sg->sg_actor_sleep_until(action.until_s);
            t_s = action.until_s; /* exact, which SimGrid's clock may not be */
            break;
        case STRAIT_FLOW:
            carry(end, action.bytes);
            t_s = sg->simgrid_get_clock();
            strait_stream_flow_ended(s, t_s);
            if (w->waits && (w->machine->lanes.ready_first ||
                             strait_lanes_next_s(&w->machine->lanes) < w->until_s)) {
                w->waits = false;
                sg->sg_sem_release(w->bell);
            }
            break;
        }
    }
}

/* Only note it: a SimGrid call would switch from the lane's stack to another actor's. */
static void kick(void *world, struct strait_stream *s)
{
    struct world *w = world;
    if (w->n_kicked == w->cap_kicked) {
        w->cap_kicked = w->cap_kicked > 0 ? 2 * w->cap_kicked : 64;
        w->kicked = realloc(w->kicked, w->cap_kicked * sizeof(*w->kicked));
        if (!w->kicked)
            strait_child_no_memory(w->machine->child);
    }
    w->kicked[w->n_kicked++] = s;
}

static struct end *new_end(struct world *w)
{
    struct end *end = strait_child_alloc(w->machine->child, 1, sizeof(*end));
    snprintf(end->mailbox_name, sizeof(end->mailbox_name), "%zu", w->n_ends++);
    end->mailbox = w->sg.sg_mailbox_by_name(end->mailbox_name);
    end->kicked = w->sg.sg_sem_init(0);
    return end;
}

/* The list of spare ends from src to dst; it is kept at a stream that no program can post to. */
static struct end **spare_ends(struct world *w, int src, int dst)
{
    return (struct end **)&strait_stream_find(w->machine, src, dst, STRAIT_MAX_CHANNELS)->kernel;
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
    const size_t n_stacks = w->n_ends + 2 + w->machine->lanes.coroutines->n_made;
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

/* Take a spare end, or make a pair; the receiver exists before anything is sent. */
static struct end *take_end(struct world *w, const struct strait_stream *s)
{
    struct end **spare = spare_ends(w, s->src, s->dst), *end = *spare;
    if (end) {
        *spare = end->next;
        return end;
    }
    check_mappings(w, s);
    end = new_end(w);
    end->opposite = new_end(w);
    end->opposite->opposite = end;
    start_actor(w, w->hosts[s->dst], end_actor, end->opposite);
    start_actor(w, w->hosts[s->src], end_actor, end);
    spare = spare_ends(w, s->dst, s->src);
    end->opposite->next = *spare;
    *spare = end->opposite;
    return end;
}

static void start_kicked(struct world *w)
{
    for (size_t i = 0; i < w->n_kicked; i++) {
        struct strait_stream *s = w->kicked[i];
        struct end *end = s->kernel;
        if (!end) {
            s->kernel = end = take_end(w, s);
            end->stream = s;
        }
        w->sg.sg_sem_release(end->kicked);
    }
    w->n_kicked = 0;
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
    for (;;) { /* the last lane ends the process */
        strait_lanes_run(&w->machine->lanes);
        if (w->machine->lanes.coroutines->no_memory)
            strait_child_no_memory(w->machine->child);
        start_kicked(w);
        if (!w->machine->lanes.ready_first)
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
