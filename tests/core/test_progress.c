#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/progress.h"
#include "tests/kit/suite.h"

/* Ours while a test runs: standard error leads to a terminal of its own. */
struct terminal {
    int fd, saved;
};

static bool open_terminal(struct terminal *t, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    int slave;
    if (openpty(&t->fd, &slave, NULL, NULL, &size) != 0)
        return false;
    t->saved = dup(STDERR_FILENO);
    dup2(slave, STDERR_FILENO);
    close(slave);
    fcntl(t->fd, F_SETFL, O_NONBLOCK);
    return true;
}

/* What was shown; ends the terminal. */
static void close_terminal(struct terminal *t, char *shown, size_t cap)
{
    struct pollfd ready = {.fd = t->fd, .events = POLLIN};
    size_t n = 0;
    while (poll(&ready, 1, 200) > 0) { /* the kernel may hand it over in parts, a moment later */
        const ssize_t more = read(t->fd, shown + n, cap - 1 - n);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    shown[n] = '\0';
    dup2(t->saved, STDERR_FILENO);
    close(t->saved);
    close(t->fd);
}

static void pause_s(double s)
{
    const struct timespec pause = {(time_t)s, (long)(1e9 * (s - (double)(time_t)s))};
    nanosleep(&pause, NULL);
}

static void shown_and_wiped(void)
{
    struct terminal t;
    struct strait_progress p;
    char shown[4096];
    if (!open_terminal(&t, 80)) {
        strait_test_skip("no pseudo-terminal can be opened here");
        return;
    }
    const struct strait_instant begin = strait_instant_now();
    strait_progress_init(&p, "points", 64);
    strait_progress_step(&p, 1); /* within 0.1 s of the start: not yet */
    const bool soon = strait_instant_now().wall_s - begin.wall_s < 0.1;
    pause_s(0.11);
    strait_progress_step(&p, 16); /* 16/64 = 25 % */
    for (size_t i = 0; i < 3; i++)
        strait_progress_step(&p, 17 + i); /* too soon after the last one */
    strait_progress_release(&p);
    close_terminal(&t, shown, sizeof(shown));
    const char *line = strstr(shown, "points 16/64 25 % ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, " s left"));
    if (soon) /* else the machine was busy for that long */
        CU_ASSERT_PTR_NULL(strstr(shown, "points 1/64 "));
    CU_ASSERT(strlen(shown) > 4 && strcmp(shown + strlen(shown) - 4, "\r\033[K") == 0);
    CU_ASSERT_PTR_NULL(strchr(shown, '\n'));
}

static void narrow(void)
{
    struct terminal t;
    struct strait_progress p;
    char shown[4096];
    if (!open_terminal(&t, 10)) {
        strait_test_skip("no pseudo-terminal can be opened here");
        return;
    }
    strait_progress_init(&p, "points", 64);
    pause_s(0.11);
    strait_progress_step(&p, 16);
    close_terminal(&t, shown, sizeof(shown));
    CU_ASSERT_STRING_EQUAL(shown, "\r\033[Kpoints 16"); /* 9 of 10 columns */
}

static void no_terminal(void)
{
    struct strait_progress p;
    char byte;
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_NONBLOCK), 0);
    const int saved = dup(STDERR_FILENO);
    dup2(fds[1], STDERR_FILENO);
    strait_progress_init(&p, "points", 64);
    pause_s(0.11);
    strait_progress_step(&p, 16);
    strait_progress_release(&p);
    dup2(saved, STDERR_FILENO);
    close(saved);
    CU_ASSERT_EQUAL(p.n_done, 16);
    CU_ASSERT_EQUAL(read(fds[0], &byte, 1), -1); /* nothing was written */
    close(fds[0]);
    close(fds[1]);
}

static const struct strait_test tests[] = {
    {"the line shows what is done and what is left, and is wiped", shown_and_wiped},
    {"the line is cut to the terminal's width", narrow},
    {"without a terminal nothing is written", no_terminal},
};
STRAIT_SUITE("core/progress", tests);
