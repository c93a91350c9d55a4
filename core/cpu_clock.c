#include "cpu_clock.h"
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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
    char text[NUMBER_CHARS + 1];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, NUMBER_CHARS);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strtoll(text, NULL, 10);
}

int64_t strait_cpu_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t strait_cpu_process_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
