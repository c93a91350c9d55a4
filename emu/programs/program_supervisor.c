/* The supervisor of a network for user programs: builds it, answers requests, reaps orphans. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "program_network.h"
#include "process/dilated_clock.h"
#include "emu/judge/prepare.h"
#include "sandbox.h"
#include "emu/net_setup.h"

enum { BACKLOG = 64, PATIENCE_S = 2 };

struct supervisor {
    const struct strait_emu_program_plan *plan;
    struct strait_emu_net *net;
    struct strait_emu_sandbox *rooms;
    json_t *state;
    int leash; /* -1 when nobody holds it any more and the network stays */
    int listener, signals, pid_fd, user_fd;
    bool ends;
};

static void leave(struct supervisor *k) __attribute__((noreturn));
static void leave(struct supervisor *k)
{
    strait_emu_net_free(k->net);
    strait_emu_registry_clear(k->plan->place);
    _exit(EXIT_SUCCESS); /* the kernel kills the rest of the PID namespace first */
}

/* Detach from the caller: own session, no terminal, no streams, a neutral working directory. */
static int be_alone(struct supervisor *k, struct strait_error *err)
{
    sigset_t mask;
    prctl(PR_SET_NAME, "strait-net");
    setsid();
    umask(077);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || chdir("/") != 0)
        return strait_error_system(err, "/dev/null", "cannot open it");
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        dup2(null, i);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit); /* if refused, an open will fail */
    }
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    k->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return k->signals < 0 ? strait_error_system(err, "signalfd", "cannot be made") : 0;
}

/* Our process id outside, from the outer /proc. */
static long number_outside(void)
{
    char text[32] = "";
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 ? strtol(text, NULL, 10) : 0;
}

static int build(struct supervisor *k, bool *congestion_set, struct strait_error *err)
{
    const struct strait_experiment *e = k->plan->experiment;
    const struct strait_emu_trunk *trunk = k->plan->part ? &k->plan->part->trunk : NULL;
    const struct strait_run run = {.n_ranks = e->n_ranks,
                                   .network = e->network,
                                   .seed = e->seed,
                                   .realisation = k->plan->realisation};
    const struct strait_emu_shared no_streams = {.n_streams = 0, .start_ns = strait_proc_mono_ns()};
    const double k_real_time = 1;
    char *hosts = strait_emu_program_hosts(e), host[32];
    enum strait_emu_realisation realisation = STRAIT_EMU_RELAY;
    struct strait_emu_ability can;
    k->rooms = calloc((size_t)e->n_ranks, sizeof(*k->rooms));
    int failed = 0;
    if (!hosts || !k->rooms)
        failed = strait_error_memory(err, NULL);
    if (!failed)
        failed = strait_emu_ask_hystart(&e->network->tcp, k_real_time, err) != 0 ||
                 strait_emu_net_probe(&can, k->plan->tun_path, err) != 0 ||
                 strait_emu_choose_realisation(&realisation, &run, &can, err) != 0 ||
                 strait_emu_net_setup_build(&k->net, &run, &no_streams, k_real_time,
                                            k->plan->tun_path, realisation, trunk, err) != 0;
    *congestion_set = true;
    for (int i = 0; i < e->n_ranks && !failed; i++) {
        bool set;
        if (!strait_emu_trunk_has(trunk, i))
            continue;
        failed = strait_emu_sandbox_make(&k->rooms[i], &set, k->net, i,
                                         strait_emu_program_host(host, e, i), hosts,
                                         strait_congestion_name(e->network->tcp.congestion), err);
        *congestion_set = *congestion_set && set;
    }
    free(hosts);
    return failed ? -1 : 0;
}

static int be_found(struct supervisor *k, struct strait_error *err)
{
    const struct strait_emu_registry *place = k->plan->place;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    _Static_assert(sizeof(a.sun_path) >= sizeof(place->socket), "a place fits a socket's address");
    memcpy(a.sun_path, place->socket, sizeof(place->socket));
    k->pid_fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    k->user_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    if (k->pid_fd < 0 || k->user_fd < 0)
        return strait_error_system(err, "/proc/self/ns", "cannot open a namespace");
    k->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (k->listener < 0 || bind(k->listener, (struct sockaddr *)&a, sizeof(a)) != 0 ||
        listen(k->listener, BACKLOG) != 0)
        return strait_error_system(err, place->socket, "cannot listen there");
    if (json_dump_file(k->state, place->state, JSON_INDENT(1)) != 0)
        return strait_error_system(err, place->state, "cannot write it");
    return 0;
}

static int set_up(struct supervisor *k, struct strait_error *err)
{
    bool congestion_set = false;
    const long pid = number_outside();
    if (be_alone(k, err) != 0 || strait_emu_sandbox_prepare(err) != 0 ||
        build(k, &congestion_set, err) != 0)
        return -1;
    k->state = strait_emu_program_state(k->plan, pid, congestion_set);
    json_object_set_new(
        k->state, "realisation",
        json_string(strait_emu_realisation_name(strait_emu_net_realisation(k->net))));
    if (!k->state)
        return strait_error_memory(err, NULL);
    return be_found(k, err);
}

static void give_keys(const struct supervisor *k, int to, int rank)
{
    if (rank < 0 || rank >= strait_emu_net_n_nodes(k->net) ||
        strait_emu_net_namespace_fd(k->net, rank) < 0)
        return; /* the asker reads end-of-file */
    const int keys[STRAIT_EMU_N_KEYS] = {strait_emu_net_namespace_fd(k->net, rank),
                                         k->rooms[rank].mount_fd, k->rooms[rank].uts_fd, k->pid_fd,
                                         k->user_fd};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(keys))] = {0};
    char byte = 'k';
    struct iovec io = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(keys));
    memcpy(CMSG_DATA(c), keys, sizeof(keys));
    sendmsg(to, &m, MSG_NOSIGNAL); /* no effect if the asker has gone */
}

static void tell_state(struct supervisor *k, int to)
{
    size_t i;
    json_t *rank;
    json_array_foreach (json_object_get(k->state, "ranks"), i, rank) {
        struct strait_emu_counters c;
        if (strait_emu_net_counters(&c, k->net, (int)i, NULL) == 0)
            json_object_set_new(
                rank, "counters",
                json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "sent_bytes", (json_int_t)c.tx_bytes,
                          "received_bytes", (json_int_t)c.rx_bytes, "sent_packets",
                          (json_int_t)c.tx_packets, "received_packets", (json_int_t)c.rx_packets,
                          "dropped", (json_int_t)c.tx_dropped + (json_int_t)c.rx_dropped, "errors",
                          (json_int_t)c.tx_errors + (json_int_t)c.rx_errors));
    }
    json_dumpfd(k->state, to, JSON_COMPACT);
}

static void answer(struct supervisor *k)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int peer = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC);
    struct strait_emu_question q;
    if (peer < 0)
        return;
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (recv(peer, &q, sizeof(q), MSG_WAITALL) == (ssize_t)sizeof(q)) {
        if (q.request == STRAIT_EMU_ASK_ROOM)
            give_keys(k, peer, q.rank);
        else if (q.request == STRAIT_EMU_ASK_STATE)
            tell_state(k, peer);
        else if (q.request == STRAIT_EMU_ASK_END)
            k->ends = true;
    }
    close(peer);
}

/* Reap orphans of the PID namespace. The relay is also our child: end the network with it, since no
 * packet arrives without it. */
static void heed_signals(struct supervisor *k)
{
    struct signalfd_siginfo info;
    bool child_ended = false;
    while (read(k->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        child_ended = child_ended || info.ssi_signo == SIGCHLD;
        k->ends = k->ends || info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_emu_relay_report r = {.out = NULL};
    if (child_ended && strait_emu_net_report(&r, k->net, false, &err) != 0)
        k->ends = k->ends || err.code == STRAIT_ERR_BACKEND;
    else
        strait_emu_relay_report_release(&r);
}

static void heed_leash(struct supervisor *k)
{
    char word;
    k->ends = recv(k->leash, &word, 1, 0) != 1 || k->ends;
    close(k->leash);
    k->leash = -1;
}

void strait_emu_program_keep(const struct strait_emu_program_plan *plan)
{
    struct supervisor k = {.plan = plan,
                           .leash = plan->leash,
                           .listener = -1,
                           .signals = -1,
                           .pid_fd = -1,
                           .user_fd = -1};
    struct strait_error err = {.code = STRAIT_OK};
    k.ends = set_up(&k, &err) != 0;
    k.ends = send(k.leash, &err, sizeof(err), MSG_NOSIGNAL) != (ssize_t)sizeof(err) || k.ends;
    while (!k.ends) {
        struct pollfd p[] = {{.fd = k.listener, .events = POLLIN},
                             {.fd = k.signals, .events = POLLIN},
                             {.fd = k.leash, .events = POLLIN}};
        if (poll(p, sizeof(p) / sizeof(*p), -1) < 0 && errno != EINTR)
            break;
        if (p[0].revents)
            answer(&k);
        if (p[1].revents)
            heed_signals(&k);
        if (p[2].revents)
            heed_leash(&k);
    }
    leave(&k);
}
