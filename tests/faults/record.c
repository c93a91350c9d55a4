/* Loaded before the program (LD_PRELOAD): notes what each process of a command asks of the kernel,
 * as texts without what differs from run to run and from machine to machine. STRAIT_ASKED: a file
 * of RECORD_BYTES zeros, shared by all of them, which takes a line a call: "strait-super:
 * socketpair(1, 2000000, 0)". Noted are calls out of the program itself; a process notes the same
 * call once. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's functions by
 * their names, whose parameters it calls __fd */
#define PUBLIC __attribute__((visibility("default")))

enum { RECORD_BYTES = 1 << 22, MAX_NOTED = 4096, LINE_CHARS = 700, MAX_RANGES = 4 };

static struct {
    bool ready;
    char *lines; /* shared: the bytes used, then the lines */
    uint64_t noted[MAX_NOTED];
    int n_noted;
    pid_t pid; /* of whom these are */
    struct {
        uintptr_t from, to;
    } ranges[MAX_RANGES];
    int n_ranges;
    const char *of; /* what is done to many numbers in turn is noted once, when something else is */
    uint64_t many;
} record;

static bool is_ours(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    bool ours = false;
    for (int i = 0; record.ready && i < record.n_ranges && !ours; i++)
        ours = at >= record.ranges[i].from && at < record.ranges[i].to;
    return ours;
}

/* Threads may race for a place in `noted`: a line twice does no harm. */
static bool is_new(const char *line)
{
    uint64_t hash = 1469598103934665603u;
    for (const char *c = line; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    const pid_t pid = (pid_t)syscall(SYS_getpid);
    if (record.pid != pid) {
        record.pid = pid;
        record.n_noted = 0;
    }
    for (int i = 0; i < record.n_noted && i < MAX_NOTED; i++)
        if (record.noted[i] == hash)
            return false;
    if (record.n_noted < MAX_NOTED)
        record.noted[record.n_noted++] = hash;
    return true;
}

/* Numbers of a name or a path are those of processes and descriptors. */
static void without_numbers(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++) {
        const bool digit = *c >= '0' && *c <= '9';
        if (!digit || to == text || to[-1] != 'N')
            *to++ = digit ? 'N' : *c;
    }
    *to = '\0';
}

static void put(const char *format, va_list args)
{
    char line[LINE_CHARS], name[17] = "";
    syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    without_numbers(name);
    int n = snprintf(line, sizeof(line), "%s: ", name);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    if (n >= LINE_CHARS - 1)
        n = LINE_CHARS - 2;
    if (!is_new(line))
        return;
    line[n++] = '\n';
    size_t *used = (size_t *)record.lines; /* shared by all processes */
    const size_t at = __atomic_fetch_add(used, (size_t)n, __ATOMIC_SEQ_CST) + sizeof(size_t);
    if (at + (size_t)n <= RECORD_BYTES)
        memcpy(record.lines + at, line, (size_t)n);
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list args;
    const char *of = record.of;
    record.of = NULL;
    if (of)
        note("%s of %llx", of, (unsigned long long)record.many);
    va_start(args, format);
    put(format, args);
    va_end(args);
}

/* `of` a number below 64. */
static void one_of_many(const char *of, unsigned long number)
{
    record.many = record.of == of ? record.many : 0;
    record.many |= (uint64_t)1 << number;
    record.of = of;
}

static int add_ranges(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (int i = 0; !*info->dlpi_name && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && record.n_ranges < MAX_RANGES) {
            record.ranges[record.n_ranges].from = info->dlpi_addr + p->p_vaddr;
            record.ranges[record.n_ranges++].to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("STRAIT_ASKED");
    if (!file || strcmp(program_invocation_short_name, "strait") != 0)
        return;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    record.lines = mmap(NULL, RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    dl_iterate_phdr(add_ranges, NULL);
    record.ready = record.lines != MAP_FAILED;
}

/* The next function of that name. */
#define NEXT(name)                                                                                 \
    static __typeof__(name) *next;                                                                 \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, #name)
#define NOTE(...)                                                                                  \
    do {                                                                                           \
        if (is_ours(__builtin_return_address(0)))                                                  \
            note(__VA_ARGS__);                                                                     \
    } while (0)

/* A function that is noted and does what it did. */
#define NOTED(type, name, parameters, arguments, ...)                                              \
    PUBLIC type name parameters                                                                    \
    {                                                                                              \
        NEXT(name);                                                                                \
        NOTE(__VA_ARGS__);                                                                         \
        return next arguments;                                                                     \
    }

static const char *signals_of(char text[256], const sigset_t *set)
{
    int n = 0, n_signals = 0;
    text[0] = '\0';
    for (int s = 1; set && s < 65; s++)
        if (sigismember(set, s) == 1 && n < 240) {
            n += snprintf(text + n, 256 - (size_t)n, " %d", s);
            n_signals++;
        }
    return n_signals >= 62 ? " all" : text;
}

/* Whole numbers and times as such, texts in quotes. */
static const char *option_of(char text[64], int level, int name, const void *value, socklen_t n)
{
    int number;
    struct timeval time;
    if (level == 6 && name == 13) /* TCP_CONGESTION */
        snprintf(text, 64, "\"%.*s\"", (int)n, (const char *)value);
    else if (n == sizeof(number) && memcpy(&number, value, n))
        snprintf(text, 64, "%d", number);
    else if (n == sizeof(time) && memcpy(&time, value, n))
        snprintf(text, 64, "%ld.%06ld s", (long)time.tv_sec, (long)time.tv_usec);
    else
        snprintf(text, 64, "%u bytes", n);
    return text;
}

PUBLIC int prctl(int what, ...)
{
    unsigned long a[4];
    va_list more;
    va_start(more, what);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(more, unsigned long);
    va_end(more);
    NEXT(prctl);
    char name[17] = "";
    if (what == PR_SET_NAME) {
        snprintf(name, sizeof(name), "%.16s", (const char *)a[0]);
        without_numbers(name);
        NOTE("prctl(PR_SET_NAME, \"%s\")", name);
    } else if (what == PR_CAPBSET_DROP && a[0] <= 37) { /* those that all kernels have */
        one_of_many("prctl(PR_CAPBSET_DROP)", a[0]);
    } else if (what != PR_CAPBSET_READ && what != PR_CAPBSET_DROP) {
        NOTE("prctl(%d, %lu)", what,
             what == PR_SET_NO_NEW_PRIVS || what == PR_CAP_AMBIENT || what == PR_SET_PDEATHSIG ||
                     what == PR_SET_SECCOMP || what == PR_SET_TIMERSLACK ||
                     what == PR_SET_DUMPABLE || what == PR_SET_CHILD_SUBREAPER
                 ? a[0]
                 : 0);
    }
    return next(what, a[0], a[1], a[2], a[3]);
}

NOTED(int, unshare, (int flags), (flags), "unshare(%x)", (unsigned)flags)

NOTED(int, setns, (int fd, int type), (fd, type), "setns(%x)", (unsigned)type)

PUBLIC int mount(const char *from, const char *to, const char *type, unsigned long flags,
                 const void *data)
{
    char source[128], target[128];
    NEXT(mount);
    snprintf(source, sizeof(source), "%s", from ? from : "none");
    snprintf(target, sizeof(target), "%s", to);
    without_numbers(source);
    without_numbers(target);
    NOTE("mount(%s, %s, %s, %lx, %s)", source, target, type ? type : "none", flags,
         data ? (const char *)data : "none");
    return next(from, to, type, flags, data);
}

NOTED(int, umount2, (const char *path, int flags), (path, flags), "umount2(%s, %x)", path,
      (unsigned)flags)

PUBLIC int open(const char *path, int flags, ...)
{
    va_list more;
    char shown[128];
    va_start(more, flags);
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    NEXT(open);
    if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0) {
        snprintf(shown, sizeof(shown), "%s", path);
        without_numbers(shown);
        NOTE("open(%s, %o)", shown, (unsigned)flags);
    }
    return next(path, flags, mode);
}

NOTED(int, socket, (int domain, int type, int protocol), (domain, type, protocol),
      "socket(%d, %o, %d)", domain, (unsigned)type, protocol)

NOTED(int, socketpair, (int domain, int type, int protocol, int pair[2]),
      (domain, type, protocol, pair), "socketpair(%d, %o, %d)", domain, (unsigned)type, protocol)

NOTED(int, bind, (int fd, __CONST_SOCKADDR_ARG at, socklen_t n), (fd, at, n),
      "bind(family %d, %u bytes)", at.__sockaddr__->sa_family, n)

NOTED(int, listen, (int fd, int n), (fd, n), "listen(%d)", n)

NOTED(int, accept4, (int fd, __SOCKADDR_ARG from, socklen_t *n, int flags), (fd, from, n, flags),
      "accept4(%o)", (unsigned)flags)

PUBLIC int setsockopt(int fd, int level, int name, const void *value, socklen_t n)
{
    char text[64];
    NEXT(setsockopt);
    NOTE("setsockopt(%d, %d, %s)", level, name, option_of(text, level, name, value, n));
    return next(fd, level, name, value, n);
}

NOTED(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *n),
      (fd, level, name, value, n), "getsockopt(%d, %d, %u bytes)", level, name, *n)

NOTED(int, shutdown, (int fd, int how), (fd, how), "shutdown(%d)", how)

PUBLIC int ioctl(int fd, unsigned long request, ...)
{
    va_list more;
    va_start(more, request);
    void *value = va_arg(more, void *);
    va_end(more);
    NEXT(ioctl);
    if (request == 0x400454ca) { /* TUNSETIFF */
        NOTE("ioctl(TUNSETIFF, %x)", (unsigned)((const struct ifreq *)value)->ifr_flags & 0xffff);
    } else if (request == 0x400454d8) { /* TUNSETVNETHDRSZ */
        NOTE("ioctl(TUNSETVNETHDRSZ, %d)", *(const int *)value);
    } else if (request == 0x400454d0) { /* TUNSETOFFLOAD */
        NOTE("ioctl(TUNSETOFFLOAD, %lx)", (unsigned long)value);
    } else if (request == SIOCETHTOOL) {
        NOTE("ioctl(SIOCETHTOOL, %x)",
             *(const unsigned *)(const void *)((const struct ifreq *)value)->ifr_data);
    } else {
        NOTE("ioctl(%lx)", request);
    }
    return next(fd, request, value);
}

NOTED(int, setrlimit, (__rlimit_resource_t what, const struct rlimit *limit), (what, limit),
      "setrlimit(%d, %s)", (int)what,
      limit->rlim_cur == 0                 ? "0"
      : limit->rlim_cur == limit->rlim_max ? "all"
                                           : "some")

PUBLIC int sched_setscheduler(pid_t pid, int policy, const struct sched_param *p)
{
    NEXT(sched_setscheduler);
    if (policy != SCHED_OTHER) /* where it was refused, none has to be given back */
        NOTE("sched_setscheduler(%x, %d)", (unsigned)policy, p->sched_priority);
    return next(pid, policy, p);
}

PUBLIC sighandler_t signal(int s, sighandler_t how)
{
    NEXT(signal);
    if (how == SIG_DFL && is_ours(__builtin_return_address(0)))
        one_of_many("signal(SIG_DFL)", (unsigned long)s - 1);
    else
        NOTE("signal(%d, %s)", s, how == SIG_IGN ? "ignored" : "caught");
    return next(s, how);
}

PUBLIC int sigaction(int s, const struct sigaction *how, struct sigaction *before)
{
    char text[256];
    NEXT(sigaction);
    if (!how && is_ours(__builtin_return_address(0)))
        one_of_many("sigaction(asked)", (unsigned long)s - 1);
    else if (how)
        NOTE("sigaction(%d, %s, %x,%s)", s,
             how->sa_handler == SIG_DFL   ? "default"
             : how->sa_handler == SIG_IGN ? "ignored"
                                          : "caught",
             (unsigned)how->sa_flags, signals_of(text, &how->sa_mask));
    return next(s, how, before);
}

PUBLIC int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    char text[256];
    NEXT(sigprocmask);
    NOTE("sigprocmask(%d,%s)", how, signals_of(text, set));
    return next(how, set, before);
}

PUBLIC int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    char text[256];
    NEXT(pthread_sigmask);
    NOTE("pthread_sigmask(%d,%s)", how, signals_of(text, set));
    return next(how, set, before);
}

PUBLIC int signalfd(int fd, const sigset_t *set, int flags)
{
    char text[256];
    NEXT(signalfd);
    NOTE("signalfd(%o,%s)", (unsigned)flags, signals_of(text, set));
    return next(fd, set, flags);
}

NOTED(int, timerfd_create, (clockid_t clock, int flags), (clock, flags), "timerfd_create(%d, %o)",
      (int)clock, (unsigned)flags)

NOTED(int, timerfd_settime,
      (int fd, int flags, const struct itimerspec *to, struct itimerspec *before),
      (fd, flags, to, before), "timerfd_settime(%d)", flags)

NOTED(int, epoll_create1, (int flags), (flags), "epoll_create1(%o)", (unsigned)flags)

NOTED(int, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *e), (epoll, what, fd, e),
      "epoll_ctl(%d, %x)", what, e ? (unsigned)e->events : 0)

NOTED(int, pipe2, (int ends[2], int flags), (ends, flags), "pipe2(%o)", (unsigned)flags)

NOTED(int, memfd_create, (const char *name, unsigned flags), (name, flags), "memfd_create(%s, %x)",
      name, flags)

NOTED(void *, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t offset),
      (at, n, protection, flags, fd, offset), "mmap(%d, %x, %s)", protection, (unsigned)flags,
      fd < 0 ? "no file" : "a file")

NOTED(int, close_range, (unsigned from, unsigned to, int flags), (from, to, flags),
      "close_range(%s, %d)", to == ~0U ? "the rest" : "some", flags)

NOTED(int, setpgid, (pid_t pid, pid_t group), (pid, group), "setpgid(%s, %s)",
      pid ? "another" : "0", group ? "another" : "0")

NOTED(pid_t, setsid, (void), (), "setsid()")

NOTED(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags),
      "send(%x)", (unsigned)flags)

NOTED(ssize_t, sendmsg, (int fd, const struct msghdr *h, int flags), (fd, h, flags), "sendmsg(%x)",
      (unsigned)flags)

NOTED(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), "recv(%x)",
      (unsigned)flags)

NOTED(ssize_t, recvmsg, (int fd, struct msghdr *h, int flags), (fd, h, flags), "recvmsg(%x)",
      (unsigned)flags)

/* An argument's path: its last part alone, and of a temporary folder nothing. */
static int shown_argument(char *line, size_t n, const char *text)
{
    const char *slash = strrchr(text, '/'), *equals = strchr(text, '=');
    const int before = equals && slash > equals ? (int)(equals - text) + 1 : 0;
    const bool own =
        strncmp(text, "TMPDIR=", 7) == 0 || (slash && strncmp(slash, "/strait-", 8) == 0);
    return slash && slash != text && slash[1]
               ? snprintf(line, n, " %.*s.../%s", before, text, own ? "" : slash + 1)
               : snprintf(line, n, " %s", text);
}

PUBLIC int execvp(const char *file, char *const argv[])
{
    char line[LINE_CHARS];
    size_t n = 0;
    line[0] = '\0';
    for (int i = 0; argv[i] && n < sizeof(line) - 1; i++)
        n += (size_t)shown_argument(line + n, sizeof(line) - n, argv[i]);
    NEXT(execvp);
    NOTE("execvp(%s)", line + 1);
    return next(file, argv);
}

NOTED(int, dup2, (int fd, int to), (fd, to), "dup2(%d)", to)
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
