#include "faulty.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/suite.h"

enum { MANY = 5000, FEW_BYTES = 3 };

static bool counts, halts; /* set before threads begin */
static atomic_long left;
static bool *failed; /* shared with processes that are forked */
static _Thread_local bool was_interrupted;

static bool fails(void)
{
    if (!counts || atomic_fetch_sub(&left, 1) != 0)
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

#define WRAPPED(type, name, arguments, values, failure)                                            \
    type __real_##name arguments;                                                                  \
    type __wrap_##name arguments;                                                                  \
    type __wrap_##name arguments                                                                   \
    {                                                                                              \
        return fails() ? failure : __real_##name values;                                           \
    }
#define HALTED(name, buffer)                                                                       \
    ssize_t __real_##name(int fd, buffer p, size_t n);                                             \
    ssize_t __wrap_##name(int fd, buffer p, size_t n);                                             \
    ssize_t __wrap_##name(int fd, buffer p, size_t n)                                              \
    {                                                                                              \
        return fails() || is_interrupted() ? -1 : __real_##name(fd, p, some(n));                   \
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

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails() ? -1 : __real_open(path, flags, mode);
}

long strait_faulty_each(int (*fn)(void *arg, struct strait_error *err), void *arg, long stride)
{
    if (!failed)
        failed = __real_mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(failed != MAP_FAILED);
    for (long n = (long)(strait_test_seed() % (uint64_t)stride); n < MANY; n += stride) {
        struct strait_error err = {0};
        *failed = false;
        left = n;
        counts = true;
        const int status = fn(arg, &err);
        counts = false;
        strait_test_context("call %ld: %s: %s", n, err.where, err.text);
        CU_ASSERT_EQUAL(err.code != STRAIT_OK, status != 0);
        if (*failed)
            continue;
        CU_ASSERT_EQUAL(status, 0);
        return n;
    }
    CU_FAIL_FATAL("it never ends");
    return MANY;
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
