#include "faulty.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/suite.h"

enum { MANY = 5000, FEW_BYTES = 3 };

static bool counts, halts; /* set before threads begin */
static atomic_long n_calls;
static long chosen;
static struct strait_places *places; /* NULL: none are recorded */
static bool *failed;                 /* shared with processes that are forked */
static _Thread_local bool was_interrupted;

static bool fails(const void *caller)
{
    if (!counts)
        return false;
    const long n = atomic_fetch_add(&n_calls, 1);
    if (places)
        strait_places_note(places, caller, n);
    if (n != chosen)
        return false;
    *failed = true;
    errno = EIO;
    return true;
}

/* Each call but every second one. */
static bool is_interrupted(void)
{
    if (!halts)
        return false;
    was_interrupted = !was_interrupted;
    if (was_interrupted)
        errno = EINTR;
    return was_interrupted;
}

static size_t some(size_t n)
{
    return halts && n > FEW_BYTES ? FEW_BYTES : n;
}

/* NOLINTBEGIN(bugprone-macro-parentheses,readability-inconsistent-declaration-parameter-name):
 * types and lists of arguments stand in no parentheses */
#define WRAPPED(type, name, arguments, values, failure)                                            \
    type __real_##name arguments;                                                                  \
    type __wrap_##name arguments;                                                                  \
    type __wrap_##name arguments                                                                   \
    {                                                                                              \
        return fails(__builtin_return_address(0)) ? failure : __real_##name values;                \
    }
#define HALTED(name, buffer)                                                                       \
    ssize_t __real_##name(int fd, buffer p, size_t n);                                             \
    ssize_t __wrap_##name(int fd, buffer p, size_t n);                                             \
    ssize_t __wrap_##name(int fd, buffer p, size_t n)                                              \
    {                                                                                              \
        return fails(__builtin_return_address(0)) || is_interrupted()                              \
                   ? -1                                                                            \
                   : __real_##name(fd, p, some(n));                                                \
    }

HALTED(read, void *)
HALTED(write, const void *)
WRAPPED(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAPPED(int, pipe2, (int fds[2], int flags), (fds, flags), -1)
WRAPPED(pid_t, fork, (void), (), -1)
WRAPPED(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
        (at, n, prot, flags, fd, offset), MAP_FAILED)
WRAPPED(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAPPED(int, socketpair, (int family, int type, int protocol, int fds[2]),
        (family, type, protocol, fds), -1)
WRAPPED(int, ftruncate, (int fd, off_t n), (fd, n), -1)
WRAPPED(int, fsync, (int fd), (fd), -1)
WRAPPED(int, fdatasync, (int fd), (fd), -1)
WRAPPED(int, fstat, (int fd, struct stat *out), (fd, out), -1)
WRAPPED(int, rename, (const char *from, const char *to), (from, to), -1)
WRAPPED(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
        (a, from, b, to, flags), -1)
WRAPPED(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAPPED(int, flock, (int fd, int operation), (fd, operation), -1)
WRAPPED(int, socket, (int family, int type, int protocol), (family, type, protocol), -1)
WRAPPED(int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n), -1)
WRAPPED(int, accept4, (int fd, struct sockaddr *from, socklen_t *n, int flags),
        (fd, from, n, flags), -1)
WRAPPED(int, setsockopt, (int fd, int level, int name, const void *p, socklen_t n),
        (fd, level, name, p, n), -1)
WRAPPED(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags), -1)
WRAPPED(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags), -1)
WRAPPED(int, setns, (int fd, int type), (fd, type), -1)
WRAPPED(int, unshare, (int flags), (flags), -1)
WRAPPED(int, mount,
        (const char *from, const char *to, const char *type, unsigned long flags, const void *data),
        (from, to, type, flags, data), -1)

WRAPPED(int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags), -1)
WRAPPED(int, epoll_create1, (int flags), (flags), -1)
WRAPPED(int, timerfd_create, (int clock, int flags), (clock, flags), -1)
WRAPPED(int, eventfd, (unsigned value, int flags), (value, flags), -1)
WRAPPED(int, chdir, (const char *path), (path), -1)
WRAPPED(int, bind, (int fd, const struct sockaddr *at, socklen_t n), (fd, at, n), -1)
WRAPPED(int, listen, (int fd, int n), (fd, n), -1)

/* What is closed a second time may be another's by then. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    const int status = __real_close(fd);
    if (status != 0 && errno == EBADF) {
        fprintf(stderr, "descriptor %d is closed and was not open\n", fd);
        abort();
    }
    return status;
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *argument = va_arg(args, void *); /* a number of its size, too */
    va_end(args);
    return fails(__builtin_return_address(0)) ? -1 : __real_ioctl(fd, request, argument);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails(__builtin_return_address(0)) ? -1 : __real_open(path, flags, mode);
}

void strait_faulty_begin(long n)
{
    if (!failed)
        failed = __real_mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(failed != MAP_FAILED);
    *failed = false;
    n_calls = 0;
    chosen = n;
    counts = true;
}

bool strait_faulty_end(void)
{
    counts = false;
    return *failed;
}

void strait_faulty_record(struct strait_places *p)
{
    places = p;
}

/* One of fn's calls fails. Returns: whether there was one with that number */
static bool try_one(int (*fn)(void *arg, struct strait_error *err), void *arg, long n)
{
    struct strait_error err = {0};
    strait_faulty_begin(n);
    const int status = fn(arg, &err);
    const bool has_failed = strait_faulty_end();
    strait_test_context("call %ld: %s: %s", n, err.where, err.text);
    CU_ASSERT_EQUAL(err.code != STRAIT_OK, status != 0);
    if (!has_failed)
        CU_ASSERT_EQUAL(status, 0);
    return has_failed;
}

long strait_faulty_each(int (*fn)(void *arg, struct strait_error *err), void *arg, long stride)
{
    for (long n = (long)(strait_test_seed() % (uint64_t)stride); n < MANY; n += stride)
        if (!try_one(fn, arg, n))
            return n;
    CU_FAIL_FATAL("it never ends");
    return MANY;
}

int strait_faulty_places(int (*fn)(void *arg, struct strait_error *err), void *arg)
{
    struct strait_places *p = strait_places_new();
    strait_faulty_record(p);
    try_one(fn, arg, -1);
    strait_faulty_record(NULL);
    const int n = atomic_load(&p->n);
    for (int i = 0; i < n; i++)
        try_one(fn, arg, p->first[i]);
    strait_places_free(p);
    return n;
}

void strait_halting_begin(void)
{
    halts = true;
    was_interrupted = false;
}

void strait_halting_end(void)
{
    halts = false;
}
/* NOLINTEND(bugprone-macro-parentheses,readability-inconsistent-declaration-parameter-name) */
