#include "clock.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const double finest_s = 1e-9;
enum { NUMBER_CHARS = 32 };

static const char *host_file(void)
{
    const char *path = getenv(STRAIT_HOST_CPU);
    return path && *path ? path : NULL;
}

bool strait_cpu_is_of_host(void)
{
    return host_file() != NULL;
}

static int64_t read_ns(clockid_t clock)
{
    const char *path = host_file();
    if (!path) {
        struct timespec t;
        clock_gettime(clock, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    char text[NUMBER_CHARS + 1] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, NUMBER_CHARS);
    if (fd >= 0)
        close(fd);
    return n > 0 ? strtoll(text, NULL, 10) : 0;
}

int64_t strait_cpu_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t strait_cpu_reading_ns(void)
{
    enum { N_PAIRS = 16 };
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < N_PAIRS; i++) {
        const int64_t before_ns = strait_cpu_thread_ns();
        const int64_t took_ns = strait_cpu_thread_ns() - before_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return least_ns;
}

int64_t strait_cpu_process_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

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
