/* Main loop of the relay process: TUN devices, one timer and the computation of relay.h. */
#pragma once
#include <stdbool.h>
#include "emu/links/net_plan.h"

/* Single bytes on the control socket. The relay sends READY once; it answers each REPORT or RESTART
 * (the same, resetting counters afterwards) with a struct strait_emu_relay_report, whose pointers
 * are meaningless, then the out links' reports, then the in links'. */
enum {
    STRAIT_EMU_RELAY_READY = '+',
    STRAIT_EMU_RELAY_REPORT = 'r',
    STRAIT_EMU_RELAY_RESTART = 'R'
};

/** Relay until the other end of the control socket is closed.
 *  In:      tun_fds   plan->n_nodes devices, non-blocking
 *           trunk_fd  the one for all nodes of other hosts; -1: there are none
 *           realtime  whether SCHED_FIFO was granted, for the report */
void strait_emu_relay_loop(const struct strait_emu_net_plan *plan, const int *tun_fds, int trunk_fd,
                           int control_fd, bool realtime);
