#include "net_crew.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/clock.h"
#include "net_command.h"

/* In the child. */
static void become(const char *const *words, const int to[2], const int out[2], const int errors[2])
    __attribute__((noreturn));
static void become(const char *const *words, const int to[2], const int out[2], const int errors[2])
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0); /* Ctrl-C is for us, who end all in order */
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(to[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    execvp(words[0], (char *const *)(const void *)words);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

int strait_net_crew_start(struct strait_net_part *p, const char *const *words,
                          struct strait_error *err)
{
    int to[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
    if (pipe2(to, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0) {
        fflush(NULL);
        p->pid = fork();
        if (p->pid == 0)
            become(words, to, out, errors);
    } else {
        p->pid = -1;
    }
    const int saved = errno, theirs[] = {to[0], out[1], errors[1]};
    for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    p->to = to[1];
    p->out.fd = out[0];
    p->errors.fd = errors[0];
    errno = saved;
    if (p->pid < 0) {
        p->pid = 0;
        return strait_error_system(err, words[0], "cannot start it");
    }
    fcntl(p->out.fd, F_SETFL, O_NONBLOCK);
    fcntl(p->errors.fd, F_SETFL, O_NONBLOCK);
    return 0;
}

static void take_line(struct strait_net_crew *c, struct strait_net_part *p,
                      struct strait_net_stream *s)
{
    const bool is_errors = s == &p->errors;
    if (!is_errors && s->n > 0 && s->line[0] == STRAIT_NET_MARK) {
        json_decref(p->said);
        p->said = json_loadb(s->line + 1, s->n - 1, 0, NULL);
    } else if (c->running) {
        fprintf(is_errors ? stderr : stdout, "%.*s\n", (int)s->n, s->line);
        fflush(is_errors ? stderr : stdout);
    } else if (s->n > 0) { /* what a launcher has to complain of */
        snprintf(p->complaint, sizeof(p->complaint), "%.*s", (int)(s->n < 150 ? s->n : 150),
                 s->line);
    }
    s->n = 0;
}

/* What is there by now; a signal, or nothing more to read, ends it until the next poll. */
static void drain(struct strait_net_crew *c, struct strait_net_part *p, struct strait_net_stream *s)
{
    char chunk[4096];
    ssize_t n;
    while (s->fd >= 0 && (n = read(s->fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0)
            return;
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] == '\n' || s->n == STRAIT_NET_LINE_BYTES)
                take_line(c, p, s);
            if (chunk[i] != '\n')
                s->line[s->n++] = chunk[i];
        }
    }
    if (s->fd < 0)
        return;
    if (s->n > 0)
        take_line(c, p, s);
    close(s->fd);
    s->fd = -1;
}

static void heed_signals(struct strait_net_crew *c)
{
    struct signalfd_siginfo info;
    while (read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            c->caught = (int)info.ssi_signo;
}

/* Wait for something to read, and read it. */
void strait_net_crew_attend(struct strait_net_crew *c, int patience_ms)
{
    const size_t n = (size_t)c->hosts->n;
    struct pollfd *p = calloc(2 * n + 1, sizeof(*p));
    if (!p)
        return;
    for (size_t i = 0; i < 2 * n; i++) {
        struct strait_net_part *part = &c->parts[i / 2];
        p[i] = (struct pollfd){.fd = i % 2 ? part->errors.fd : part->out.fd, .events = POLLIN};
    }
    p[2 * n] = (struct pollfd){.fd = c->signals, .events = POLLIN};
    if (poll(p, 2 * n + 1, patience_ms) > 0) {
        for (size_t i = 0; i < 2 * n; i++)
            if (p[i].revents)
                drain(c, &c->parts[i / 2], i % 2 ? &c->parts[i / 2].errors : &c->parts[i / 2].out);
        if (p[2 * n].revents)
            heed_signals(c);
    }
    free(p);
}

void strait_net_crew_say(struct strait_net_part *p, const json_t *what)
{
    char *line = json_dumps(what, JSON_COMPACT);
    json_decref(p->said);
    p->said = NULL;
    if (line)
        dprintf(p->to, "%s\n", line); /* who has gone is noticed by its silence */
    free(line);
}

/* Each ends with its standard input; what a launcher leaves undone after that is killed. */
void strait_net_crew_end(struct strait_net_crew *c)
{
    const double until_s = strait_clock_s() + 30;
    for (int i = 0; i < c->hosts->n; i++)
        if (c->parts[i].to >= 0)
            close(c->parts[i].to);
    for (int i = 0; i < c->hosts->n; i++) {
        struct strait_net_part *p = &c->parts[i];
        while ((p->out.fd >= 0 || p->errors.fd >= 0) && strait_clock_s() < until_s)
            strait_net_crew_attend(c, 200);
        if (p->pid > 0 && strait_clock_s() >= until_s)
            kill(-p->pid, SIGKILL);
        if (p->pid > 0)
            waitpid(p->pid, NULL, 0);
        for (int j = 0; j < 2; j++)
            if ((j ? &p->errors : &p->out)->fd >= 0)
                close((j ? &p->errors : &p->out)->fd);
        json_decref(p->said);
    }
}
