/* The pool: workers take the next task from a shared counter and send results through a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/io.h"
#include "core/progress.h"
#include "worker_pool.h"

enum { GRACE_MS = 3000 };

/* Header of a result in the pipe. */
struct head {
    uint64_t i_task, len_bytes;
};

struct worker {
    pid_t pid; /* 0: none any more */
    int fd;    /* -1: closed */
    char *buf;
    size_t len_bytes, cap_bytes;
};

struct pool {
    size_t n_tasks, n_done;
    int n_workers;
    struct worker *workers;
    atomic_size_t *next; /* shared by all processes */
    strait_pool_work work;
    strait_pool_done done;
    void *context;
    int signal_fd;
    sigset_t caught, before;
};

/* --- a worker ----------------------------------------------------------------------------- */

/* Make an error's text valid JSON: UTF-8, or else ASCII. */
static json_t *error_text(char *text)
{
    json_t *out = json_string(text);
    for (char *p = text; !out && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return out ? out : json_string(text);
}

char *strait_pool_make_answer(size_t i, strait_pool_work work, void *context)
{
    struct strait_error err = {0};
    json_t *result = work(i, context, &err);
    json_t *answer = result ? json_pack("{s:o}", "result", result)
                            : json_pack("{s:{s:i, s:i, s:o, s:o}}", "error", "code", (int)err.code,
                                        "errno", err.saved_errno, "where", error_text(err.where),
                                        "text", error_text(err.text));
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    json_decref(answer);
    return text;
}

static void serve(struct pool *p, int fd)
{
    for (size_t i; (i = atomic_fetch_add(p->next, 1)) < p->n_tasks;) {
        char *text = strait_pool_make_answer(i, p->work, p->context);
        const struct head head = {i, text ? strlen(text) : 0};
        if (!text || !strait_io_write(fd, &head, sizeof(head), STRAIT_IO_HERE) ||
            !strait_io_write(fd, text, head.len_bytes, STRAIT_IO_HERE))
            _exit(1);
        free(text);
    }
}

static int start_worker(struct pool *p, struct worker *w, struct strait_error *err)
{
    int fds[2];
    const pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC) != 0)
        return strait_error_system(err, "workers", "cannot make a pipe");
    fflush(stdout);
    fflush(stderr);
    w->pid = fork();
    if (w->pid < 0) {
        w->pid = 0;
        close(fds[0]);
        close(fds[1]);
        return strait_error_system(err, "workers", "cannot start a worker");
    }
    if (w->pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        close(p->signal_fd);
        for (int i = 0; i < p->n_workers; i++) /* close other workers' pipes */
            if (p->workers[i].fd >= 0)
                close(p->workers[i].fd);
        close(fds[0]);
        sigprocmask(SIG_SETMASK, &p->before, NULL);
        serve(p, fds[1]);
        _exit(0);
    }
    setpgid(w->pid, w->pid); /* parent and child both call this: whichever runs first */
    close(fds[1]);
    w->fd = fds[0];
    return 0;
}

/* --- the parent --------------------------------------------------------------------------- */

int strait_pool_take_answer(const json_t *answer, size_t i, strait_pool_done done, void *context,
                            struct strait_error *err)
{
    const json_t *result = json_object_get(answer, "result");
    const json_t *error = json_object_get(answer, "error");
    if (result)
        return done(i, result, context, err);
    if (error && err && err->code == STRAIT_OK) {
        const char *where = json_string_value(json_object_get(error, "where")),
                   *said = json_string_value(json_object_get(error, "text"));
        strait_error_set(err,
                         (enum strait_error_code)json_integer_value(json_object_get(error, "code")),
                         where, "%s", said ? said : "a worker failed");
        err->saved_errno = (int)json_integer_value(json_object_get(error, "errno"));
    }
    return -1;
}

static int take_answer(struct pool *p, const struct head *head, const char *text,
                       struct strait_error *err)
{
    json_t *answer = json_loadb(text, head->len_bytes, 0, NULL);
    const int status = strait_pool_take_answer(answer, head->i_task, p->done, p->context, err);
    p->n_done += json_object_get(answer, "result") != NULL;
    json_decref(answer);
    return status;
}

static int take_answers(struct pool *p, struct worker *w, struct strait_error *err)
{
    size_t at = 0;
    struct head head;
    int status = 0;
    while (status == 0 && w->len_bytes - at >= sizeof(head)) {
        memcpy(&head, w->buf + at, sizeof(head));
        if (w->len_bytes - at - sizeof(head) < head.len_bytes)
            break;
        status = take_answer(p, &head, w->buf + at + sizeof(head), err);
        at += sizeof(head) + head.len_bytes;
    }
    memmove(w->buf, w->buf + at, w->len_bytes - at);
    w->len_bytes -= at;
    return status;
}

/* The pipe of a worker has ended, and so has the worker. */
static int reap(struct worker *w, struct strait_error *err)
{
    int status = 0;
    TEMP_FAILURE_RETRY(waitpid(w->pid, &status, 0));
    w->pid = 0;
    close(w->fd);
    w->fd = -1;
    if (WIFSIGNALED(status))
        return strait_error_set(err, STRAIT_ERR_BACKEND, "workers",
                                "a worker was ended by signal %d (%s)", WTERMSIG(status),
                                strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0 || w->len_bytes > 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, "workers",
                                "a worker ended before it had answered");
    return 0;
}

static int read_worker(struct pool *p, struct worker *w, struct strait_error *err)
{
    if (w->cap_bytes - w->len_bytes < 65536) {
        char *more = realloc(w->buf, 2 * w->cap_bytes + 131072);
        if (!more)
            return strait_error_memory(err, "workers");
        w->buf = more;
        w->cap_bytes = 2 * w->cap_bytes + 131072;
    }
    const ssize_t n = read(w->fd, w->buf + w->len_bytes, w->cap_bytes - w->len_bytes);
    if (n < 0)
        return errno == EINTR ? 0 : strait_error_system(err, "workers", "cannot read an answer");
    if (n == 0)
        return reap(w, err);
    w->len_bytes += (size_t)n;
    return take_answers(p, w, err);
}

static const char begins_again[] = "; the same command begins again";

static int interrupted(struct pool *p, struct strait_error *err)
{
    struct signalfd_siginfo info = {0};
    if (read(p->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "interrupted (%s)%s",
                            strsignal((int)info.ssi_signo), begins_again);
}

void strait_pool_say_kept(struct strait_error *err)
{
    char *end = strstr(err->text, begins_again);
    if (end)
        snprintf(end, sizeof(err->text) - (size_t)(end - err->text), "%s",
                 "; complete rows are kept, the same command goes on");
}

/* A run that fails ends anyway: another signal while its workers are stopped (a second Ctrl-C, the
   terminal's hang-up after it) must not end the process before its cleanup. One that has succeeded
   leaves its signals to whoever comes next. */
static void drop_signals(const struct pool *p, int status)
{
    struct signalfd_siginfo info;
    while (status != 0 && read(p->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        ;
}

static int watch(struct pool *p, struct strait_progress *progress, struct strait_error *err)
{
    struct pollfd *fds = calloc((size_t)p->n_workers + 1, sizeof(*fds));
    if (!fds)
        return strait_error_memory(err, "workers");
    int status = 0;
    for (;;) {
        int n_open = 0;
        fds[p->n_workers] = (struct pollfd){.fd = p->signal_fd, .events = POLLIN};
        for (int i = 0; i < p->n_workers; i++) {
            fds[i] = (struct pollfd){.fd = p->workers[i].fd, .events = POLLIN};
            n_open += p->workers[i].fd >= 0;
        }
        if (n_open == 0 || status != 0)
            break;
        if (poll(fds, (nfds_t)p->n_workers + 1, 500) < 0 && errno != EINTR) {
            status = strait_error_system(err, "workers", "cannot wait");
            break;
        }
        if (fds[p->n_workers].revents & POLLIN)
            status = interrupted(p, err);
        for (int i = 0; i < p->n_workers && status == 0; i++)
            if (fds[i].fd >= 0 && fds[i].revents & (POLLIN | POLLHUP))
                status = read_worker(p, &p->workers[i], err);
        strait_progress_step(progress, p->n_done);
    }
    free(fds);
    return status;
}

static void stop_workers(struct pool *p)
{
    for (int i = 0; i < p->n_workers; i++)
        if (p->workers[i].pid > 0)
            kill(-p->workers[i].pid, SIGTERM);
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < p->n_workers; i++) {
        struct worker *w = &p->workers[i];
        for (int waited_ms = 0; w->pid > 0; waited_ms += 10) {
            if (waitpid(w->pid, NULL, WNOHANG) != 0)
                break;
            if (waited_ms >= GRACE_MS) {
                kill(-w->pid, SIGKILL);
                waitpid(w->pid, NULL, 0);
                break;
            }
            nanosleep(&step, NULL);
        }
        if (w->pid > 0)
            kill(-w->pid, SIGKILL); /* its process group, including anything it has started */
        w->pid = 0;
        if (w->fd >= 0)
            close(w->fd);
        w->fd = -1;
        free(w->buf);
    }
}

int strait_pool_run(size_t n_tasks, int n_workers, strait_pool_work work, strait_pool_done done,
                    void *context, const char *what, struct strait_error *err)
{
    struct pool p = {
        .n_tasks = n_tasks, .work = work, .done = done, .context = context, .signal_fd = -1};
    if (n_tasks == 0)
        return 0;
    p.n_workers = (size_t)n_workers < n_tasks ? n_workers : (int)n_tasks;
    p.workers = calloc((size_t)p.n_workers, sizeof(*p.workers));
    p.next = mmap(NULL, sizeof(*p.next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!p.workers || p.next == MAP_FAILED) {
        free(p.workers);
        return strait_error_memory(err, "workers");
    }
    for (int i = 0; i < p.n_workers; i++)
        p.workers[i].fd = -1;
    atomic_init(p.next, 0);
    sigemptyset(&p.caught);
    sigaddset(&p.caught, SIGINT);
    sigaddset(&p.caught, SIGTERM);
    sigaddset(&p.caught, SIGHUP);
    sigprocmask(SIG_BLOCK, &p.caught, &p.before);
    p.signal_fd = signalfd(-1, &p.caught, SFD_CLOEXEC | SFD_NONBLOCK);
    struct strait_progress progress;
    strait_progress_init(&progress, what ? what : "", what ? n_tasks : 0);
    int status = p.signal_fd < 0 ? strait_error_system(err, "workers", "cannot watch signals") : 0;
    for (int i = 0; i < p.n_workers && status == 0; i++)
        status = start_worker(&p, &p.workers[i], err);
    if (status == 0)
        status = watch(&p, &progress, err);
    stop_workers(&p);
    drop_signals(&p, status);
    strait_progress_release(&progress);
    if (p.signal_fd >= 0)
        close(p.signal_fd);
    sigprocmask(SIG_SETMASK, &p.before, NULL);
    munmap(p.next, sizeof(*p.next));
    free(p.workers);
    if (status == 0 && p.n_done < n_tasks)
        status = strait_error_set(err, STRAIT_ERR_BACKEND, "workers",
                                  "%zu of %zu tasks were not done", n_tasks - p.n_done, n_tasks);
    return status;
}
