#include "one_cpu.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket's abstract name is taken by one process at a time, and free again when that has ended,
 * however it ended.
 * Returns: the socket, or -1: another has it */
static int hold(const char *what, int cpu)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int n =
        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "strait %.40s on %05d", what, cpu);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&name, len) == 0)
        return fd;
    close(fd);
    return -1;
}

int strait_one_cpu_take(struct strait_one_cpu *one, const char *what)
{
    one->fd = -1;
    if (sched_getaffinity(0, sizeof(one->before), &one->before) != 0)
        return -1;
    const unsigned here = (unsigned)sched_getcpu(); /* or a large number */
    for (unsigned i = 0; i < CPU_SETSIZE; i++) {
        const unsigned cpu = (here + i) % CPU_SETSIZE;
        cpu_set_t only;
        if (!CPU_ISSET(cpu, &one->before) || (one->fd = hold(what, (int)cpu)) < 0)
            continue;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        if (sched_setaffinity(0, sizeof(only), &only) == 0)
            return (int)cpu;
        close(one->fd);
        one->fd = -1;
    }
    return -1;
}

void strait_one_cpu_give_back(struct strait_one_cpu *one)
{
    if (one->fd < 0)
        return;
    sched_setaffinity(0, sizeof(one->before), &one->before);
    close(one->fd);
    one->fd = -1;
}
