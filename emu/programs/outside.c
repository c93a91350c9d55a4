#include "outside.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BACKLOG = 64, N_STREAMS = 3, MAX_BYTES = 1 << 20, NO_PROGRAM = 127 };

/* A request: this many bytes of words, each with a NUL behind it, and three descriptors. */
struct request {
    uint32_t n_bytes, n_words;
};

static int connected(const char *path, bool listens, struct strait_error *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    if (fd >= 0 && listens)
        unlink(path); /* a killed one's; the caller holds the network's name */
    if (fd >= 0 &&
        (listens ? bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, BACKLOG) == 0
                 : connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0))
        return fd;
    strait_error_system(err, path, listens ? "cannot listen there" : "cannot reach the host");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* --- the process that answers ----------------------------------------------------------------- */

static void become(char *words, uint32_t n_words, const int streams[N_STREAMS])
    __attribute__((noreturn));
static void become(char *words, uint32_t n_words, const int streams[N_STREAMS])
{
    const char **argv = calloc((size_t)n_words + 1, sizeof(*argv));
    for (uint32_t i = 0; argv && i < n_words; i++) {
        argv[i] = words;
        words += strlen(words) + 1;
    }
    for (int s = 1; s < NSIG; s++) /* what this program ignores is its own affair */
        signal(s, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < N_STREAMS; i++)
        dup2(streams[i], i);
    if (argv)
        execvp(argv[0], (char *const *)(const void *)argv);
    dprintf(STDERR_FILENO, "strait: net: %s: %s\n", argv ? argv[0] : "", strerror(errno));
    _exit(NO_PROGRAM);
}

/* The words, and the asker's streams; NULL where that is not what came. */
static char *receive(int fd, struct request *r, int streams[N_STREAMS])
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(N_STREAMS * sizeof(int))] = {0};
    struct iovec io = {r, sizeof(*r)};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof(*r))
        return NULL;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(N_STREAMS * sizeof(int)) ||
        r->n_bytes < 1 || r->n_bytes > MAX_BYTES || r->n_words < 1)
        return NULL;
    memcpy(streams, CMSG_DATA(c), N_STREAMS * sizeof(int));
    char *words = calloc((size_t)r->n_bytes + 1, 1);
    if (words && recv(fd, words, r->n_bytes, MSG_WAITALL) != (ssize_t)r->n_bytes) {
        free(words);
        words = NULL;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; words && i < r->n_bytes; i++)
        n += words[i] == '\0';
    r->n_words = n < r->n_words ? n : r->n_words;
    return words;
}

/* One request, in a process of its own. */
static void answer(int fd)
{
    struct request r;
    int streams[N_STREAMS], status = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *words = receive(fd, &r, streams);
    const pid_t pid = words ? fork() : -1;
    if (pid == 0)
        become(words, r.n_words, streams);
    if (pid < 0)
        return;
    for (int i = 0; i < N_STREAMS; i++)
        close(streams[i]);
    struct pollfd p[] = {{.fd = pidfd_open(pid, 0), .events = POLLIN},
                         {.fd = fd, .events = POLLIN}};
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        continue;
    if (!p[0].revents) /* the asker has gone */
        kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    const int32_t said = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    send(fd, &said, sizeof(said), MSG_NOSIGNAL);
}

static void serve(int listener) __attribute__((noreturn));
static void serve(int listener)
{
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && fork() == 0) {
            signal(SIGCHLD, SIG_DFL);
            answer(fd);
            _exit(EXIT_SUCCESS);
        }
        if (fd >= 0)
            close(fd);
    }
}

int strait_emu_outside_open(char path[STRAIT_EMU_PLACE_CHARS],
                            const struct strait_emu_registry *place, struct strait_error *err)
{
    static const char end[] = ".outside";
    if (snprintf(path, STRAIT_EMU_PLACE_CHARS, "%s/%s%s", place->folder, place->name, end) >=
        STRAIT_EMU_PLACE_CHARS)
        return strait_refuse(err, place->folder, "expected a shorter path for a socket");
    const int listener = connected(path, true, err);
    if (listener < 0)
        return -1;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        signal(SIGINT, SIG_IGN); /* a terminal's; it ends with its parent */
        signal(SIGCHLD, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        for (int i = 0; i < N_STREAMS; i++)
            close(i); /* a pipe's end that stays open would hide that of others */
        if (getppid() == parent)
            serve(listener);
        _exit(EXIT_SUCCESS);
    }
    const int saved = errno;
    close(listener);
    errno = saved;
    return pid < 0 ? strait_error_system(err, "fork", "cannot start the way out") : 0;
}

/* --- who asks --------------------------------------------------------------------------------- */

int strait_emu_outside_run(const char *path, const char *const *argv, struct strait_error *err)
{
    struct request r = {0};
    for (; argv[r.n_words]; r.n_words++)
        r.n_bytes += (uint32_t)strlen(argv[r.n_words]) + 1;
    char *words = malloc((size_t)r.n_bytes + 1), *at = words;
    for (uint32_t i = 0; words && i < r.n_words; i++)
        at += sprintf(at, "%s", argv[i]) + 1;
    const int streams[N_STREAMS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(streams))] = {0};
    struct iovec io = {&r, sizeof(r)};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(streams));
    memcpy(CMSG_DATA(c), streams, sizeof(streams));
    int32_t status = -1;
    const int fd = words ? connected(path, false, err) : -1;
    const bool asked = fd >= 0 && sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(r) &&
                       send(fd, words, r.n_bytes, MSG_NOSIGNAL) == (ssize_t)r.n_bytes;
    if (asked && recv(fd, &status, sizeof(status), MSG_WAITALL) != (ssize_t)sizeof(status))
        status = -1;
    if (status < 0 && fd >= 0)
        strait_error_set(err, STRAIT_ERR_BACKEND, path, "the host does not answer");
    else if (!words)
        strait_error_memory(err, NULL);
    if (fd >= 0)
        close(fd);
    free(words);
    return status;
}
