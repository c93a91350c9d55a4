#include "supervisor.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process/dilated_clock.h"
#include "emu/host/rights.h"
#include "emu/judge/deadlines.h"
#include "emu/judge/live_links.h"
#include "emu/links/net.h"
#include "emu/process/oom.h"
#include "emu/process/rank_process.h"
#include "emu/judge/report.h"
#include "net_setup.h"
#include "emu/judge/watch.h"

enum { LOOK_MS = 100, RELAY_LOOKS = 5 };
enum { PHASE_S = 150, STOPPED_S = 5 };
/* Between the last connection and time 0: round trips for late acknowledgements, and a short
 * time. */
static const double SETTLE_RTTS = 2, SETTLE_S = 0.06;
/* Time before time 0 for all ranks to receive the start time and create their threads... */
static const double WAKE_S = 0.03, WAKE_RANK_S = 0.001;
/* ...and this factor in User-Mode Linux: with 17 ranks rank 0 was 100 ms late without it. */
static const double WAKE_IN_UML = 15;

struct child {
    pid_t pid;
    int fd;             /* socket to the rank; -1: it has ended */
    char said;          /* its last message */
    int64_t stopped_ns; /* since when a signal has stopped it; 0: it runs */
};

struct supervisor {
    struct strait_emu_supervisor_plan plan;
    struct strait_emu_net *net;
    struct child *children;
    struct strait_emu_evidence evidence;
    struct strait_emu_watch watch;
    int n_looks;
    struct strait_emu_deadlines deadlines;
    uint64_t n_oom_kills; /* of this kernel, before the ranks */
};

/* Ending this process ends the whole run. */
static void leave(struct supervisor *k, const struct strait_error *err) __attribute__((noreturn));
static void leave(struct supervisor *k, const struct strait_error *err)
{
    struct strait_emu_shared *s = k->plan.shared;
    if (err->code != STRAIT_OK)
        s->error = *err;
    atomic_store(&s->outcome, err->code == STRAIT_OK ? 1 : 2);
    for (int i = 0; k->children && i < k->plan.run->n_ranks; i++)
        if (k->children[i].pid > 0)
            kill(k->children[i].pid, SIGKILL);
    strait_emu_net_free(k->net);
    _exit(err->code == STRAIT_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Build namespaces, links and relay; read the counters; probe the delays. */
static int build_net(struct supervisor *k, struct strait_error *err)
{
    const struct strait_run *run = k->plan.run;
    struct strait_emu_evidence *e = &k->evidence;
    e->before = calloc(2 * (size_t)run->n_ranks, sizeof(*e->before));
    if (!e->before)
        return strait_error_memory(err, NULL);
    e->after = e->before + run->n_ranks;
    if (strait_emu_net_setup_build(&k->net, run, k->plan.shared, k->plan.dilation.k,
                                   k->plan.tun_path, k->plan.realisation, NULL, err) != 0)
        return -1;
    e->realisation = k->plan.realisation;
    k->plan.shared->credit_s =
        strait_emu_net_setup_credit_s(run, k->plan.dilation.k, k->plan.realisation);
    for (int i = 0; i < run->n_ranks; i++)
        if (strait_emu_net_counters(&e->before[i], k->net, i, err) != 0)
            return -1;
    return strait_emu_net_setup_probe(e->probes, &e->n_probes, k->net, run, k->plan.dilation.k,
                                      err);
}

static int fork_rank(struct supervisor *k, int rank, struct strait_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return strait_error_system(err, "socketpair", "cannot be made");
    struct child *c = &k->children[rank];
    c->pid = fork();
    if (c->pid < 0)
        return strait_error_system(err, "fork", "cannot start rank %d", rank);
    if (c->pid == 0) {
        for (int i = 0; i < rank; i++)
            close(k->children[i].fd);
        close(pair[0]);
        strait_emu_rank_main(&(struct strait_emu_rank_plan){.run = k->plan.run,
                                                            .backend = k->plan.backend,
                                                            .shared = k->plan.shared,
                                                            .net = k->net,
                                                            .me = rank,
                                                            .control = pair[1],
                                                            .log = k->plan.logs[rank]});
    }
    close(pair[1]);
    c->fd = pair[0];
    return 0;
}

static int fork_ranks(struct supervisor *k, struct strait_error *err)
{
    k->children = calloc((size_t)k->plan.run->n_ranks, sizeof(*k->children));
    if (!k->children)
        return strait_error_memory(err, NULL);
    for (int i = 0; i < k->plan.run->n_ranks; i++)
        k->children[i].fd = -1;
    for (int i = 0; i < k->plan.run->n_ranks; i++)
        if (fork_rank(k, i, err) != 0)
            return -1;
    return 0;
}

/* A rank that is gone is noticed by poll, which knows why; one that did not hear would wait. */
static int tell(struct supervisor *k, int rank, enum strait_emu_word word, struct strait_error *err)
{
    const char c = (char)word;
    const int fd = k->children[rank].fd;
    const ssize_t n = fd >= 0 ? TEMP_FAILURE_RETRY(send(fd, &c, 1, MSG_NOSIGNAL)) : 1;
    if (n < 0 && errno != EPIPE && errno != ECONNRESET)
        return strait_error_system(err, "send", "rank %d cannot be told to go on", rank);
    return 0;
}

static int tell_all(struct supervisor *k, enum strait_emu_word word, struct strait_error *err)
{
    int failed = 0;
    for (int i = 0; i < k->plan.run->n_ranks && !failed; i++)
        failed = tell(k, i, word, err);
    return failed;
}

/* Note processes that a signal has stopped since the last look, even if they run again. A freezer
 * tells nobody; the beats of relay and ranks notice it. */
static void note_stops(struct supervisor *k)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_ALL, 0, &info, WSTOPPED | WCONTINUED | WNOHANG) != 0 || info.si_pid == 0)
            return;
        int rank = -1;
        for (int i = 0; k->children && i < k->plan.run->n_ranks && rank < 0; i++)
            rank = k->children[i].pid == info.si_pid ? i : -1;
        if (rank >= 0)
            k->children[rank].stopped_ns = info.si_code == CLD_STOPPED ? strait_proc_mono_ns() : 0;
        if (k->evidence.n_stops++ == 0)
            k->evidence.stopped_rank = rank;
    }
}

/* Find out why a rank's socket has ended. */
static int bury(struct supervisor *k, int rank, struct strait_error *err)
{
    struct child *c = &k->children[rank];
    struct strait_emu_rank_shared *r = &k->plan.shared->ranks[rank];
    int status = 0;
    TEMP_FAILURE_RETRY(waitpid(c->pid, &status, 0));
    close(c->fd);
    c->fd = -1;
    c->pid = 0;
    if (atomic_load(&r->state.has_error) == 2) {
        if (err->code == STRAIT_OK)
            *err = r->state.error;
        return -1;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
        strait_emu_oom_kills() > k->n_oom_kills)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL,
                                "memory ran out and the kernel killed rank %d: %.3g GB were "
                                "expected to suffice for all ranks",
                                rank, k->plan.run->allocated_bytes / 1e9);
    if (WIFSIGNALED(status))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d was ended by signal %d (%s)", rank, WTERMSIG(status),
                                strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0 || c->said != STRAIT_EMU_BYE)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d ended with status %d before the run did", rank,
                                WEXITSTATUS(status));
    return 0;
}

/* Receive a rank's message, or notice that it is gone. */
static int listen_to(struct supervisor *k, int rank, struct strait_error *err)
{
    char word;
    const ssize_t n = recv(k->children[rank].fd, &word, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0 && errno != ECONNRESET) /* it may well live: bury would wait for its end */
        return strait_error_system(err, "recv", "rank %d cannot be heard", rank);
    if (n <= 0)
        return bury(k, rank, err);
    k->children[rank].said = word;
    return 0;
}

/* A rank that somebody has stopped for good makes all others wait. */
static int check_stopped(const struct supervisor *k, struct strait_error *err)
{
    const int64_t now = strait_proc_mono_ns();
    for (int i = 0; i < k->plan.run->n_ranks; i++) {
        const int64_t since = k->children[i].stopped_ns;
        if (since > 0 && now - since > (int64_t)STOPPED_S * 1000000000)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d was stopped by a signal and does not go on", i);
    }
    return 0;
}

/* Periodic checks: does the relay live, can anything still move, is there time left? */
static int look_around(struct supervisor *k, struct strait_error *err)
{
    struct strait_emu_relay_report r;
    note_stops(k);
    if (k->net && ++k->n_looks % RELAY_LOOKS == 0) {
        if (strait_emu_net_report(&r, k->net, false, err) != 0)
            return -1;
        strait_emu_live_put(k->plan.shared, &r);
        strait_emu_deadlines_note(&k->deadlines, &r, strait_proc_mono_ns());
        strait_emu_relay_report_release(&r);
    } else if (!k->net) {
        strait_emu_deadlines_note(&k->deadlines, NULL, strait_proc_mono_ns());
    }
    if (check_stopped(k, err) != 0 ||
        strait_emu_deadlines_check(&k->deadlines, strait_proc_mono_ns(), err) != 0)
        return -1;
    return strait_emu_watch_look(&k->watch, k->plan.shared, err);
}

/* Wait briefly for messages of the ranks. Fails when a rank or the caller is lost. */
static int attend(struct supervisor *k, struct strait_error *err)
{
    const int n = k->plan.run->n_ranks;
    struct pollfd *p = calloc((size_t)n + 1, sizeof(*p));
    if (!p)
        return strait_error_memory(err, NULL);
    p[n] = (struct pollfd){.fd = k->plan.caller, .events = POLLIN};
    for (int i = 0; i < n; i++) /* poll skips those below 0 */
        p[i] = (struct pollfd){.fd = k->children[i].fd, .events = POLLIN};
    const int n_ready = poll(p, (nfds_t)n + 1, LOOK_MS);
    int failed = 0;
    if (n_ready < 0 && errno != EINTR)
        failed = strait_error_system(err, "poll", "failed");
    else if (n_ready > 0 && p[n].revents)
        failed = strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the caller is gone");
    for (int i = 0; n_ready > 0 && i < n && !failed; i++)
        if (p[i].revents)
            failed = listen_to(k, i, err);
    free(p);
    return failed;
}

static bool all_said(const struct supervisor *k, enum strait_emu_word word)
{
    for (int i = 0; i < k->plan.run->n_ranks; i++)
        if (k->children[i].said != (char)word)
            return false;
    return true;
}

static int wait_for_all(struct supervisor *k, enum strait_emu_word word, const char *what,
                        struct strait_error *err)
{
    const int64_t until_ns = strait_proc_mono_ns() + (int64_t)PHASE_S * 1000000000;
    while (!all_said(k, word)) {
        if (attend(k, err) != 0)
            return -1;
        if (strait_proc_mono_ns() > until_ns)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "the ranks did not %s within %d s", what, PHASE_S);
    }
    return 0;
}

static int start(struct supervisor *k, struct strait_error *err)
{
    struct strait_emu_shared *s = k->plan.shared;
    struct strait_emu_relay_report r;
    if (wait_for_all(k, STRAIT_EMU_LISTENING, "listen", err) != 0)
        return -1;
    if (tell_all(k, STRAIT_EMU_CONNECT, err) != 0 ||
        wait_for_all(k, STRAIT_EMU_READY, "connect", err) != 0)
        return -1;
    const double settle_s =
        SETTLE_S + SETTLE_RTTS * strait_emu_largest_rtt_s(k->plan.run, s) * s->dilation;
    strait_proc_sleep_until_ns(strait_proc_mono_ns() + (int64_t)(settle_s * 1e9));
    if (k->net) { /* lateness counts from here on */
        if (strait_emu_net_report(&r, k->net, true, err) != 0)
            return -1;
        k->evidence.relay_cpu_s = -r.cpu_s;
        strait_emu_relay_report_release(&r);
    }
    k->evidence.softnet_drops = strait_emu_softnet_drops();
    k->evidence.pressure_s = strait_emu_pressure_s();
    const double wake_s =
        (WAKE_S + WAKE_RANK_S * s->n_ranks) * (strait_emu_in_uml() ? WAKE_IN_UML : 1);
    if (strait_emu_rights_drop(STRAIT_EMU_KEEP_NOTHING, true, err) != 0)
        return -1;
    s->start_ns = strait_proc_mono_ns() + (int64_t)(wake_s * 1e9);
    strait_emu_deadlines_begin(&k->deadlines, k->plan.run, s);
    return tell_all(k, STRAIT_EMU_GO, err);
}

/* Wait until all ranks have returned, or rank 0 if that ends the run, and all messages are
 * delivered. */
static int run_ranks(struct supervisor *k, struct strait_error *err)
{
    const struct strait_run *run = k->plan.run;
    bool stopped = false;
    int64_t next_look_ns = 0;
    while (!all_said(k, STRAIT_EMU_DONE) ||
           (!stopped && strait_emu_watch_under_way(k->plan.shared) > 0)) {
        if (attend(k, err) != 0)
            return -1;
        if (strait_proc_mono_ns() >= next_look_ns) {
            if (look_around(k, err) != 0)
                return -1;
            next_look_ns = strait_proc_mono_ns() + (int64_t)LOOK_MS * 1000000;
        }
        if (run->ends_with_rank_0 && !stopped && k->children[0].said == STRAIT_EMU_DONE) {
            stopped = true;
            for (int i = 1; i < run->n_ranks; i++)
                if (k->children[i].said != STRAIT_EMU_DONE && tell(k, i, STRAIT_EMU_STOP, err) != 0)
                    return -1;
        }
    }
    return 0;
}

static int end_ranks(struct supervisor *k, struct strait_error *err)
{
    struct strait_emu_evidence *e = &k->evidence;
    note_stops(k);
    e->wall_s = (double)(strait_proc_mono_ns() - k->plan.shared->start_ns) / 1e9;
    if (k->net && strait_emu_net_report(&e->relay, k->net, false, err) != 0)
        return -1;
    e->relay_cpu_s += e->relay.cpu_s;
    e->softnet_drops = strait_emu_softnet_drops() - e->softnet_drops;
    e->pressure_s = strait_emu_pressure_s() - e->pressure_s;
    if (tell_all(k, STRAIT_EMU_END, err) != 0 || wait_for_all(k, STRAIT_EMU_BYE, "end", err) != 0)
        return -1;
    for (int i = 0; i < k->plan.run->n_ranks; i++)
        shutdown(k->children[i].fd, SHUT_RDWR);
    for (int i = 0; i < k->plan.run->n_ranks; i++)
        if (bury(k, i, err) != 0)
            return -1;
    for (int i = 0; k->net && i < k->plan.run->n_ranks; i++)
        if (strait_emu_net_counters(&e->after[i], k->net, i, err) != 0)
            return -1;
    return 0;
}

static int judge(struct supervisor *k, struct strait_error *err)
{
    struct strait_emu_evidence *e = &k->evidence;
    struct strait_facts facts = {.report = NULL};
    if (strait_facts_init(&facts, err) != 0)
        return -1;
    e->run = k->plan.run;
    e->shared = k->plan.shared;
    e->dilation = k->plan.dilation.k;
    e->shaped = k->net && !k->plan.run->control;
    for (int i = 0; i < e->run->n_ranks; i++)
        e->run_s = fmax(e->run_s, e->shared->ranks[i].returned_s);
    int failed = strait_emu_report(&facts, e, &k->plan.dilation, k->plan.launcher, err);
    if (!failed) {
        json_t *all = json_pack("{s:O, s:O, s:O, s:O}", "report", facts.report, "constants",
                                facts.constants, "invalid", facts.invalid, "flags", facts.flags);
        if (!all || json_dumpfd(all, k->plan.facts, JSON_COMPACT) != 0)
            failed = strait_error_set(err, STRAIT_ERR_SYSTEM, NULL, "cannot write the facts");
        json_decref(all);
    }
    strait_facts_release(&facts);
    return failed;
}

void strait_emu_supervisor_main(const struct strait_emu_supervisor_plan *plan)
{
    struct supervisor k = {
        .plan = *plan, .evidence.relay_cpu_s = NAN, .n_oom_kills = strait_emu_oom_kills()};
    struct strait_error err = {.code = STRAIT_OK};
    prctl(PR_SET_NAME, "strait-super");
    const bool loopback = plan->run->control && strcmp(plan->run->control, "loopback") == 0;
    if (!loopback && build_net(&k, &err) != 0)
        leave(&k, &err);
    if (fork_ranks(&k, &err) == 0 && start(&k, &err) == 0 && run_ranks(&k, &err) == 0 &&
        end_ranks(&k, &err) == 0)
        judge(&k, &err);
    leave(&k, &err);
}
