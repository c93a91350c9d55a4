/* Run other programs: fork and exec without inherited descriptors, watched through a pidfd. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "process.h"
#include "clock.h"
#include "names.h"
#include "units.h"

enum { COMMAND_CHARS = 256, FIRST_LINE_CHARS = 400 };

/* One pipe. Output beyond the capacity is read and discarded, so that the program can end. */
struct stream {
    int fd; /* -1 once it has ended */
    char *buf;
    size_t cap_bytes, len_bytes;
};

/* All descriptors of one run; -1 where there is none. */
struct run {
    pid_t pid;
    int pidfd;
    int input_fd;               /* the program's standard input, a file */
    int out_fds[2], err_fds[2]; /* pipes: [0] ours, [1] the program's */
    int exec_fds[2];            /* the errno of a failed exec */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Move a descriptor above 2, since 0, 1 and 2 are replaced by the program's own later. */
static int above_stdio(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int saved_errno = errno;
    close(fd);
    errno = saved_errno;
    return moved;
}

static int open_pipe(int fds[2])
{
    int made[2];
    if (pipe2(made, O_CLOEXEC) != 0)
        return -1;
    fds[0] = above_stdio(made[0]);
    fds[1] = above_stdio(made[1]);
    if (fds[0] < 0 || fds[1] < 0)
        return -1;
    return fcntl(fds[0], F_SETFL, O_NONBLOCK);
}

/* Input as a file in memory instead of a pipe: no writer thread, no SIGPIPE, no deadlock. */
static int open_input(const char *input)
{
    if (!input)
        return above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int fd = above_stdio(memfd_create("input", MFD_CLOEXEC));
    const size_t len = strlen(input);
    for (size_t done = 0; fd >= 0 && done < len;) {
        const ssize_t n = write(fd, input + done, len - done);
        if (n < 0 && errno != EINTR) {
            const int saved_errno = errno;
            close(fd);
            errno = saved_errno;
            return -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Before exec: caught signals and SIGPIPE get their defaults, and none is blocked. Signals that
 * were ignored from outside stay ignored. */
static void reset_signals(void)
{
    for (int s = 1; s < NSIG; s++) {
        struct sigaction action;
        if (sigaction(s, NULL, &action) == 0 && (action.sa_handler != SIG_IGN || s == SIGPIPE) &&
            action.sa_handler != SIG_DFL) {
            action = (struct sigaction){.sa_handler = SIG_DFL};
            sigaction(s, &action, NULL);
        }
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child, up to exec: only async-signal-safe calls, since the parent may have threads. */
static void become(const struct run *r, pid_t parent, const char *const argv[])
    __attribute__((noreturn));

static void become(const struct run *r, pid_t parent, const char *const argv[])
{
    setpgid(0, 0); /* so that the program's children are killed with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const pid_t now = getppid(); /* 0: the parent is outside a new process namespace */
    if (now != parent && now != 0)
        _exit(127);
    reset_signals();
    if (dup2(r->input_fd, STDIN_FILENO) >= 0 && dup2(r->out_fds[1], STDOUT_FILENO) >= 0 &&
        dup2(r->err_fds[1], STDERR_FILENO) >= 0) {
        close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
        execvp(argv[0], (char *const *)(const void *)argv);
    }
    const int saved_errno = errno;
    const ssize_t written = write(r->exec_fds[1], &saved_errno, sizeof(saved_errno));
    _exit(written == (ssize_t)sizeof(saved_errno) ? 127 : 126);
}

static int start(struct run *r, const char *const argv[], const char *input)
{
    r->input_fd = open_input(input);
    if (r->input_fd < 0 || open_pipe(r->out_fds) != 0 || open_pipe(r->err_fds) != 0 ||
        open_pipe(r->exec_fds) != 0)
        return -1;
    const pid_t parent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of ours may run in the child */
    r->pid = fork();
    if (r->pid == 0)
        become(r, parent, argv);
    const int saved_errno = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved_errno;
    if (r->pid < 0)
        return -1;
    setpgid(r->pid, r->pid); /* parent and child both call this: whichever runs first */
    r->pidfd = pidfd_open(r->pid, 0);
    return r->pidfd >= 0 ? 0 : -1;
}

/* Read what is available. There is no end, since the other ends are open here, too. 0, or -1 with
 * errno. */
static int drain(struct stream *s)
{
    char chunk[4096];
    for (;;) {
        const ssize_t n = TEMP_FAILURE_RETRY(read(s->fd, chunk, sizeof(chunk)));
        if (n <= 0)
            return n == 0 || errno == EAGAIN ? 0 : -1;
        const size_t room = s->cap_bytes > 0 ? s->cap_bytes - 1 - s->len_bytes : 0;
        const size_t n_kept = (size_t)n < room ? (size_t)n : room;
        if (n_kept > 0)
            memcpy(s->buf + s->len_bytes, chunk, n_kept);
        s->len_bytes += n_kept;
    }
    return 0;
}

/* Returns: 1: it has ended; 0: the deadline passed; -1: errno is set */
static int watch(const struct run *r, struct stream *out, struct stream *err_out, double end_s)
{
    for (;;) {
        const double left_s = end_s - strait_clock_s();
        if (!(left_s > 0))
            return 0;
        struct pollfd fds[] = {
            {out->fd, POLLIN, 0}, {err_out->fd, POLLIN, 0}, {r->pidfd, POLLIN, 0}};
        const int n = poll(fds, 3, left_s > 3600 ? 3600000 : (int)ceil(left_s * 1e3));
        if (n < 0 && errno != EINTR)
            return -1;
        /* Check the state first, then read the pipes: all its output is there once it has ended.
         * Its children may keep the pipes open; do not wait for them. */
        const bool ended = n > 0 && fds[2].revents != 0;
        if (drain(out) != 0 || drain(err_out) != 0)
            return -1;
        if (ended)
            return 1;
    }
}

/* The first line with any text in it; cut in place. */
static const char *first_line(char *text)
{
    char *line = text + strspn(text, " \t\r\n");
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

/* Turn a wait status into a result. */
static int judge(const struct run *r, int status, const char *command, const char *program,
                 char *said, struct strait_error *err)
{
    int exec_errno = 0;
    if (read(r->exec_fds[0], &exec_errno, sizeof(exec_errno)) == (ssize_t)sizeof(exec_errno)) {
        if (exec_errno == ENOENT)
            return strait_error_set(err, STRAIT_ERR_HOST, command, "%s is not installed", program);
        errno = exec_errno;
        return strait_error_system(err, command, "%s cannot be started", program);
    }
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        return strait_error_set(err, STRAIT_ERR_SYSTEM, command, "killed by SIG%s",
                                name ? name : "?");
    }
    const int exit_status = WEXITSTATUS(status);
    if (exit_status != 0) {
        const char *line = first_line(said);
        if (*line)
            strait_error_set(err, STRAIT_ERR_BACKEND, command, "%s", line);
        else
            strait_error_set(err, STRAIT_ERR_BACKEND, command, "exit status %d", exit_status);
    }
    return exit_status;
}

int strait_process_run(char *out, size_t cap_bytes, const char *const argv[], const char *input,
                       double deadline_s, struct strait_error *err)
{
    assert(argv[0] && (!out || cap_bytes > 0));
    struct run r = {-1, -1, -1, {-1, -1}, {-1, -1}, {-1, -1}};
    char command[COMMAND_CHARS] = "", said[FIRST_LINE_CHARS], limit[32];
    int result = -1, status = 0;
    for (size_t i = 0; argv[i]; i++)
        strait_text_add(command, sizeof(command), "%s%s", i > 0 ? " " : "", argv[i]);
    if (out)
        out[0] = '\0';
    if (start(&r, argv, input) != 0) {
        strait_error_system(err, command, "%s cannot be started", argv[0]);
        goto out;
    }
    struct stream from_out = {r.out_fds[0], out, out ? cap_bytes : 0, 0};
    struct stream from_err = {r.err_fds[0], said, sizeof(said), 0};
    const int ended = watch(&r, &from_out, &from_err, strait_clock_s() + deadline_s);
    if (out)
        out[from_out.len_bytes] = '\0';
    said[from_err.len_bytes] = '\0';
    if (ended == 1 && TEMP_FAILURE_RETRY(waitpid(r.pid, &status, 0)) == r.pid) {
        r.pid = -1;
        result = judge(&r, status, command, argv[0], said, err);
    } else if (ended == 0) {
        strait_error_set(
            err, STRAIT_ERR_SYSTEM, command, "expected an end within %s, killed it",
            strait_quantity_format(limit, sizeof(limit), STRAIT_UNIT_TIME, deadline_s));
    } else {
        strait_error_system(err, command, "%s cannot be watched", argv[0]);
    }
out:
    if (r.pid > 0) { /* not reaped yet, so the group number is still ours */
        kill(-r.pid, SIGKILL);
        kill(r.pid, SIGKILL);
        TEMP_FAILURE_RETRY(waitpid(r.pid, &status, 0));
    }
    int *fds[] = {&r.pidfd,      &r.input_fd,   &r.out_fds[0],  &r.out_fds[1],
                  &r.err_fds[0], &r.err_fds[1], &r.exec_fds[0], &r.exec_fds[1]};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        close_fd(fds[i]);
    return result;
}
