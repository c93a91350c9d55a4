#include "sentinel.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "process/dilated_clock.h"
#include "emu/host/dilation.h"
#include "emu/host/rights.h"
#include "emu/host/syscalls.h"

enum { PERIOD_NS = 2000000 };

struct shared {
    atomic_bool restart; /* asks the process to reset its notes */
    struct strait_emu_lateness lateness;
};

struct strait_emu_sentinel {
    pid_t pid;
    struct shared *shared;
};

static void watch(struct shared *s, pid_t parent) __attribute__((noreturn));
static void watch(struct shared *s, pid_t parent)
{
    prctl(PR_SET_NAME, "strait-sentinel");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before the prctl */
        _exit(EXIT_SUCCESS);
    prctl(PR_SET_TIMERSLACK, 1);
    close_range(0, ~0U, 0);
    if (strait_emu_rights_drop(STRAIT_EMU_KEEP_NOTHING, true, NULL) != 0 ||
        strait_emu_syscalls_refuse(NULL) != 0)
        _exit(EXIT_FAILURE);
    for (int64_t due_ns = strait_proc_mono_ns();;) {
        int64_t now_ns = strait_proc_mono_ns();
        due_ns = due_ns + PERIOD_NS > now_ns ? due_ns + PERIOD_NS : now_ns + PERIOD_NS;
        const struct timespec due = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0)
            ;
        now_ns = strait_proc_mono_ns();
        if (atomic_exchange(&s->restart, false))
            s->lateness = (struct strait_emu_lateness){.max_s = 0};
        /* all instants that it slept through were late */
        for (int64_t missed_ns = due_ns; missed_ns <= now_ns; missed_ns += PERIOD_NS)
            strait_emu_lateness_note(&s->lateness, 1e-9 * (double)(now_ns - missed_ns));
    }
}

int strait_emu_sentinel_start(struct strait_emu_sentinel **out, struct strait_error *err)
{
    const struct sched_param highest = {.sched_priority = sched_get_priority_max(SCHED_FIFO)},
                             normal = {.sched_priority = 0};
    const pid_t parent = getpid();
    *out = NULL;
    if (strait_emu_in_virtual_time() || strait_emu_in_qemu() ||
        sched_setscheduler(0, SCHED_FIFO, &highest) != 0)
        return 0;
    struct strait_emu_sentinel *s = calloc(1, sizeof(*s));
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t pid = s && shared != MAP_FAILED ? fork() : -1;
    if (pid == 0)
        watch(shared, parent);
    sched_setscheduler(0, SCHED_OTHER, &normal);
    if (pid < 0) {
        free(s);
        if (shared != MAP_FAILED)
            munmap(shared, sizeof(*shared));
        return strait_error_system(err, "fork", "cannot watch how late this machine is");
    }
    *s = (struct strait_emu_sentinel){.pid = pid, .shared = shared};
    *out = s;
    return 0;
}

bool strait_emu_sentinel_read(struct strait_emu_lateness *found, struct strait_emu_sentinel *s,
                              bool restart)
{
    if (!s)
        return false;
    *found = s->shared->lateness;
    if (restart)
        atomic_store(&s->shared->restart, true);
    return true;
}

void strait_emu_sentinel_free(struct strait_emu_sentinel *s)
{
    if (!s)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    munmap(s->shared, sizeof(*s->shared));
    free(s);
}
