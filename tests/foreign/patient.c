/* For programs that spin, in virtual time: who yields, or is told of an event that it may leave for
 * another thread (Gloo), sleeps for 5 us, so that time passes.
 *
 *   cc -shared -fPIC -o patient.so patient.c
 *   strait net run FILE --launcher vuml -- env LD_PRELOAD=$PWD/patient.so python3 train.py */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

static const struct timespec moment = {.tv_nsec = 5000};

int sched_yield(void)
{
    return nanosleep(&moment, NULL);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout_ms)
{
    int (*real)(int, struct epoll_event *, int, int);
    void *symbol = dlsym(RTLD_NEXT, "epoll_wait");
    memcpy(&real, &symbol, sizeof(real));
    const int n_ready = real(fd, events, n, timeout_ms);
    if (n_ready > 0)
        nanosleep(&moment, NULL);
    return n_ready;
}
