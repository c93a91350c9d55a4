#include "rate_changer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/host/rights.h"
#include "emu/host/syscalls.h"
#include "helper_process.h"
#include "net_plan.h"
#include "netlink.h"
#include "process/dilated_clock.h"

enum { LOOK_NS = 1000000 }; /* for the start of the run */

/* The rates that a link was given last, in any order. */
struct recent {
    _Atomic(double) bits_per_s[STRAIT_EMU_RECENT];
};

/* Notes of the process, read by the one that started it. */
struct shared {
    _Atomic(int64_t) late_ns;
    atomic_bool failed; /* text is complete */
    char text[STRAIT_EMU_CHANGE_CHARS];
    struct recent recent[]; /* of each link */
};

struct strait_emu_rate_changer {
    pid_t pid, owner;
    struct shared *shared;
    size_t shared_bytes;
};

struct changer { /* in the process */
    const struct strait_emu_net_plan *plan;
    const struct strait_emu_changing *links;
    int *fds;       /* netlink sockets in the links' namespaces */
    double *next_s; /* when each link changes next */
    struct strait_emu_qdisc *now;
    unsigned *n_changes; /* of each link */
    size_t n;
    struct shared *shared;
};

/* --- the process -------------------------------------------------------------------------- */

static void note_failure(struct changer *c, const struct strait_emu_changing *l, double at_s,
                         const struct strait_error *err)
{
    if (atomic_load(&c->shared->failed))
        return;
    snprintf(c->shared->text, sizeof(c->shared->text),
             "the %s link of node %d did not change its rate at %g s: %.120s", l->way, l->node,
             at_s, err->text);
    atomic_store(&c->shared->failed, true);
}

/* The rate is that of the middle of the step, which no rounding puts into another one. It is noted
 * before the change, so that who reads the queue finds it among the notes. */
static void set_step(struct strait_emu_qdisc *s, struct changer *c, size_t i, double from_s)
{
    const struct strait_emu_changing *l = &c->links[i];
    c->next_s[i] = strait_schedule_next_s(l->link->schedule, from_s);
    const double bits_per_s =
        strait_link_bits_per_s(l->link, (from_s + fmin(c->next_s[i], from_s + 1)) / 2);
    atomic_store(&c->shared->recent[i].bits_per_s[c->n_changes[i]++ % STRAIT_EMU_RECENT],
                 bits_per_s);
    strait_emu_qdisc_of_step(s, l->link, bits_per_s, c->plan->overhead_bytes,
                             strait_emu_net_plan_dilation(c->plan), strait_emu_qdisc_late_s());
}

static void change(struct changer *c, size_t i, double at_s)
{
    const struct strait_emu_changing *l = &c->links[i];
    struct strait_emu_qdisc to;
    struct strait_error err = {0};
    set_step(&to, c, i, at_s);
    if (strait_emu_qdisc_change(c->fds[i], l->device, &to, &c->now[i], &err) != 0)
        note_failure(c, l, at_s, &err);
    c->now[i] = to;
}

static void change_all(struct changer *c) __attribute__((noreturn));
static void change_all(struct changer *c)
{
    int64_t start_ns;
    while ((start_ns = atomic_load(c->plan->start_ns)) <= 0)
        strait_proc_sleep_until_ns(strait_proc_mono_ns() + LOOK_NS);
    const struct strait_proc_clock clock = {start_ns, strait_emu_net_plan_dilation(c->plan)};
    for (;;) {
        double at_s = INFINITY;
        for (size_t i = 0; i < c->n; i++)
            at_s = fmin(at_s, c->next_s[i]);
        if (!isfinite(at_s))
            for (;;)
                pause();
        const int64_t due_ns = start_ns + (int64_t)(1e9 * at_s * clock.dilation);
        strait_proc_sleep_until_ns(due_ns);
        for (size_t i = 0; i < c->n; i++)
            if (c->next_s[i] <= at_s)
                change(c, i, at_s);
        int64_t late_ns = strait_proc_mono_ns() - due_ns;
        late_ns += late_ns == 0; /* 0: there was no change yet */
        if (late_ns > atomic_load(&c->shared->late_ns))
            atomic_store(&c->shared->late_ns, late_ns);
    }
}

/* A socket in each link's namespace, and no other file but ready_fd. */
static int open_sockets(struct changer *c, int ready_fd)
{
    int *keep = calloc(c->n + 1, sizeof(*keep));
    int failed = keep ? 0 : -1;
    for (size_t i = 0; i < c->n && !failed; i++) {
        failed = setns(c->links[i].namespace_fd, CLONE_NEWNET) != 0 ||
                 (c->fds[i] = strait_emu_netlink_open(NULL)) < 0;
        keep[i] = c->fds[i];
    }
    if (!failed) {
        keep[c->n] = ready_fd;
        strait_emu_helper_keep(keep, c->n + 1);
    }
    free(keep);
    return failed;
}

static void run(struct changer *c, int ready_fd, pid_t parent) __attribute__((noreturn));
static void run(struct changer *c, int ready_fd, pid_t parent)
{
    if (!strait_emu_helper_begin(parent, "strait-rates"))
        _exit(EXIT_SUCCESS);
    prctl(PR_SET_TIMERSLACK, 1);
    if (c->plan->realtime)
        (void)strait_emu_helper_hurry(); /* if it may */
    for (size_t i = 0; i < c->n; i++)
        set_step(&c->now[i], c, i, 0);
    if (open_sockets(c, ready_fd) != 0 ||
        strait_emu_rights_drop(STRAIT_EMU_KEEP_NET, true, NULL) != 0 ||
        strait_emu_syscalls_refuse(NULL) != 0 || write(ready_fd, "r", 1) != 1)
        _exit(EXIT_FAILURE);
    close(ready_fd);
    change_all(c);
}

/* --- who starts it ------------------------------------------------------------------------ */

static int begin(struct strait_emu_rate_changer *r, struct changer *c, struct strait_error *err)
{
    int ends[2];
    char ready;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return strait_error_system(err, NULL, "cannot make a pipe");
    const pid_t parent = getpid();
    r->pid = fork();
    if (r->pid == 0)
        run(c, ends[1], parent);
    const int saved = errno;
    close(ends[1]);
    const bool is_ready = r->pid > 0 && TEMP_FAILURE_RETRY(read(ends[0], &ready, 1)) == 1;
    close(ends[0]);
    errno = saved;
    if (r->pid < 0)
        return strait_error_system(err, "fork", "cannot change the rates of links");
    return is_ready ? 0
                    : strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                       "the process that changes rates did not start");
}

int strait_emu_rate_changer_start(struct strait_emu_rate_changer **out,
                                  const struct strait_emu_net_plan *plan,
                                  const struct strait_emu_changing *links, size_t n,
                                  struct strait_error *err)
{
    *out = NULL;
    if (n == 0 || !plan->start_ns)
        return 0;
    struct strait_emu_rate_changer *r = calloc(1, sizeof(*r));
    const size_t shared_bytes = sizeof(struct shared) + n * sizeof(struct recent);
    struct shared *shared =
        mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct changer c = {.plan = plan,
                        .links = links,
                        .fds = calloc(n, sizeof(*c.fds)),
                        .next_s = calloc(n, sizeof(*c.next_s)),
                        .now = calloc(n, sizeof(*c.now)),
                        .n_changes = calloc(n, sizeof(*c.n_changes)),
                        .n = n,
                        .shared = shared};
    int status = -1;
    if (!r || shared == MAP_FAILED || !c.fds || !c.next_s || !c.now || !c.n_changes) {
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory to change rates");
        if (shared != MAP_FAILED)
            munmap(shared, shared_bytes);
        free(r);
    } else {
        r->shared = shared;
        r->shared_bytes = shared_bytes;
        r->owner = getpid();
        status = begin(r, &c, err);
        *out = r;
    }
    free(c.fds);
    free(c.next_s);
    free(c.now);
    free(c.n_changes);
    if (status != 0 && *out) {
        strait_emu_rate_changer_free(*out);
        *out = NULL;
    }
    return status;
}

double strait_emu_rate_changer_late_s(const struct strait_emu_rate_changer *c,
                                      char failure[STRAIT_EMU_CHANGE_CHARS])
{
    *failure = '\0';
    if (!c)
        return 0;
    if (atomic_load(&c->shared->failed))
        memcpy(failure, c->shared->text, STRAIT_EMU_CHANGE_CHARS);
    return 1e-9 * (double)atomic_load(&c->shared->late_ns);
}

size_t strait_emu_rate_changer_recent(double bits_per_s[STRAIT_EMU_RECENT],
                                      const struct strait_emu_rate_changer *c, size_t i)
{
    size_t n = 0;
    for (int k = 0; k < STRAIT_EMU_RECENT; k++) {
        const double rate = atomic_load(&c->shared->recent[i].bits_per_s[k]);
        if (rate > 0)
            bits_per_s[n++] = rate;
    }
    return n;
}

void strait_emu_rate_changer_free(struct strait_emu_rate_changer *c)
{
    if (!c)
        return;
    if (c->pid > 0 && c->owner == getpid()) {
        kill(c->pid, SIGKILL);
        TEMP_FAILURE_RETRY(waitpid(c->pid, NULL, 0));
    }
    munmap(c->shared, c->shared_bytes);
    free(c);
}
