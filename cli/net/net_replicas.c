/* Copies of one program in the ranks of a network, their output and their end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "net_replicas.h"
#include "core/clock.h"
#include "core/names.h"

enum { LINE_BYTES = 65536, GRACE_MS = 5000, TEXT_CHARS = 400 };

/* One stream of a copy, passed on line by line. */
struct pipe_end {
    int fd; /* -1: none, or at its end */
    FILE *to;
    size_t n;
    char line[LINE_BYTES];
};

struct copy {
    char host[32];
    pid_t pid; /* 0: has ended */
    struct pipe_end pipes[2];
};

struct copies {
    const struct strait_tensor_copy_plan *plan;
    struct strait_emu_program *net;
    struct copy *items;
    int signals, null;
    int n_running, n_failed, n_ended_by_us;
    int caught;           /* the signal that ended all */
    bool supervisor_lost; /* ended from outside, and all copies with it */
    bool let_go;          /* of the leash */
    bool ending;          /* those that still run were told to end */
    double kill_s;        /* when those that do not will be killed */
    char failed[TEXT_CHARS];
};

/* --- output ----------------------------------------------------------------------------------- */

static void put_line(const struct copy *c, struct pipe_end *p)
{
    if (p->n > 0)
        fprintf(p->to, "%s | %.*s\n", c->host, (int)p->n, p->line);
    p->n = 0;
}

/* What is there by now; a signal, or nothing more to read, ends it until the next poll. */
static void drain(const struct copy *c, struct pipe_end *p)
{
    char chunk[4096];
    ssize_t n;
    while (p->fd >= 0 && (n = read(p->fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0)
            break;
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] == '\n' && p->n == 0)
                fprintf(p->to, "%s |\n", c->host);
            else if (chunk[i] == '\n' || p->n == LINE_BYTES)
                put_line(c, p);
            if (chunk[i] != '\n')
                p->line[p->n++] = chunk[i];
        }
        fflush(p->to);
    }
    if (p->fd >= 0 && n == 0) {
        put_line(c, p);
        fflush(p->to);
        close(p->fd);
        p->fd = -1;
    }
}

/* What the program gets as output and errors, and what we keep of it. */
static int open_output(struct copies *s, struct copy *c, int fds[2], struct strait_error *err)
{
    fds[0] = fds[1] = -1;
    if (s->plan->log) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s.log", s->plan->log, c->host);
        fds[0] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
        fds[1] = fds[0] < 0 ? -1 : fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
        return fds[1] < 0 ? strait_error_system(err, path, "cannot be written") : 0;
    }
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return strait_error_system(err, NULL, "cannot make a pipe");
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        c->pipes[i].fd = ends[0];
        fds[i] = ends[1];
    }
    return 0;
}

/* --- start ------------------------------------------------------------------------------------ */

static void put_env(struct strait_net_env *env, const struct strait_tensor_copy_plan *plan, int i)
{
    const json_t *master =
        json_array_get(json_object_get(plan->state, "ranks"), (size_t)plan->world_first);
    strait_net_env_room(env, plan->place, plan->state, plan->first + i);
    strait_net_env_add(env, "RANK=%d", plan->first + i - plan->world_first);
    strait_net_env_add(env, "WORLD_SIZE=%d", plan->world_n);
    strait_net_env_add(env, "LOCAL_RANK=0");
    strait_net_env_add(env, "MASTER_ADDR=%s",
                       json_string_value(json_object_get(master, "address")));
    if (!getenv("MASTER_PORT"))
        strait_net_env_add(env, "MASTER_PORT=29500");
    if (!getenv("OMP_NUM_THREADS"))
        strait_net_env_add(env, "OMP_NUM_THREADS=1");
}

static int start(struct copies *s, int i, const char *cwd, struct strait_error *err)
{
    struct copy *c = &s->items[i];
    struct strait_emu_join visit;
    struct strait_net_env env;
    int fds[2];
    if (strait_emu_join_open(&visit, s->plan->place, s->plan->first + i, err) != 0)
        return -1;
    put_env(&env, s->plan, i);
    pid_t pid = -1;
    if (open_output(s, c, fds, err) == 0) {
        const struct strait_emu_command program = {.argv = s->plan->argv,
                                                   .env = env.items,
                                                   .cwd = cwd,
                                                   .stdio = {s->null, fds[0], fds[1]},
                                                   .own_group = true};
        pid = strait_emu_join_start(&visit, &program, err);
    }
    for (int j = 0; j < 2; j++)
        if (fds[j] >= 0)
            close(fds[j]);
    strait_emu_join_release(&visit);
    if (pid < 0)
        return -1;
    c->pid = pid;
    s->n_running++;
    return 0;
}

static int start_all(struct copies *s, struct strait_error *err)
{
    char *cwd = getcwd(NULL, 0);
    int failed = cwd ? 0 : strait_error_system(err, NULL, "cannot find the working directory");
    for (int i = 0; i < s->plan->n && !failed; i++) {
        const json_t *rank = json_array_get(json_object_get(s->plan->state, "ranks"),
                                            (size_t)s->plan->first + (size_t)i);
        struct copy *c = &s->items[i];
        snprintf(c->host, sizeof(c->host), "%s", json_string_value(json_object_get(rank, "host")));
        c->pipes[0] = (struct pipe_end){.fd = -1, .to = stdout};
        c->pipes[1] = (struct pipe_end){.fd = -1, .to = stderr};
        failed = start(s, i, cwd, err);
    }
    free(cwd);
    return failed;
}

/* --- end -------------------------------------------------------------------------------------- */

static void end_others(struct copies *s, int number)
{
    for (int i = 0; i < s->plan->n; i++)
        if (s->items[i].pid > 0)
            kill(-s->items[i].pid, number);
    if (!s->ending)
        s->kill_s = strait_clock_s() + 1e-3 * GRACE_MS;
    s->ending = true;
}

static void note_failure(struct copies *s, const struct copy *c, int status)
{
    char how[64];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof(how), "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof(how), "exit status %d", WEXITSTATUS(status));
    if (strlen(s->failed) + 48 < sizeof(s->failed))
        strait_text_add(s->failed, sizeof(s->failed), "%s%s (%s)", *s->failed ? ", " : "", c->host,
                        how);
    s->n_failed++;
}

static void bury(struct copies *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->net->supervisor)
            s->net->supervisor = 0;
        for (int i = 0; i < s->plan->n; i++) {
            struct copy *c = &s->items[i];
            if (c->pid != pid)
                continue;
            c->pid = 0;
            s->n_running--;
            if (status == 0)
                continue;
            s->supervisor_lost = s->supervisor_lost || strait_emu_program_is_gone(s->net);
            if (s->ending || s->supervisor_lost)
                s->n_ended_by_us++;
            else
                note_failure(s, c, status);
        }
    }
    if (s->n_failed > 0 && !s->plan->keep_going && !s->ending)
        end_others(s, SIGTERM);
}

static void heed_signals(struct copies *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (s->caught) /* a second one: no more patience */
            s->kill_s = 0;
        s->caught = (int)info.ssi_signo;
        end_others(s, s->caught);
    }
    bury(s);
}

static void attend(struct copies *s)
{
    const size_t n = 2 * (size_t)s->plan->n;
    struct pollfd *p = calloc(n + 2, sizeof(*p));
    while (p && s->n_running > 0 && !(s->ending && strait_clock_s() >= s->kill_s)) {
        for (size_t i = 0; i < n; i++) /* poll skips those below 0 */
            p[i] = (struct pollfd){.fd = s->items[i / 2].pipes[i % 2].fd, .events = POLLIN};
        p[n] = (struct pollfd){.fd = s->signals, .events = POLLIN};
        p[n + 1] = (struct pollfd){.fd = s->let_go ? -1 : s->plan->leash, .events = POLLIN};
        if (poll(p, (nfds_t)n + 2, s->ending ? 100 : -1) <= 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (p[i].revents)
                drain(&s->items[i / 2], &s->items[i / 2].pipes[i % 2]);
        if (p[n].revents)
            heed_signals(s);
        if (p[n + 1].revents) {
            s->let_go = true;
            end_others(s, SIGTERM);
        }
    }
    free(p);
}

/* The other hosts may need the nodes of this one: say how the copies ended, and wait for all. */
static void wait_for_others(struct copies *s)
{
    struct pollfd p[] = {{.fd = s->plan->leash, .events = POLLIN},
                         {.fd = s->signals, .events = POLLIN}};
    if (s->plan->leash < 0)
        return;
    json_t *how = json_pack("{s:i, s:s}", "failed", s->n_failed, "text", s->failed);
    strait_net_say(how);
    while (!s->let_go && !s->caught && !strait_emu_program_is_gone(s->net)) {
        if (poll(p, 2, 1000) <= 0)
            continue;
        s->let_go = p[0].revents != 0;
        if (p[1].revents)
            heed_signals(s);
    }
}

/* With the network nobody is left who could hold a pipe: each comes to its end. */
static void end_all(struct copies *s)
{
    strait_emu_program_stop(s->net);
    for (int i = 0; i < s->plan->n; i++) {
        struct copy *c = &s->items[i];
        s->n_ended_by_us += c->pid > 0;
        for (int j = 0; j < 2; j++)
            if (c->host[0])
                drain(c, &c->pipes[j]);
    }
}

static int judge(const struct copies *s, struct strait_error *err)
{
    char others[48] = "", logs[300] = "";
    if (s->caught)
        return strait_error_set(err, STRAIT_ERR_BACKEND, "net run", "interrupted by %s",
                                strsignal(s->caught));
    if (s->supervisor_lost)
        return strait_error_set(err, STRAIT_ERR_BACKEND, "net run",
                                "the supervisor of the network was ended, and everything with it");
    if (s->n_failed == 0 || s->plan->leash >= 0)
        return 0;
    if (s->n_ended_by_us > 0)
        snprintf(others, sizeof(others), "; %d other%s ended", s->n_ended_by_us,
                 s->n_ended_by_us == 1 ? " was" : "s were");
    if (s->plan->log)
        snprintf(logs, sizeof(logs), "; see the logs in %.250s", s->plan->log);
    return strait_error_set(err, STRAIT_ERR_BACKEND, "net run", "%d of %d failed: %.300s%s%s",
                            s->n_failed, s->plan->n, s->failed, others, logs);
}

int strait_tensor_copy_run(const struct strait_tensor_copy_plan *plan,
                           struct strait_emu_program *net, struct strait_error *err)
{
    struct copies s = {.plan = plan,
                       .net = net,
                       .items = calloc((size_t)plan->n, sizeof(*s.items)),
                       .null = open("/dev/null", O_RDWR | O_CLOEXEC)};
    static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        sigaddset(&mask, numbers[i]);
    s.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    int failed = 0;
    if (!s.items)
        failed = strait_error_memory(err, NULL);
    else if (s.null < 0 || s.signals < 0)
        failed = strait_error_system(err, NULL, "cannot make a descriptor");
    else if (start_all(&s, err) != 0)
        failed = -1;
    if (!failed) {
        attend(&s);
        wait_for_others(&s);
    }
    if (s.items)
        end_all(&s);
    if (!failed)
        failed = judge(&s, err);
    if (s.null >= 0)
        close(s.null);
    if (s.signals >= 0)
        close(s.signals);
    free(s.items);
    return failed;
}
