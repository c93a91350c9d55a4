/* The emulation as the caller sees it: what it can do, and a run in its own processes. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/host.h"
#include "supervisor.h"
#include "emu/judge/live_links.h"
#include "emu/judge/prepare.h"
#include "emu/process/rank_process.h"
#include "emu/links/userns.h"

enum { WATCH_MS = 500 };

/* An alternative TUN node, for users who may not open /dev/net/tun. */
static const char *tun_path(void)
{
    return getenv("STRAIT_TUN");
}

static int check(const struct strait_run *run, struct strait_error *err)
{
    enum strait_emu_realisation realisation;
    return strait_emu_prepare(&realisation, run, tun_path(), err);
}

/* State of a run in the calling process. */
struct session {
    struct strait_run *run;
    struct strait_emu_shared *shared;
    struct strait_emu_dilation dilation;
    enum strait_emu_realisation realisation;
    int *logs; /* a file for each rank's log */
    int facts;
    int caller[2]; /* sockets: ours, the supervisor's */
    int alive[2];  /* pipe whose other end all processes of the run hold */
    int signals;
    struct strait_live_link *links; /* for the live view */
    sigset_t old_mask;
    pid_t launcher; /* the child that starts the supervisor; 0: none */
};

static int open_files(struct session *s, struct strait_error *err)
{
    const int n = s->run->n_ranks;
    s->logs = calloc((size_t)n, sizeof(*s->logs));
    if (!s->logs)
        return strait_error_memory(err, NULL);
    memset(s->logs, -1, (size_t)n * sizeof(*s->logs));
    s->links = calloc((size_t)s->shared->n_links, sizeof(*s->links));
    if (!s->links)
        return strait_error_memory(err, NULL);
    for (int i = 0; i < n; i++)
        if ((s->logs[i] = memfd_create("strait-log", MFD_CLOEXEC)) < 0)
            return strait_error_system(err, "memfd_create", "cannot make the log of rank %d", i);
    if ((s->facts = memfd_create("strait-facts", MFD_CLOEXEC)) < 0)
        return strait_error_system(err, "memfd_create", "cannot make a file");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->caller) != 0)
        return strait_error_system(err, "socketpair", "cannot be made");
    if (pipe2(s->alive, O_CLOEXEC) != 0)
        return strait_error_system(err, "pipe", "cannot be made");
    return 0;
}

/* Block the signals that would end this process until the run is cleaned up. */
static int hold_signals(struct session *s, struct strait_error *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&mask, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &mask, &s->old_mask);
    s->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals < 0 ? strait_error_system(err, "signalfd", "cannot be made") : 0;
}

static void report_and_exit(struct session *s, const struct strait_error *err)
    __attribute__((noreturn));
static void report_and_exit(struct session *s, const struct strait_error *err)
{
    s->shared->error = *err;
    atomic_store(&s->shared->outcome, 2);
    _exit(EXIT_FAILURE);
}

static void close_callers_ends(struct session *s)
{
    close(s->caller[0]);
    close(s->alive[0]);
    close(s->signals);
}

/* Raise the descriptor limit: ranks have two sockets for each peer and channel. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* if refused, a socket call will fail */
}

/* Give this session more weight: with CONFIG_SCHED_AUTOGROUP the scheduler divides the machine
 * between sessions first, and a single busy program of another session would delay all ranks.
 * Refused without rights, and absent on many machines. */
static void be_prompt_as_session(void)
{
    const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "-15", 3) != 3)
        errno = 0;
    close(fd);
}

/* The caller's child: gets the rights, makes the PID namespace, starts its first process. */
static void launch(struct session *s) __attribute__((noreturn));
static void launch(struct session *s)
{
    struct strait_error err = {.code = STRAIT_OK};
    const char *launcher = strait_emu_registry_name();
    const bool userns = s->run->launcher && strcmp(s->run->launcher, "userns") == 0;
    const bool root = s->run->launcher && strcmp(s->run->launcher, "root") == 0;
    prctl(PR_SET_NAME, "strait-launch");
    pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
    setsid(); /* the terminal's signals go to the caller only */
    be_prompt_as_session();
    close_callers_ends(s);
    allow_descriptors();
    if (!strait_emu_is_loopback(s->run) && (userns || unshare(CLONE_NEWPID) != 0)) {
        if (root) {
            strait_error_set(&err, STRAIT_ERR_HOST, NULL, "cannot make a PID namespace as root: %s",
                             strerror(errno));
            report_and_exit(s, &err);
        }
        launcher = "userns";
        if (strait_emu_launch_userns(&err) != 0)
            report_and_exit(s, &err);
        if (unshare(CLONE_NEWPID) != 0) {
            strait_error_set(&err, STRAIT_ERR_HOST, NULL, "cannot make a PID namespace: %s",
                             strerror(errno));
            report_and_exit(s, &err);
        }
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which would have cleared it */
    const pid_t supervisor = fork();
    if (supervisor == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        strait_emu_supervisor_main(
            &(struct strait_emu_supervisor_plan){.run = s->run,
                                                 .backend = &strait_emu,
                                                 .shared = s->shared,
                                                 .dilation = s->dilation,
                                                 .realisation = s->realisation,
                                                 .launcher = launcher,
                                                 .tun_path = tun_path(),
                                                 .caller = s->caller[1],
                                                 .facts = s->facts,
                                                 .logs = s->logs});
    }
    int status = 0;
    if (supervisor < 0)
        strait_error_system(&err, "fork", "cannot start the supervisor");
    else if (waitpid(supervisor, &status, 0) == supervisor && WIFSIGNALED(status))
        strait_error_set(&err, STRAIT_ERR_BACKEND, NULL,
                         "the supervisor of the ranks was ended by signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (err.code != STRAIT_OK && atomic_load(&s->shared->outcome) == 0)
        report_and_exit(s, &err);
    _exit(EXIT_SUCCESS);
}

/* Wait until all processes of the run have ended. Returns the signal that ended it early, or 0. */
static int wait_for_end(struct session *s, struct strait_error *err)
{
    const bool watched = s->run->watch != NULL;
    int caught = 0;
    for (;;) {
        struct pollfd p[2] = {{.fd = s->alive[0], .events = POLLIN},
                              {.fd = s->signals, .events = POLLIN}};
        const int n = poll(p, 2, watched ? WATCH_MS : -1);
        if (n < 0 && errno != EINTR) {
            strait_error_system(err, "poll", "failed");
            kill(s->launcher, SIGKILL);
            return caught;
        }
        if (n == 0)
            strait_emu_live_show(s->run, s->shared, s->links);
        if (n > 0 && p[0].revents) /* nobody holds the other end any more */
            return caught;
        struct signalfd_siginfo info;
        if (n > 0 && p[1].revents &&
            read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
            caught = (int)info.ssi_signo;
            kill(s->launcher, SIGKILL); /* the supervisor and all others end with it */
        }
    }
}

static int read_facts(struct session *s, struct strait_error *err)
{
    if (!s->run->facts)
        return 0;
    lseek(s->facts, 0, SEEK_SET);
    json_t *all = json_loadfd(s->facts, 0, NULL);
    struct strait_facts *f = s->run->facts;
    const int failed = !all || json_object_update(f->report, json_object_get(all, "report")) != 0 ||
                       json_object_update(f->constants, json_object_get(all, "constants")) != 0 ||
                       json_array_extend(f->invalid, json_object_get(all, "invalid")) != 0 ||
                       json_array_extend(f->flags, json_object_get(all, "flags")) != 0;
    json_decref(all);
    return failed ? strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the facts are not readable")
                  : 0;
}

static int take_results(struct session *s, struct strait_error *err)
{
    struct strait_emu_shared *shared = s->shared;
    const int outcome = atomic_load(&shared->outcome);
    if (outcome == 2) {
        if (err && err->code == STRAIT_OK)
            *err = shared->error;
        return -1;
    }
    if (outcome != 1)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "the processes of the run were ended from outside");
    for (int i = 0; i < s->run->n_ranks; i++) {
        lseek(s->logs[i], 0, SEEK_SET);
        if (strait_log_read(s->logs[i], &s->run->logs[i], err) != 0)
            return -1;
    }
    return read_facts(s, err);
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void end_session(struct session *s)
{
    for (int i = 0; s->logs && i < s->run->n_ranks; i++)
        close_if_open(s->logs[i]);
    free(s->logs);
    free(s->links);
    close_if_open(s->facts);
    close_if_open(s->signals);
    for (int i = 0; i < 2; i++) {
        close_if_open(s->caller[i]);
        close_if_open(s->alive[i]);
    }
    strait_emu_shared_free(s->shared);
}

/* From the fork to the end of the last process. */
static int live(struct session *s, struct strait_error *err)
{
    s->launcher = fork();
    if (s->launcher < 0)
        return strait_error_system(err, "fork", "cannot start the emulation");
    if (s->launcher == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        launch(s);
    }
    close(s->caller[1]);
    close(s->alive[1]);
    s->caller[1] = s->alive[1] = -1;
    const int caught = wait_for_end(s, err);
    if (s->run->watch)
        s->run->watch(s->run, NULL);
    TEMP_FAILURE_RETRY(waitpid(s->launcher, NULL, 0));
    if (caught) {
        pthread_sigmask(SIG_SETMASK, &s->old_mask, NULL);
        raise(caught); /* the caller's handler; by default it ends this process */
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "interrupted by %s",
                                strsignal(caught));
    }
    return take_results(s, err);
}

static int run_emu(struct strait_run *run, struct strait_error *err)
{
    enum strait_emu_realisation realisation;
    if (strait_emu_prepare(&realisation, run, tun_path(), err) != 0)
        return -1;
    /* their links cost differently, which the dilation heeds */
    run->realisation = strait_emu_realisation_name(realisation);
    struct session s = {.run = run,
                        .realisation = realisation,
                        .facts = -1,
                        .caller = {-1, -1},
                        .alive = {-1, -1},
                        .signals = -1,
                        .dilation =
                            strait_emu_dilation_choose(run, (unsigned)strait_host_processors())};
    if (hold_signals(&s, err) != 0)
        return -1;
    s.shared = strait_emu_shared_new(run, s.dilation.k, s.dilation.n_compute, err);
    int failed = s.shared && open_files(&s, err) == 0 ? live(&s, err) : -1;
    pthread_sigmask(SIG_SETMASK, &s.old_mask, NULL);
    end_session(&s);
    return failed;
}

const struct strait_backend strait_emu = {
    .name = "emu",
    .summary = "one process a rank in its own network namespace, real TCP over shaped links",
    .is_measured = true,
    .has_packets = true,
    .check = check,
    .run = run_emu,
    .ops = &strait_proc_ops,
};
