/* Time dilation: how many real seconds this machine needs for one virtual second so that it keeps
 * up. */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"

struct strait_emu_dilation {
    double k;              /* real seconds for one virtual one: 1, 2, 3 ... 64, or as asked */
    double k_cpu;          /* smallest k for the measured jobs */
    double k_net;          /* smallest k for the links, and for ranks that start together */
    double net_cpu_s;      /* CPU seconds of the network a gigabit, on which k_net is based */
    bool net_cpu_measured; /* on this machine, before the run; else built in */
    unsigned n_compute;    /* measured jobs that may run at once */
};

/** Choose the dilation.
 *  Source:  k is the smallest whole number that processors and links allow: a measured job must
 *           find a processor within k times its own time, and the relay must be able to move all
 *           segments */
struct strait_emu_dilation strait_emu_dilation_choose(const struct strait_run *run,
                                                      unsigned n_processors);
/** Whether this is User-Mode Linux, by the kernel's name of its processor. */
bool strait_emu_in_uml(void);
/** Whether time stands still here while anything computes, by the kernel's command line. */
bool strait_emu_in_virtual_time(void);
/** Whether processes can be late at all, so that they watch themselves: not where time stands still
 *  or every instruction takes a nanosecond. */
bool strait_emu_has_beat(void);
/** Whether this is QEMU's guest, in which every instruction takes a nanosecond, by the same. */
bool strait_emu_in_qemu(void);
/** A second SYN that is sent again makes the kernel begin with a window of one segment. */
#define STRAIT_EMU_MAX_REAL_RTT_S 2.5
/** The largest dilation at which no round trip of the run's network takes longer than that. */
double strait_emu_dilation_most(const struct strait_run *run);
/** The launcher of this process as root: "root", "uml", "vuml" or "qemu". */
const char *strait_emu_registry_name(void);
/** Sum of the link rates that can be busy at once, bits per second: the maximum flow from senders'
 *  to receivers' ports over the run's streams. */
double strait_emu_active_bits_per_s(const struct strait_run *run);
