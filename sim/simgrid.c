/* The backend `sim`: SimGrid turns the clock and shares the links; an actor is a lane or carries
 * out the actions of one stream. The C API of 3.32, without what later releases removed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <simgrid/version.h>
#include <xbt/config.h>

#include "facts.h"
#include "machine.h"
#include "platform.h"

/* 10,000 clients and a server: 30,003 actors (a lane and two streams a rank) stay below the kernel's
 * limit of mappings. */
enum { MOST_RANKS = 10001 };

struct world {
    struct strait_machine *machine;
    sg_host_t *hosts;
    sg_sem_t *woken; /* bells of lanes that run when the one that woke them blocks */
    size_t n_woken, cap_woken;
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
    (void)world;
    return simgrid_get_clock();
}

/* Ringing a bell is a call of the simulator, after which the woken lane would run before its waker
 * goes on. Where both then queue for one core, the order would not be that of `fluid`: there, as
 * here, a lane runs until it blocks. */
static void ring(struct world *w)
{
    while (w->n_woken > 0) { /* in the order of waking; a call may let others wake more */
        sg_sem_t first = w->woken[0];
        memmove(w->woken, w->woken + 1, --w->n_woken * sizeof(*w->woken));
        sg_sem_release(first);
    }
}

static void lane_actor(int argc, char **argv)
{
    (void)argc, (void)argv;
    struct strait_lane *lane = sg_actor_self_get_data();
    strait_lane_main(lane);
    ring(lane->machine->world);
}

static void start_actor(sg_host_t host, xbt_main_func_t code, void *data)
{
    sg_actor_t actor = sg_actor_init("", host);
    sg_actor_set_data(actor, data);
    sg_actor_start(actor, code, 0, NULL);
}

static void begin(void *world, struct strait_lane *lane)
{
    const struct world *w = world;
    lane->kernel = sg_sem_init(0);
    start_actor(w->hosts[lane->rank.me], lane_actor, lane);
}

/* A time-out and a release may meet in one instant: a release that is left over makes the next
 * acquire return early, so the flag decides. */
static void block(void *world, struct strait_lane *lane, double until_s)
{
    sg_sem_t bell = lane->kernel;
    ring(world);
    while (!lane->woken) {
        if (isinf(until_s)) {
            sg_sem_acquire(bell);
            continue;
        }
        const double left_s = until_s - simgrid_get_clock();
        if (left_s <= 0 || sg_sem_acquire_timeout(bell, left_s))
            return;
    }
}

static void wake(void *world, struct strait_lane *lane)
{
    struct world *w = world;
    if (w->n_woken == w->cap_woken) {
        w->cap_woken = w->cap_woken > 0 ? 2 * w->cap_woken : 64;
        w->woken = realloc(w->woken, w->cap_woken * sizeof(*w->woken));
        if (!w->woken)
            strait_child_no_memory(w->machine->child);
    }
    w->woken[w->n_woken++] = lane->kernel;
}

/* The life of a stream. sg_host_sendto charges the links for these bytes and for nothing else. */
static void stream_actor(int argc, char **argv)
{
    (void)argc, (void)argv;
    struct strait_stream *s = sg_actor_self_get_data();
    struct world *w = s->machine->world;
    sg_actor_daemonize(sg_actor_self());
    for (double t_s = simgrid_get_clock();;) {
        const struct strait_action action = strait_stream_next(s, t_s);
        switch (action.kind) {
        case STRAIT_IDLE:
            sg_sem_acquire(s->kernel);
            t_s = simgrid_get_clock();
            break;
        case STRAIT_SLEEP:
            sg_actor_sleep_until(action.until_s);
            t_s = action.until_s; /* exact, as the clock need not be */
            break;
        case STRAIT_FLOW:
            sg_host_sendto(w->hosts[s->src], w->hosts[s->dst], action.bytes);
            t_s = simgrid_get_clock();
            strait_stream_flow_ended(s, t_s);
            ring(w);
            break;
        }
    }
}

static void kick(void *world, struct strait_stream *s)
{
    const struct world *w = world;
    if (s->kernel) {
        sg_sem_release(s->kernel);
        return;
    }
    s->kernel = sg_sem_init(0);
    start_actor(w->hosts[s->src], stream_actor, s);
}

static const struct strait_kernel kernel = {now_s, begin, block, wake, kick};

/* Never the defaults: LV08 multiplies latencies by 13 and its 4 MiB window is not the run's. */
static void configure(void)
{
    char name[] = "strait", quiet[] = "--log=root.thresh:critical"; /* never the user's argv */
    char factory[] = "--cfg=contexts/factory:" FACTORY;             /* chosen while it starts */
    char *argv[] = {name, quiet, factory, NULL};
    int argc = 3;
    simgrid_init(&argc, argv);
    sg_cfg_set_string("network/model", "CM02");
    sg_cfg_set_double("network/TCP-gamma", 0);
    sg_cfg_set_boolean("network/crosstraffic", "no");
    sg_cfg_set_double(PRECISION, PRECISION_S);
    sg_cfg_set_int("contexts/stack-size", STRAIT_LANE_STACK_KIB);
}

static void simulate(struct strait_child *child)
{
    struct strait_error err = {0};
    const int fd = strait_platform_write(child->run->network, &err);
    if (fd < 0)
        strait_child_fail(child, &err);
    configure();
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    simgrid_load_platform(path);
    close(fd);

    struct world w = {0};
    w.hosts = strait_child_alloc(child, (size_t)child->run->n_ranks, sizeof(*w.hosts));
    for (int i = 0; i < child->run->n_ranks; i++) {
        snprintf(path, sizeof(path), "h%d", i);
        w.hosts[i] = sg_host_by_name(path);
    }
    w.machine = strait_machine_new(child->run, &strait_sim, &kernel, &w, child);
    strait_machine_begin(w.machine);
    simgrid_run(); /* the last lane ends the process */
}

static int check(const struct strait_run *run, struct strait_error *err)
{
    return strait_sim_check(run, "sim", MOST_RANKS, err);
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
    if (check(run, err) != 0 || strait_child_run(run, simulate, err) != 0)
        return -1;
    return add_facts(run, err);
}

const struct strait_backend strait_sim = {
    .name = "sim",
    .summary = "simulated time on SimGrid's fair-share network model",
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
