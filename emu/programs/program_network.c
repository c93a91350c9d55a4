#include "program_network.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/links/userns.h"

/* Get the rights for a new PID namespace: one's own, or those in a user namespace. */
static int get_rights(const char **launcher, const struct strait_emu_part *part,
                      struct strait_error *err)
{
    *launcher = "root";
    if (unshare(CLONE_NEWPID) == 0)
        return 0;
    if (part)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "a network on several hosts needs root on each: its VXLAN leaves "
                                "by the host's own devices");
    *launcher = "userns";
    if (strait_emu_launch_userns(err) != 0)
        return -1;
    if (unshare(CLONE_NEWPID) != 0)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL, "cannot make a PID namespace: %s",
                                strerror(errno));
    return 0;
}

/* Wait for the supervisor's first message: how its set-up ended. */
static int hear_ready(int leash, struct strait_error *err)
{
    struct strait_error said = {.code = STRAIT_OK};
    const ssize_t n = TEMP_FAILURE_RETRY(recv(leash, &said, sizeof(said), 0));
    if (n != (ssize_t)sizeof(said))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "the supervisor of the network ended before it was up");
    if (said.code == STRAIT_OK)
        return 0;
    if (err && err->code == STRAIT_OK)
        *err = said;
    return -1;
}

int strait_emu_program_start(struct strait_emu_program *out,
                             const struct strait_emu_registry *place, int lock_fd,
                             const struct strait_experiment *experiment, const char *label,
                             const char *realisation, const struct strait_emu_part *part,
                             struct strait_error *err)
{
    struct strait_emu_program_plan plan = {.place = place,
                                           .experiment = experiment,
                                           .label = label,
                                           .realisation = realisation,
                                           .part = part,
                                           .tun_path = getenv("STRAIT_TUN"),
                                           .lock_fd = lock_fd};
    int pair[2] = {-1, -1};
    *out = (struct strait_emu_program){.leash = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        strait_error_system(err, "socketpair", "cannot be made");
    else if (get_rights(&plan.launcher, part, err) == 0) {
        plan.leash = pair[1];
        out->supervisor = fork();
        if (out->supervisor == 0) {
            close(pair[0]);
            strait_emu_program_keep(&plan);
        }
        if (out->supervisor < 0)
            strait_error_system(err, "fork", "cannot start the supervisor");
    }
    out->leash = pair[0];
    if (pair[1] >= 0)
        close(pair[1]);
    const bool up = out->supervisor > 0 && hear_ready(out->leash, err) == 0;
    if (!up) {
        strait_emu_program_stop(out);
        strait_emu_registry_clear(place);
    }
    close(lock_fd);
    return up ? 0 : -1;
}

static void drop_leash(struct strait_emu_program *f)
{
    if (f->leash >= 0)
        close(f->leash);
    f->leash = -1;
}

void strait_emu_program_let_go(struct strait_emu_program *f)
{
    const char word = 'd';
    send(f->leash, &word, 1, MSG_NOSIGNAL); /* no effect if the supervisor is gone */
    drop_leash(f);
}

bool strait_emu_program_is_gone(const struct strait_emu_program *f)
{
    struct pollfd p = {.fd = f->leash};
    return f->leash >= 0 && poll(&p, 1, 0) > 0;
}

void strait_emu_program_stop(struct strait_emu_program *f)
{
    drop_leash(f);
    while (f->supervisor > 0) {
        const pid_t ended = waitpid(-1, NULL, 0);
        if (ended == f->supervisor || (ended < 0 && errno != EINTR))
            f->supervisor = 0;
    }
}
