#include "instant.h"
#include "clock.h"
#include "cpu_clock.h"
#include <math.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

static const double finest_s = 1e-9;

struct strait_instant strait_instant_now(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return (struct strait_instant){.wall_s = strait_clock_s(),
                                   .thread_s = 1e-9 * (double)strait_cpu_thread_ns(),
                                   .process_s = 1e-9 * (double)strait_cpu_process_ns(),
                                   .n_waits = usage.ru_nvcsw};
}

double strait_instant_cost_s(const struct strait_instant *begin)
{
    const struct strait_instant end = strait_instant_now();
    const double thread_s = end.thread_s - begin->thread_s;
    if (strait_cpu_is_of_host()) /* a guest in virtual time: only processor time passes */
        return fmax(end.process_s - begin->process_s, finest_s);
    const double others_s = end.process_s - begin->process_s - thread_s;
    /* tolerance: 5 % and 20 us, more than the resolution of the clocks */
    const bool alone = end.n_waits == begin->n_waits && others_s < 0.05 * thread_s + 20e-6;
    return fmax(alone ? thread_s : end.wall_s - begin->wall_s, finest_s);
}
