/* Before an emulated run: whether the run is valid, this host can do it, and with which
 * realisation. */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"
#include "emu/links/net.h"
#include "emu/links/userns.h"

/** Check names, dilation, TCP and memory, and try what the host must be able to do.
 *  Out:     realisation  the requested one; else the kernel if netem works, else the relay
 *  In:      tun_path     NULL: the usual one
 *  Returns: 0, or -1 with *err: INPUT, or HOST */
int strait_emu_prepare(enum strait_emu_realisation *realisation, const struct strait_run *run,
                       const char *tun_path, struct strait_error *err);
/** Choose a realisation by run->realisation and what works here.
 *  Returns: 0, or -1 with *err HOST */
int strait_emu_choose_realisation(enum strait_emu_realisation *out, const struct strait_run *run,
                                  const struct strait_emu_ability *can, struct strait_error *err);
/** Whether this kernel's cubic leaves slow start by a delay (HyStart) that dilation does not
 *  scale. */
bool strait_emu_hystart_is_on(void);
/** If the network asks for HyStart, check that the kernel has it on. A guest in virtual time
 *  switches it on, since the kernel is this run's alone. With dilation HyStart would see other
 *  delays.
 *  In:      k  dilation
 *  Returns: 0, or -1 with *err: INPUT above k = 1, HOST where this kernel has it off */
int strait_emu_ask_hystart(const struct strait_tcp *tcp, double k, struct strait_error *err);
/** Whether this is the control without a network: all ranks on the loopback device. */
bool strait_emu_is_loopback(const struct strait_run *run);
