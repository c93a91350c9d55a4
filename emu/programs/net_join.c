#include "net_join.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/host/rights.h"
#include "program_network.h"

/* ASKED_MS: to end after a request. KILLED_MS: to end after a kill, since a thousand namespaces are
 * removed one by one. */
enum { ASKED_MS = 10000, KILLED_MS = 120000 };

/* Connect to the supervisor and send a request. A socket, or -1 with *err. */
static int ask(const struct strait_emu_registry *place, int request, int rank,
               struct strait_error *err)
{
    const struct strait_emu_question q = {request, rank};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, place->socket, sizeof(place->socket));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return strait_error_system(err, NULL, "cannot make a socket");
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
        send(fd, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q))
        return fd;
    const int saved = errno;
    close(fd);
    if (saved == EACCES || saved == EPERM) {
        errno = saved;
        return strait_error_system(err, place->socket, "cannot reach the supervisor");
    }
    if (strait_emu_registry_is_up(place))
        return strait_error_set(err, STRAIT_ERR_BACKEND, "net",
                                "network \"%s\" is being set up or taken down", place->name);
    return strait_error_set(err, STRAIT_ERR_USAGE, "net",
                            "no network \"%s\" is up (strait net up, strait net list)",
                            place->name);
}

json_t *strait_emu_join_state(const struct strait_emu_registry *place, struct strait_error *err)
{
    const int fd = ask(place, STRAIT_EMU_ASK_STATE, 0, err);
    if (fd < 0)
        return NULL;
    json_t *state = json_loadfd(fd, 0, NULL);
    close(fd);
    if (!state)
        strait_error_set(err, STRAIT_ERR_BACKEND, "net", "the supervisor of \"%s\" does not answer",
                         place->name);
    return state;
}

/* The process at the other end of a socket, as a pidfd. */
static int supervisor_of(int fd)
{
    struct ucred peer = {.pid = 0};
    socklen_t n = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0 || peer.pid <= 0)
        return -1;
    return pidfd_open(peer.pid, 0);
}

int strait_emu_join_end(const struct strait_emu_registry *place, struct strait_error *err)
{
    const int fd = ask(place, STRAIT_EMU_ASK_END, 0, err);
    if (fd < 0)
        return -1;
    const int supervisor = supervisor_of(fd);
    if (supervisor < 0) {
        close(fd);
        return strait_error_system(err, place->socket, "cannot watch the supervisor end");
    }
    /* It ends when all other processes of its PID namespace have ended. */
    struct pollfd p = {.fd = supervisor, .events = POLLIN};
    int ready = poll(&p, 1, ASKED_MS);
    if (ready == 0) {
        pidfd_send_signal(supervisor, SIGKILL, NULL, 0);
        ready = poll(&p, 1, KILLED_MS);
    }
    close(supervisor);
    close(fd);
    strait_emu_registry_is_up(place); /* removes what a killed supervisor left */
    return ready > 0 ? 0
                     : strait_error_set(err, STRAIT_ERR_BACKEND, "net",
                                        "the supervisor of \"%s\" does not end", place->name);
}

/* --- namespaces of a rank
 * ----------------------------------------------------------------------- */

/* Receive the descriptors that come with one byte; 0 when complete. */
static int receive_keys(int fd, int keys[STRAIT_EMU_N_KEYS])
{
    const size_t n_bytes = STRAIT_EMU_N_KEYS * sizeof(*keys);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(STRAIT_EMU_N_KEYS * sizeof(int))] = {0};
    char byte;
    struct iovec io = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(n_bytes))
        return -1;
    memcpy(keys, CMSG_DATA(c), n_bytes);
    return 0;
}

int strait_emu_join_open(struct strait_emu_join *out, const struct strait_emu_registry *place,
                         int rank, struct strait_error *err)
{
    int keys[STRAIT_EMU_N_KEYS];
    *out = (struct strait_emu_join){-1, -1, -1, -1, -1};
    const int fd = ask(place, STRAIT_EMU_ASK_ROOM, rank, err);
    if (fd < 0)
        return -1;
    const int failed = receive_keys(fd, keys);
    close(fd);
    if (failed)
        return strait_error_set(err, STRAIT_ERR_BACKEND, "net",
                                "the supervisor of \"%s\" does not let one into rank %d",
                                place->name, rank);
    *out = (struct strait_emu_join){keys[0], keys[1], keys[2], keys[3], keys[4]};
    return 0;
}

void strait_emu_join_release(struct strait_emu_join *v)
{
    int *const fds[] = {&v->net_fd, &v->mount_fd, &v->uts_fd, &v->pid_fd, &v->user_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Entering one's own user namespace again is an error. */
static bool is_ours(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int strait_emu_join_join(const struct strait_emu_join *v, struct strait_error *err)
{
    if (!is_ours(v->user_fd, "/proc/self/ns/user") && setns(v->user_fd, CLONE_NEWUSER) != 0)
        return strait_error_system(err, "net", "cannot enter the network's user namespace");
    if (!is_ours(v->pid_fd, "/proc/self/ns/pid_for_children") &&
        setns(v->pid_fd, CLONE_NEWPID) != 0)
        return strait_error_system(err, "net", "cannot enter the network's process namespace");
    return 0;
}

/* Which step failed in the child. */
struct failure {
    int saved_errno;
    bool at_start; /* starting the program itself */
};

static void signals_as_new(void)
{
    sigset_t none;
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child, up to exec. `alive` ends when the parent does. */
static void become(const struct strait_emu_join *v, const struct strait_emu_command *p, int alive,
                   int report) __attribute__((noreturn));
static void become(const struct strait_emu_join *v, const struct strait_emu_command *p, int alive,
                   int report)
{
    struct failure f = {.at_start = false};
    struct pollfd parent = {.fd = alive};
    if (p->own_group)
        setpgid(0, 0);
    signals_as_new();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (poll(&parent, 1, 0) != 0) /* the parent ended before the prctl */
        _exit(EXIT_FAILURE);
    if (setns(v->uts_fd, CLONE_NEWUTS) == 0 && setns(v->net_fd, CLONE_NEWNET) == 0 &&
        setns(v->mount_fd, CLONE_NEWNS) == 0 && chdir(p->cwd) == 0 &&
        dup2(p->stdio[0], STDIN_FILENO) >= 0 && dup2(p->stdio[1], STDOUT_FILENO) >= 0 &&
        dup2(p->stdio[2], STDERR_FILENO) >= 0) {
        for (const char *const *e = p->env; *e; e++)
            putenv((char *)(uintptr_t)*e); /* putenv keeps the pointer and does not write */
        close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
        if (strait_emu_rights_drop(STRAIT_EMU_KEEP_PROGRAM, false, NULL) != 0)
            _exit(126);
        execvp(p->argv[0], (char *const *)(const void *)p->argv);
        f.at_start = true;
    }
    f.saved_errno = errno;
    _exit(write(report, &f, sizeof(f)) == (ssize_t)sizeof(f) ? 127 : 126);
}

pid_t strait_emu_join_start(const struct strait_emu_join *v, const struct strait_emu_command *p,
                            struct strait_error *err)
{
    int alive[2], report[2];
    if (pipe2(alive, O_CLOEXEC) != 0)
        return strait_error_system(err, NULL, "cannot make a pipe");
    if (pipe2(report, O_CLOEXEC) != 0) {
        close(alive[0]);
        close(alive[1]);
        return strait_error_system(err, NULL, "cannot make a pipe");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(alive[1]);
        become(v, p, alive[0], report[1]);
    }
    const int saved = errno;
    if (pid > 0 && p->own_group)
        setpgid(pid, pid); /* parent and child both call this: whichever runs first */
    close(alive[0]);
    close(report[1]);
    struct failure f;
    const ssize_t n = pid > 0 ? TEMP_FAILURE_RETRY(read(report[0], &f, sizeof(f))) : -1;
    close(alive[1]);
    close(report[0]);
    errno = saved;
    if (pid < 0)
        return strait_error_system(err, p->argv[0], "cannot start a process in the network");
    if (n != (ssize_t)sizeof(f))
        return pid;
    TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    strait_error_set(err, f.at_start ? STRAIT_ERR_USAGE : STRAIT_ERR_SYSTEM, p->argv[0],
                     "cannot %s: %s", f.at_start ? "be started" : "enter the network",
                     strerror(f.saved_errno));
    if (err && err->saved_errno == 0)
        err->saved_errno = f.saved_errno;
    return -1;
}
