#include "helper_process.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int by_value(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

void strait_emu_helper_keep(int *keep, size_t n)
{
    qsort(keep, n, sizeof(*keep), by_value);
    unsigned from = 0;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned)keep[i] > from)
            close_range(from, (unsigned)keep[i] - 1, 0);
        from = (unsigned)keep[i] + 1;
    }
    close_range(from, ~0U, 0);
}

bool strait_emu_helper_begin(pid_t parent, const char *name)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the parent; the helper ends with it */
    signal(SIGQUIT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return false;
    if (name)
        prctl(PR_SET_NAME, name);
    return true;
}

bool strait_emu_helper_hurry(void)
{
    const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK,
              highest = sched_get_priority_max(SCHED_FIFO);
    struct sched_param own = {.sched_priority = 0};
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        sched_getparam(0, &own);
    if (own.sched_priority < highest)
        own.sched_priority++;
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &own) == 0;
}
