/* How much slower than the modelled world this machine must run it, so that it can keep up. */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"

struct strait_emu_dilation {
    double k;            /* real seconds for one virtual one: 1, 2, 3 ... 64, or as asked */
    double k_cpu;        /* least that the measured jobs need */
    double k_net;        /* least that the links, and ranks that begin at once, need */
    double kappa_s;      /* CPU-seconds of the network for a gigabit, on which k_net rests */
    bool kappa_measured; /* on this machine, before the run; else built in */
    unsigned n_compute;  /* measured jobs that run at once */
};

/** Source: k is the least whole number that processors and links need; a measured job must
 *  find a processor within k times its own time, and the relay must move all segments. */
struct strait_emu_dilation strait_emu_dilation_choose(const struct strait_run *run,
                                                      unsigned n_processors);
/** Processors that this process may use. */
unsigned strait_emu_processors(void);
/** Is this User-Mode Linux? By what the kernel calls its processor. */
bool strait_emu_in_uml(void);
/** Does time stand still here while anything computes? By the kernel's command line. */
bool strait_emu_in_virtual_time(void);
/** Is this QEMU's guest, in which every instruction takes a nanosecond? By the same. */
bool strait_emu_in_qemu(void);
/** A second SYN that is sent again makes the kernel begin with a window of one segment. */
#define STRAIT_EMU_MOST_REAL_RTT_S 2.5
/** The most dilation at which no round trip of the run's network takes longer than that. */
double strait_emu_dilation_most(const struct strait_run *run);
/** Where this process runs as root: "root", "uml", "vuml" or "qemu". */
const char *strait_emu_place_name(void);
/** The sum of the link rates that can be busy at once, bits per second: a flow from the senders'
 *  ports to the receivers' over the streams of the run. */
double strait_emu_active_bits_per_s(const struct strait_run *run);
