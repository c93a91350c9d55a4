#include "relay_process.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "relay_loop.h"
#include "emu/links/helper_process.h"
#include "emu/host/rights.h"
#include "emu/host/syscalls.h"

/* For a relay that hangs: one that has ended closes its end, which is noticed at once. A machine that
 * stood still for 11 s is no reason. */
enum { ANSWER_DEADLINE_MS = 60000 };

/* In the child. */
static void run(const struct strait_emu_net_plan *plan, const int *tun_fds, int trunk_fd,
                int control_fd, pid_t parent)
{
    if (!strait_emu_helper_begin(parent, "strait-relay"))
        return;
    prctl(PR_SET_TIMERSLACK, 1UL);
    const bool realtime = plan->realtime && strait_emu_helper_hurry();
    const size_t n = (size_t)plan->n_nodes;
    int *keep = calloc(n + 2, sizeof(*keep));
    if (!keep)
        return;
    memcpy(keep, tun_fds, n * sizeof(*keep));
    keep[n] = control_fd;
    keep[n + 1] = STDERR_FILENO;
    strait_emu_helper_keep(keep, n + 2);
    free(keep);
    if (strait_emu_rights_drop(STRAIT_EMU_KEEP_NOTHING, true, NULL) != 0 ||
        strait_emu_syscalls_refuse(NULL) != 0)
        return; /* it did not start */
    strait_emu_relay_loop(plan, tun_fds, trunk_fd, control_fd, realtime);
}

/* Receive all bytes before the deadline. */
static bool receive_all(int fd, void *bytes, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int ready = poll(&p, 1, ANSWER_DEADLINE_MS);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        const ssize_t n = ready < 0 ? 0 : recv(fd, (char *)bytes + done, n_bytes - done, 0);
        if ((n == 0 && ready > 0) || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

int strait_emu_relay_start(struct strait_emu_relay_process *out,
                           const struct strait_emu_net_plan *plan, const int *tun_fds, int trunk_fd,
                           struct strait_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return strait_error_system(err, NULL, "cannot make the relay's control socket");
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        run(plan, tun_fds, trunk_fd, pair[1], parent);
        _exit(EXIT_SUCCESS);
    }
    const int saved = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        errno = saved;
        return strait_error_system(err, NULL, "cannot start the relay");
    }
    *out = (struct strait_emu_relay_process){pid, pidfd_open(pid, 0), pair[0]};
    char ready;
    if (out->pidfd < 0 || !receive_all(pair[0], &ready, 1)) {
        strait_emu_relay_stop(out);
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the relay did not start");
    }
    return 0;
}

int strait_emu_relay_ask(struct strait_emu_relay_report *out,
                         const struct strait_emu_relay_process *process, bool restart,
                         struct strait_error *err)
{
    struct strait_emu_relay_report totals;
    const char command = restart ? STRAIT_EMU_RELAY_RESTART : STRAIT_EMU_RELAY_REPORT;
    *out = (struct strait_emu_relay_report){0};
    if (send(process->control_fd, &command, 1, MSG_NOSIGNAL) != 1 ||
        !receive_all(process->control_fd, &totals, sizeof(totals)))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the relay does not answer");
    *out = totals;
    const size_t n = (size_t)totals.n_nodes, n_links = 2 * n + (size_t)totals.n_between;
    out->out = calloc(n_links, sizeof(*out->out));
    if (!out->out)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for the relay's report");
    out->in = out->out + n;
    out->between = out->in + n;
    if (!receive_all(process->control_fd, out->out, n_links * sizeof(*out->out))) {
        strait_emu_relay_report_release(out);
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the relay does not answer");
    }
    return 0;
}

void strait_emu_relay_forget(struct strait_emu_relay_process *process)
{
    if (process->control_fd >= 0)
        close(process->control_fd);
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->control_fd = process->pidfd = -1;
}

void strait_emu_relay_stop(struct strait_emu_relay_process *process)
{
    if (process->pidfd >= 0) {
        pidfd_send_signal(process->pidfd, SIGKILL, NULL, 0);
        siginfo_t info;
        TEMP_FAILURE_RETRY(waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED));
    } else if (process->control_fd >= 0) { /* this kernel has no pidfd: the relay ends by itself */
        close(process->control_fd);
        process->control_fd = -1;
        TEMP_FAILURE_RETRY(waitpid(process->pid, NULL, 0));
    }
    strait_emu_relay_forget(process);
}
