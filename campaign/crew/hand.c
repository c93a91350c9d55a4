#include "hand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/io.h"

/* --- the hand itself ---------------------------------------------------------------------- */

/* End when the parent does, which may have been before this was asked for. */
static void follow(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

/* All that a task's process writes, until it ends. NULL: memory ran out, or it wrote nothing. */
static char *read_all(int fd, size_t *len_bytes)
{
    char *text = NULL;
    size_t len = 0, cap = 0;
    for (ssize_t n = 1; n > 0; len += n > 0 ? (size_t)n : 0) {
        if (cap - len < 65536) {
            char *more = realloc(text, cap = 2 * cap + 131072);
            if (!more)
                break;
            text = more;
        }
        n = TEMP_FAILURE_RETRY(read(fd, text + len, cap - len));
    }
    *len_bytes = len;
    return text;
}

/* Compute one task in a child; its answer, or why there is none. */
static char *compute(size_t i, strait_hand_work work, void *context, size_t *len_bytes)
{
    int fds[2], status = 0;
    char *text = NULL, *why = NULL;
    const pid_t me = getpid();
    const pid_t pid = pipe2(fds, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0) {
        follow(me);
        char *answer = work(i, context);
        _exit(answer && strait_io_write(fds[1], answer, strlen(answer), STRAIT_IO_HERE) ? 0 : 1);
    }
    if (pid > 0) {
        close(fds[1]);
        text = read_all(fds[0], len_bytes);
        close(fds[0]);
        TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
    }
    if (text && pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return text;
    free(text);
    const bool killed = pid > 0 && WIFSIGNALED(status);
    const int n = killed ? asprintf(&why, "{\"lost\": \"its process was ended by signal %d (%s)\"}",
                                    WTERMSIG(status), strsignal(WTERMSIG(status)))
                         : asprintf(&why, "{\"lost\": \"its process could not begin, or answer\"}");
    *len_bytes = n > 0 ? (size_t)n : 0;
    return n > 0 ? why : NULL;
}

static void serve(int ask_fd, int answer_fd, strait_hand_work work, void *context)
{
    for (uint64_t i; strait_io_read(ask_fd, &i, sizeof(i), STRAIT_IO_HERE);) {
        size_t len = 0;
        char *text = compute((size_t)i, work, context, &len);
        const uint64_t len_bytes = len;
        if (!text || !strait_io_write(answer_fd, &len_bytes, sizeof(len_bytes), STRAIT_IO_HERE) ||
            !strait_io_write(answer_fd, text, len, STRAIT_IO_HERE))
            _exit(1);
        free(text);
    }
}

int strait_hand_start(struct strait_hand *h, strait_hand_work work, void *context,
                      struct strait_error *err)
{
    int ask[2], answer[2];
    const pid_t parent = getpid();
    *h = (struct strait_hand){0};
    if (pipe2(ask, O_CLOEXEC) != 0)
        return strait_error_system(err, "workers", "cannot make a pipe");
    h->ask_fd = ask[1];
    if (pipe2(answer, O_CLOEXEC) != 0) {
        close(ask[0]);
        return strait_error_system(err, "workers", "cannot make a pipe");
    }
    h->answer_fd = answer[0];
    fflush(NULL);
    h->pid = fork();
    if (h->pid == 0) {
        close(ask[1]);
        close(answer[0]);
        follow(parent);
        serve(ask[0], answer[1], work, context);
        _exit(0);
    }
    close(ask[0]);
    close(answer[1]);
    if (h->pid < 0) {
        h->pid = 0;
        return strait_error_system(err, "workers", "cannot start a worker");
    }
    return 0;
}

/* --- the process that has one ------------------------------------------------------------- */

static void reap(struct strait_hand *h)
{
    if (h->pid > 0) {
        kill(h->pid, SIGKILL);
        TEMP_FAILURE_RETRY(waitpid(h->pid, NULL, 0));
    }
    h->pid = 0;
}

void strait_hand_give(struct strait_hand *h, size_t i)
{
    const uint64_t task = i;
    h->len_bytes = 0;
    if (h->pid > 0 && !strait_io_write(h->ask_fd, &task, sizeof(task), STRAIT_IO_HERE))
        reap(h);
}

/* Whether there is room for more of an answer. */
static bool grow(struct strait_hand *h)
{
    if (h->cap_bytes - h->len_bytes >= 65536)
        return true;
    char *more = realloc(h->buf, 2 * h->cap_bytes + 131072);
    if (!more)
        return false;
    h->buf = more;
    h->cap_bytes = 2 * h->cap_bytes + 131072;
    return true;
}

char *strait_hand_look(struct strait_hand *h, int wait_ms)
{
    uint64_t len = 0;
    struct pollfd fd = {.fd = h->answer_fd, .events = POLLIN};
    if (h->pid > 0 && poll(&fd, 1, wait_ms) <= 0)
        return NULL;
    if (h->pid > 0 && grow(h)) {
        const ssize_t n = TEMP_FAILURE_RETRY(
            read(h->answer_fd, h->buf + h->len_bytes, h->cap_bytes - h->len_bytes - 1));
        if (n <= 0)
            reap(h);
        h->len_bytes += n > 0 ? (size_t)n : 0;
    } else {
        reap(h);
    }
    if (h->pid == 0)
        return strdup("{\"lost\": \"its worker's process has ended\"}");
    if (h->len_bytes >= sizeof(len))
        memcpy(&len, h->buf, sizeof(len));
    if (h->len_bytes < sizeof(len) || h->len_bytes - sizeof(len) < len)
        return NULL;
    return strndup(h->buf + sizeof(len), (size_t)len);
}

void strait_hand_release(struct strait_hand *h)
{
    reap(h);
    if (h->ask_fd > 0)
        close(h->ask_fd);
    if (h->answer_fd > 0)
        close(h->answer_fd);
    free(h->buf);
    *h = (struct strait_hand){0};
}
