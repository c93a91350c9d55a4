/* The relay as a process: start, reports, end. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "emu/links/net_plan.h"

struct strait_emu_relay_process {
    pid_t pid;
    int pidfd;      /* -1: no process */
    int control_fd; /* closing it ends the relay, as does the end of the thread that started it */
};

/** Fork the relay.
 *  Out:     out       end with strait_emu_relay_stop
 *  In:      tun_fds   plan->n_nodes devices; the caller closes its copies
 *           trunk_fd  the device to the plan's other hosts, which is that of their nodes; or -1 */
int strait_emu_relay_start(struct strait_emu_relay_process *out,
                           const struct strait_emu_net_plan *plan, const int *tun_fds, int trunk_fd,
                           struct strait_error *err);
/** As strait_emu_net_report. */
int strait_emu_relay_ask(struct strait_emu_relay_report *out,
                         const struct strait_emu_relay_process *process, bool restart,
                         struct strait_error *err);
/** End the process and reap it. */
void strait_emu_relay_stop(struct strait_emu_relay_process *process);
/** Release it without ending it: for a forked child of the process that started it. */
void strait_emu_relay_forget(struct strait_emu_relay_process *process);
