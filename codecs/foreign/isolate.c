/* Run foreign code in a process of its own: the caller's side. */
#include "isolate.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "isolate_child.h"

enum { GREETING_LIMIT_S = 5, GREETING_TRIES = 4 };

/* The only state that outlives a call without an owner: the CPU time of children on behalf of this
 * thread, which the kernel does not count for it. */
static _Thread_local double isolated_cpu_s;

double strait_isolated_cpu_s(void)
{
    return isolated_cpu_s;
}

static size_t whole_pages(size_t n_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (n_bytes / page + 1) * page;
}

static void unmap(struct strait_isolate *i)
{
    if (i->memory)
        munmap(i->memory, i->in_cap_bytes + i->out_cap_bytes);
    i->memory = i->in = i->out = NULL;
    i->in_cap_bytes = i->out_cap_bytes = 0;
}

/* Returns: the status of waitpid, 0 if it cannot be had. */
static int stop(struct strait_isolate *i)
{
    int status = 0;
    if (i->pid == 0)
        return 0;
    close(i->socket);
    if (i->owner == getpid()) {
        kill(i->pid, SIGKILL); /* does not change the status of a process that died before */
        while (waitpid(i->pid, &status, 0) < 0)
            if (errno != EINTR) {
                status = 0;
                break;
            }
    }
    i->pid = 0;
    i->n_served = 0;
    return status;
}

/* A process forked while this was open has a copy of it, which it must not use. */
static void disown(struct strait_isolate *i)
{
    if (i->owner == 0 || i->owner == getpid())
        return;
    stop(i);
    unmap(i);
    if (!i->here)
        close(i->memory_fd);
    i->owner = 0;
}

void strait_isolate_release(struct strait_isolate *i)
{
    disown(i);
    stop(i);
    unmap(i);
    if (i->owner != 0 && !i->here)
        close(i->memory_fd);
    i->owner = 0;
}

/* Map shared memory that can grow but never shrink. */
static int adopt(struct strait_isolate *i, struct strait_error *err)
{
    disown(i);
    if (i->owner != 0)
        return 0;
    if (!i->here) {
        i->memory_fd = memfd_create("isolate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (i->memory_fd < 0)
            return strait_error_system(err, i->library, "no shared memory");
        fcntl(i->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK);
    }
    i->owner = getpid();
    return 0;
}

int strait_isolate_room(struct strait_isolate *i, size_t in_bytes, size_t out_bytes,
                        struct strait_error *err)
{
    if (adopt(i, err) != 0)
        return -1;
    if (i->memory && in_bytes < i->in_cap_bytes && out_bytes < i->out_cap_bytes)
        return 0;
    if (in_bytes > SIZE_MAX / 8 || out_bytes > SIZE_MAX / 8)
        return strait_error_memory(err, i->library);
    const size_t in = in_bytes >= i->in_cap_bytes ? whole_pages(in_bytes) : i->in_cap_bytes;
    const size_t out = out_bytes >= i->out_cap_bytes ? whole_pages(out_bytes) : i->out_cap_bytes;
    unmap(i);
    if (!i->here && ftruncate(i->memory_fd, (off_t)(in + out)) != 0) {
        strait_error_system(err, i->library, "no shared memory");
        strait_isolate_release(i);
        return -1;
    }
    void *memory =
        mmap(NULL, in + out, PROT_READ | PROT_WRITE,
             i->here ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, i->here ? -1 : i->memory_fd, 0);
    if (memory == MAP_FAILED) {
        strait_error_system(err, i->library, "no shared memory");
        strait_isolate_release(i); /* memory cannot shrink: start over next time */
        return -1;
    }
    i->memory = i->in = memory;
    i->out = i->memory + in;
    i->in_cap_bytes = in;
    i->out_cap_bytes = out;
    return 0;
}

/* Send and wait for the answer. Returns: 1; 0: it took too long; -1: the process is gone. */
static int exchange(const struct strait_isolate *i, struct strait_isolated_message *message,
                    double limit_s)
{
    const double end_s = strait_clock_s() + limit_s;
    if (send(i->socket, message, sizeof(*message), MSG_NOSIGNAL) != (ssize_t)sizeof(*message))
        return -1;
    for (;;) {
        const double left_s = end_s - strait_clock_s();
        struct pollfd p = {.fd = i->socket, .events = POLLIN};
        const int ready = left_s <= 0 ? 0 : poll(&p, 1, (int)fmin(ceil(1e3 * left_s), 1e6));
        if (ready == 0 && strait_clock_s() >= end_s)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -1;
        if (ready > 0)
            return recv(i->socket, message, sizeof(*message), 0) == (ssize_t)sizeof(*message) ? 1
                                                                                              : -1;
    }
}

static int fork_one(struct strait_isolate *i, struct strait_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return strait_error_system(err, i->library, "no process to run it in");
    const pid_t pid = fork();
    if (pid == 0)
        strait_isolate_serve(i->work, i->context, ends[1], i->memory_fd);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return strait_error_system(err, i->library, "no process to run it in");
    }
    i->pid = pid;
    i->socket = ends[0];
    i->n_served = 0;
    return 0;
}

int strait_isolate_start(struct strait_isolate *i, struct strait_error *err)
{
    if (adopt(i, err) != 0)
        return -1;
    for (unsigned k = 0; !i->here && i->pid == 0; k++) {
        struct strait_isolated_message message = {.greeting = true};
        if (k == GREETING_TRIES)
            return strait_error_set(err, STRAIT_ERR_BACKEND, i->library,
                                    "the process that should run it does not start");
        if (fork_one(i, err) != 0)
            return -1;
        if (exchange(i, &message, GREETING_LIMIT_S) != 1)
            stop(i);
    }
    return 0;
}

static int died(struct strait_isolate *i, int status, struct strait_error *err)
{
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        return strait_error_set(err, STRAIT_ERR_BACKEND, i->library, "%s was ended by SIG%s",
                                i->library, name ? name : "NAL");
    }
    if (WEXITSTATUS(status) == STRAIT_ISOLATED_LEFT)
        return strait_error_set(err, STRAIT_ERR_BACKEND, i->library, "%s called exit", i->library);
    return strait_error_set(err, STRAIT_ERR_BACKEND, i->library, "%s ended its process, status %d",
                            i->library, WEXITSTATUS(status));
}

/* One try. Returns: 1: done; 0: the process died, with its status in *status; -1 with *err. */
static int try_call(struct strait_isolate *i, struct strait_isolated_job *job, int *status,
                    struct strait_error *err)
{
    const double limit_s = i->limit_s + 1e-6 * (double)(job->in_bytes + job->out_bytes);
    struct strait_isolated_message message = {.in_cap_bytes = i->in_cap_bytes,
                                              .out_cap_bytes = i->out_cap_bytes,
                                              .job = *job,
                                              .limit_s = limit_s};
    if (strait_isolate_start(i, err) != 0)
        return -1;
    const int answer = exchange(i, &message, limit_s);
    if (answer == 0) {
        stop(i);
        return strait_error_set(err, STRAIT_ERR_BACKEND, i->library, "%s took longer than %g s",
                                i->library, limit_s);
    }
    if (answer < 0) {
        *status = stop(i);
        return 0;
    }
    i->n_served++;
    isolated_cpu_s += fmax(0, fmin(message.cpu_s, limit_s)); /* in case it reports nonsense */
    job->good = message.job.good == 1 && message.job.out_bytes <= job->out_bytes;
    job->out_bytes = job->good ? message.job.out_bytes : 0;
    return 1;
}

int strait_isolate_call(struct strait_isolate *i, struct strait_isolated_job *job,
                        struct strait_error *err)
{
    assert(i->memory && i->owner == getpid());
    assert(job->in_bytes <= i->in_cap_bytes && job->out_bytes <= i->out_cap_bytes);
    if (i->here) {
        const size_t room_bytes = job->out_bytes;
        job->good = i->work(i->context, job, i->in, i->out) && job->out_bytes <= room_bytes;
        return 0;
    }
    int status = 0;
    const bool fresh = i->n_served == 0;
    int result = try_call(i, job, &status, err);
    if (result == 0 && !fresh) /* state left by an earlier call may have killed it */
        result = try_call(i, job, &status, err);
    if (result == 0)
        return died(i, status, err);
    return result > 0 ? 0 : -1;
}
