#include "server.h"
#if __has_include(<microhttpd.h>)
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/shipped.h"
#include "check.h"
#include "exchange.h"
#include "jobs.h"
#include "mhd.h"

enum { MAX_CONNECTIONS = 32, IDLE_S = 15, HEADER_BYTES = 16 << 10, WAIT_MS = 250 };

struct server {
    struct strait_mhd mhd;
    struct MHD_Daemon *daemon;
    struct strait_answers answers;
    struct strait_jobs jobs;
    struct strait_exchange_context exchanges;
    char folder[64], check_folder[80];
    int signal_fd, epoll_fd;
    sigset_t before;
};

/* --- waiting -------------------------------------------------------------------------------- */

static bool is_gone(const struct pollfd *p)
{
    return p->revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* What is polled: signals, libmicrohttpd, and for each job its answer and who waits for it. */
enum { SIGNALS, REQUESTS, JOBS, N_POLLED = JOBS + 2 * STRAIT_MAX_JOBS };

static int wait_for_something(struct server *s, struct pollfd fds[N_POLLED])
{
    unsigned MHD_LONG_LONG wait_ms;
    int timeout_ms = WAIT_MS;
    fds[SIGNALS] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    fds[REQUESTS] = (struct pollfd){.fd = s->epoll_fd, .events = POLLIN};
    for (size_t i = 0; i < s->jobs.n; i++) {
        const struct strait_exchange *x = s->jobs.jobs[i].owner;
        fds[JOBS + 2 * i] = (struct pollfd){.fd = s->jobs.jobs[i].fd, .events = POLLIN};
        fds[JOBS + 2 * i + 1] = (struct pollfd){.fd = x->fd, .events = POLLRDHUP};
    }
    if (s->mhd.get_timeout(s->daemon, &wait_ms) == MHD_YES && wait_ms < WAIT_MS)
        timeout_ms = (int)wait_ms;
    return poll(fds, JOBS + 2 * (nfds_t)s->jobs.n, timeout_ms);
}

/* Answers that are complete go to who waits for them; what nobody waits for ends. */
static void look_at_jobs(struct server *s, const struct pollfd *fds)
{
    for (size_t i = s->jobs.n; i-- > 0;) { /* backwards: ended ones leave the queue */
        struct strait_asked_job *job = &s->jobs.jobs[i];
        struct strait_exchange *x = job->owner;
        const bool ended = fds[JOBS + 2 * i].revents != 0 && strait_asked_job_read(job);
        if (!ended && !is_gone(&fds[JOBS + 2 * i + 1]))
            continue;
        unsigned status;
        char *answer = strait_asked_job_take_answer(job, &status);
        strait_jobs_remove(&s->jobs, i);
        strait_exchange_answer(x, status, answer);
        s->mhd.resume_connection(x->connection);
    }
}

static int loop(struct server *s, struct strait_error *err)
{
    struct pollfd fds[N_POLLED];
    struct signalfd_siginfo info;
    for (;;) {
        s->mhd.run(s->daemon);
        if (strait_jobs_step(&s->jobs, err) != 0)
            return -1;
        const int n = wait_for_something(s, fds);
        if (n < 0 && errno != EINTR)
            return strait_error_system(err, "serve", "cannot wait for requests");
        if (n <= 0)
            continue;
        if (fds[SIGNALS].revents &&
            read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
            return 0;
        look_at_jobs(s, fds);
    }
}

/* --- beginning and end ---------------------------------------------------------------------- */

static int catch_signals(struct server *s, struct strait_error *err)
{
    sigset_t caught;
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGHUP);
    sigprocmask(SIG_BLOCK, &caught, &s->before);
    s->jobs.signals = &s->before;
    s->signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signal_fd >= 0 ? 0 : strait_error_system(err, "serve", "cannot wait for signals");
}

/* Of this server alone, where an emulation keeps its files. */
static int make_folder(struct server *s, struct strait_error *err)
{
    snprintf(s->folder, sizeof(s->folder), "/tmp/strait-serve-XXXXXX");
    if (!mkdtemp(s->folder)) {
        s->folder[0] = '\0';
        return strait_error_system(err, "/tmp", "cannot make a folder");
    }
    snprintf(s->check_folder, sizeof(s->check_folder), "%s/check", s->folder);
    return 0;
}

static int start(struct server *s, unsigned port, struct strait_error *err)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    s->exchanges.mhd = &s->mhd;
    s->exchanges.jobs = &s->jobs;
    s->daemon = s->mhd.start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)port, NULL, NULL,
        strait_exchange_handle, &s->exchanges, MHD_OPTION_SOCK_ADDR, &here,
        MHD_OPTION_NOTIFY_COMPLETED, strait_exchange_end, &s->exchanges,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_END);
    if (!s->daemon && errno == EADDRINUSE)
        return strait_error_set(err, STRAIT_ERR_SYSTEM, "serve",
                                "expected port %u to be free: another program has it; --port takes "
                                "another",
                                port);
    if (!s->daemon)
        return strait_error_system(err, "serve", "cannot listen on 127.0.0.1, port %u", port);
    s->epoll_fd = s->mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return 0;
}

static void stop(struct server *s)
{
    while (s->jobs.n > 0) {
        struct strait_exchange *x = s->jobs.jobs[s->jobs.n - 1].owner;
        strait_jobs_remove(&s->jobs, s->jobs.n - 1);
        strait_exchange_answer(x, 503, strdup("{\"error\": \"request: the server ends\"}"));
        s->mhd.resume_connection(x->connection);
    }
    if (s->daemon) {
        s->mhd.run(s->daemon);
        s->mhd.stop_daemon(s->daemon);
    }
}

int strait_server_run(const struct strait_server_options *o, struct strait_error *err)
{
    struct server s = {.signal_fd = -1};
    int failed = strait_mhd_load(&s.mhd, err);
    if (failed)
        return failed;
    s.jobs.answers = &s.answers;
    s.jobs.folder = s.check_folder;
    s.exchanges.texts[0] = json_dumps(o->choices, JSON_COMPACT);
    s.exchanges.texts[1] = json_dumps(o->experiments, JSON_COMPACT);
    failed = make_folder(&s, err) != 0 || strait_answers_load(&s.answers, err) != 0 ||
             catch_signals(&s, err) != 0 || start(&s, o->port, err) != 0;
    if (!failed && o->ready)
        o->ready(s.mhd.get_daemon_info(s.daemon, MHD_DAEMON_INFO_BIND_PORT)->port, o->context);
    failed = failed || loop(&s, err) != 0;
    stop(&s);
    if (s.signal_fd >= 0) {
        close(s.signal_fd);
        sigprocmask(SIG_SETMASK, &s.before, NULL);
    }
    if (*s.folder)
        strait_check_clear(s.folder);
    strait_answers_release(&s.answers);
    free(s.exchanges.texts[0]);
    free(s.exchanges.texts[1]);
    return failed ? -1 : 0;
}

int strait_server_check(struct strait_error *err)
{
    struct strait_mhd mhd;
    return strait_mhd_load(&mhd, err);
}
#else
int strait_server_check(struct strait_error *err)
{
    return strait_error_set(err, STRAIT_ERR_HOST, "serve",
                            "expected libmicrohttpd, found none when this was built (apt install "
                            "libmicrohttpd-dev, then build again)");
}

int strait_server_run(const struct strait_server_options *o, struct strait_error *err)
{
    (void)o;
    return strait_server_check(err);
}
#endif
