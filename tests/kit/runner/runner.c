#include "runner.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"

enum { MAX_AT_ONCE = 64, PATH_BYTES = 128, ARGS = 64 };

/* One process that runs a suite. */
struct slot {
    pid_t pid; /* 0: free */
    unsigned suite;
    double began_s, cpu_s;
    bool is_late;
};
struct work {
    struct strait_runner *r;
    char folder[64];
    struct slot slots[MAX_AT_ONCE];
    bool *is_begun;
    unsigned n_begun, n_ended;
    bool is_terminal;
};

static void path_of(char path[PATH_BYTES], const struct work *w, unsigned suite, const char *end)
{
    snprintf(path, PATH_BYTES, "%s/%u.%s", w->folder, suite, end);
}

static double deadline_s(const struct strait_suite *s)
{
    return s->deadline_s > 0 ? s->deadline_s : DEADLINE_S;
}

/* A group of its own, so that all of a suite that hangs can be ended; output to its log. */
static _Noreturn void become(const struct work *w, unsigned suite, pid_t parent, int log)
{
    const struct strait_runner *r = w->r;
    char events[PATH_BYTES];
    const char *argv[ARGS] = {r->program, "--events", events, "--here", r->suites[suite]->name};
    sigset_t none;
    path_of(events, w, suite, "events");
    for (int i = 0; i < r->n_words && i < ARGS - 6; i++)
        argv[5 + i] = r->words[i];
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL); /* a shell starts what runs in its background with both ignored */
    signal(SIGQUIT, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDONLY);
    if (getppid() != parent || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(126);
    close(null);
    execv("/proc/self/exe", (char *const *)(void *)argv);
    _exit(127);
}

static int begin(struct work *w, struct slot *slot, unsigned suite)
{
    char log_path[PATH_BYTES], events[PATH_BYTES];
    path_of(log_path, w, suite, "log");
    path_of(events, w, suite, "events");
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    const int said = open(events, flags, 0644), log = open(log_path, flags, 0644);
    const pid_t parent = getpid(), pid = said < 0 || log < 0 ? -1 : fork();
    if (pid == 0)
        become(w, suite, parent, log);
    if (pid < 0)
        fprintf(stderr, "strait: tests: %s: %s\n", log_path, strerror(errno));
    else
        *slot = (struct slot){.pid = pid, .suite = suite, .began_s = strait_instant_now().wall_s};
    if (said >= 0)
        close(said);
    if (log >= 0)
        close(log);
    w->is_begun[suite] = true;
    w->n_begun++;
    return pid < 0 ? -1 : 0;
}

/* What runs now, in place of the line before. */
static void show_progress(const struct work *w)
{
    char names[100] = "";
    size_t n = 0;
    if (!w->is_terminal)
        return;
    for (unsigned i = 0; i < w->r->n_at_once && n < sizeof(names); i++)
        if (w->slots[i].pid > 0)
            n += (size_t)snprintf(names + n, sizeof(names) - n, " %s",
                                  w->r->suites[w->slots[i].suite]->name);
    fprintf(stderr, "\r\033[K%u of %u suites, %u passed, %u failed:%.60s\r", w->n_ended,
            w->r->n_suites, w->r->n_passed, w->r->n_failed, names);
}

static int take_result(struct work *w, const struct slot *slot, int status)
{
    struct strait_runner *r = w->r;
    struct strait_suite_result *result = &r->results[slot->suite];
    char events[PATH_BYTES], log[PATH_BYTES];
    path_of(events, w, slot->suite, "events");
    path_of(log, w, slot->suite, "log");
    result->suite = r->suites[slot->suite];
    result->cpu_s = slot->cpu_s;
    result->took_s = strait_instant_now().wall_s - slot->began_s;
    if (slot->is_late)
        snprintf(result->cut, sizeof(result->cut), "ran past its deadline of %g s",
                 deadline_s(result->suite));
    else if (WIFSIGNALED(status))
        snprintf(result->cut, sizeof(result->cut), "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) > 1)
        snprintf(result->cut, sizeof(result->cut), "ended with status %d", WEXITSTATUS(status));
    const int rc = strait_result_read(result, events, log);
    unlink(events);
    unlink(log);
    r->n_passed += result->n_passed;
    r->n_failed += result->n_failed;
    r->n_skipped += result->n_skipped;
    w->n_ended++;
    if (w->is_terminal)
        fputs("\r\033[K", stderr);
    if (rc == 0)
        strait_result_print(stdout, result, r->seed);
    else
        fprintf(stderr, "strait: tests: %s: its results cannot be read\n", result->suite->name);
    return rc;
}

static struct slot *slot_of(struct work *w, pid_t pid)
{
    for (unsigned i = 0; i < w->r->n_at_once; i++)
        if (w->slots[i].pid == pid)
            return &w->slots[i];
    return NULL;
}

static void end_late(struct work *w)
{
    const double now_s = strait_instant_now().wall_s;
    for (unsigned i = 0; i < w->r->n_at_once; i++) {
        struct slot *s = &w->slots[i];
        if (s->pid > 0 && now_s - s->began_s > deadline_s(w->r->suites[s->suite])) {
            s->is_late = true;
            kill(-s->pid, SIGKILL);
        }
    }
}

/* The next suite that may begin: the slowest first, so that none is begun last. */
static int next(const struct work *w, bool alone)
{
    int found = -1;
    for (unsigned i = 0; i < w->r->n_suites; i++) {
        const struct strait_suite *s = w->r->suites[i];
        if (w->is_begun[i] || s->alone != alone)
            continue;
        if (found < 0 || s->slow_s > w->r->suites[found]->slow_s)
            found = (int)i;
    }
    return found;
}

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

/* All of one kind, n_at_once at a time. */
static int run_all(struct work *w, bool alone, unsigned n_at_once)
{
    const struct timespec moment = {.tv_nsec = 200 * 1000 * 1000};
    unsigned n_running = 0;
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    for (;;) {
        struct rusage used;
        int suite, status;
        pid_t pid;
        while (n_running < n_at_once && (suite = next(w, alone)) >= 0) {
            if (begin(w, slot_of(w, 0), (unsigned)suite) != 0)
                return -1;
            n_running++;
        }
        if (n_running == 0)
            return 0;
        show_progress(w);
        const int signal = sigtimedwait(&awaited, NULL, &moment);
        if (signal == SIGINT || signal == SIGTERM)
            return -1;
        end_late(w);
        while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
            struct slot *slot = slot_of(w, pid);
            if (!slot)
                continue;
            slot->cpu_s = seconds(&used.ru_utime) + seconds(&used.ru_stime);
            const struct slot ended = *slot;
            slot->pid = 0;
            n_running--;
            if (take_result(w, &ended, status) != 0)
                return -1;
        }
    }
}

int strait_runner_run(struct strait_runner *r)
{
    struct work w = {.r = r, .folder = "/tmp/strait-tests-XXXXXX", .is_terminal = isatty(2)};
    sigset_t blocked;
    if (r->n_at_once > MAX_AT_ONCE)
        r->n_at_once = MAX_AT_ONCE;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    w.is_begun = calloc(r->n_suites, sizeof(*w.is_begun));
    r->results = calloc(r->n_suites, sizeof(*r->results));
    if (!w.is_begun || !r->results || !mkdtemp(w.folder)) {
        fprintf(stderr, "strait: tests: %s: %s\n", w.folder, strerror(errno));
        free(w.is_begun);
        return -1;
    }
    int rc = run_all(&w, false, r->n_at_once);
    rc = rc == 0 ? run_all(&w, true, 1) : rc;
    for (unsigned i = 0; i < r->n_at_once; i++)
        if (w.slots[i].pid > 0) { /* interrupted */
            char path[PATH_BYTES];
            kill(-w.slots[i].pid, SIGKILL);
            waitpid(w.slots[i].pid, NULL, 0);
            path_of(path, &w, w.slots[i].suite, "log");
            unlink(path);
            path_of(path, &w, w.slots[i].suite, "events");
            unlink(path);
        }
    if (w.is_terminal)
        fputs("\r\033[K", stderr);
    rmdir(w.folder);
    free(w.is_begun);
    return rc;
}
