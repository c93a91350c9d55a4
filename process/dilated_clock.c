#include "dilated_clock.h"
#include "codecs/foreign/isolate.h"
#include "core/clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static const double FAR_NS = 1e18;
enum { PROMPT_NICE = -15 };

static int64_t read_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t strait_proc_mono_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t strait_proc_thread_cpu_ns(void)
{
    return strait_cpu_thread_ns() + (int64_t)(1e9 * strait_isolated_cpu_s());
}

void strait_proc_be_prompt(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
    const struct sched_param lowest = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0)
        return;
    setpriority(PRIO_PROCESS, 0, PROMPT_NICE);
}

void strait_proc_be_ordinary(void)
{
    const struct sched_param none = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
    setpriority(PRIO_PROCESS, 0, 0);
}

struct timespec strait_proc_timespec(int64_t mono_ns)
{
    if (mono_ns < 0)
        mono_ns = 0;
    return (struct timespec){.tv_sec = mono_ns / 1000000000, .tv_nsec = mono_ns % 1000000000};
}

void strait_proc_sleep_until_ns(int64_t mono_ns)
{
    const struct timespec t = strait_proc_timespec(mono_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

double strait_proc_clock_virtual_s(const struct strait_proc_clock *c, int64_t mono_ns)
{
    return (double)(mono_ns - c->start_ns) / 1e9 / c->dilation;
}

int64_t strait_proc_clock_real_ns(const struct strait_proc_clock *c, double duration_s)
{
    const double ns = duration_s * c->dilation * 1e9;
    if (!(ns > -FAR_NS)) /* NaN as well: asked for by nobody, but never a huge wait */
        return (int64_t)-FAR_NS;
    return (int64_t)(ns < FAR_NS ? ns : FAR_NS);
}

int64_t strait_proc_clock_mono_ns(const struct strait_proc_clock *c, double virtual_s)
{
    return c->start_ns + strait_proc_clock_real_ns(c, virtual_s);
}
