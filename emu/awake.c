#include "awake.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "dilation.h"

static void spin(size_t processor, pid_t parent) __attribute__((noreturn));
static void spin(size_t processor, pid_t parent)
{
    const struct sched_param lowest = {0};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(EXIT_SUCCESS);
    close_range(0, ~0U, 0);
    /* At any other priority it would take time from those who work. */
    if (sched_setscheduler(0, SCHED_IDLE, &lowest) != 0 ||
        sched_setaffinity(0, sizeof(set), &set) != 0)
        _exit(EXIT_FAILURE);
    for (;;) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause(); /* leaves the core to its other hardware thread */
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

int strait_emu_stay_awake(struct strait_error *err)
{
    const pid_t parent = getpid();
    cpu_set_t set;
    /* A guest's one processor is a program of the host, awake or not; in QEMU idleness is free. */
    if (strait_emu_in_uml() || strait_emu_in_qemu())
        return 0;
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return strait_error_system(err, "processors", "cannot be read");
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &set))
            continue;
        const pid_t pid = fork();
        if (pid < 0)
            return strait_error_system(err, "fork", "cannot keep the processors awake");
        if (pid == 0)
            spin(i, parent);
    }
    return 0;
}
