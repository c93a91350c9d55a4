/* The process of isolate.h. It keeps nothing of the program it was forked from but its memory. */
#include "isolate_child.h"
#include "core/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEEP_MMAP_BYTES = 32 << 20, KEEP_BYTES = 256 << 20 };
enum { MEMORY_FACTOR = 64, MEMORY_BASE_MIB = 512 };

struct mapping {
    unsigned char *in, *out;
    size_t in_cap_bytes, out_cap_bytes;
};

/* If the library calls exit, the program's exit handlers must not run and its buffered output must
 * not be written: this handler runs first and ends the process. */
static void leave(void)
{
    _exit(STRAIT_ISOLATED_LEFT);
}

static void reset_signals(void)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Close all other descriptors, keeping the numbers of our two. */
static void close_others(int socket_fd, int memory_fd)
{
    const int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fd != socket_fd && fd != memory_fd)
            dup2(null, fd);
    const int a = socket_fd < memory_fd ? socket_fd : memory_fd;
    const int b = socket_fd < memory_fd ? memory_fd : socket_fd;
    int from = STDERR_FILENO + 1;
    if (a > from)
        close_range((unsigned)from, (unsigned)a - 1, 0);
    from = a + 1 > from ? a + 1 : from;
    if (b > from)
        close_range((unsigned)from, (unsigned)b - 1, 0);
    from = b + 1 > from ? b + 1 : from;
    close_range((unsigned)from, ~0u, 0);
}

/* Address space in use now, in bytes. */
static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%lu", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_memory(size_t base_bytes, const struct strait_isolated_job *job)
{
    struct rlimit limit;
    if (base_bytes == 0 || getrlimit(RLIMIT_AS, &limit) != 0)
        return;
    const size_t more =
        ((size_t)MEMORY_BASE_MIB << 20) + (size_t)MEMORY_FACTOR * (job->in_bytes + job->out_bytes);
    if (limit.rlim_max == RLIM_INFINITY || base_bytes + more < limit.rlim_max) {
        limit.rlim_cur = base_bytes + more;
        setrlimit(RLIMIT_AS, &limit);
    }
}

static bool map(struct mapping *m, int memory_fd, const struct strait_isolated_message *message)
{
    const size_t in = (size_t)message->in_cap_bytes, out = (size_t)message->out_cap_bytes;
    if (m->in_cap_bytes == in && m->out_cap_bytes == out)
        return true;
    if (m->in)
        munmap(m->in, m->in_cap_bytes);
    if (m->out)
        munmap(m->out, m->out_cap_bytes);
    /* read-only, so that a second try finds the input undamaged */
    void *a = mmap(NULL, in, PROT_READ, MAP_SHARED, memory_fd, 0);
    void *b = mmap(NULL, out, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, (off_t)in);
    *m = (struct mapping){a, b, in, out};
    return a != MAP_FAILED && b != MAP_FAILED;
}

static double cpu_s(void)
{
    return 1e-9 * (double)strait_cpu_process_ns();
}

void strait_isolate_serve(strait_isolated_work work, const void *context, int socket_fd,
                          int memory_fd)
{
    struct mapping mapping = {0};
    struct strait_isolated_message message;
    reset_signals();
    setpgid(0, 0); /* the program handles the terminal's signals */
    prctl(PR_SET_DUMPABLE, 0);
    close_others(socket_fd, memory_fd);
    atexit(leave);
    mallopt(M_MMAP_THRESHOLD, KEEP_MMAP_BYTES); /* new mappings would cost a fifth */
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    void *volatile probe = malloc((size_t)1 << 22); /* hangs if a lock was held at the fork */
    free(probe);
    const size_t base_bytes = address_space();
    for (;;) {
        const ssize_t n = recv(socket_fd, &message, sizeof(message), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof(message))
            _exit(0);
        if (!message.greeting) {
            if (!map(&mapping, memory_fd, &message))
                _exit(1);
            limit_memory(base_bytes + mapping.in_cap_bytes + mapping.out_cap_bytes, &message.job);
            const double start_s = cpu_s();
            alarm((unsigned)message.limit_s + 2); /* ends this process if the program has ended */
            message.job.good = work(context, &message.job, mapping.in, mapping.out);
            alarm(0);
            message.cpu_s = cpu_s() - start_s;
        }
        if (send(socket_fd, &message, sizeof(message), MSG_NOSIGNAL) != (ssize_t)sizeof(message))
            _exit(0);
    }
}
