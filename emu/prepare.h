/* Before an emulated run: can this run be done, can this host do it, and by which realisation? */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"
#include "emu/links/net.h"
#include "userns.h"

/** Check names, dilation, TCP, memory, and by trying what the host must be able to do.
 *  Out:     realisation  the one asked for; else the kernel where netem works, else the relay
 *  In:      tun_path     NULL: the usual one
 *  Returns: 0, or -1 with *err: INPUT, or HOST
 */
int strait_emu_prepare(enum strait_emu_realisation *realisation, const struct strait_run *run,
                       const char *tun_path, struct strait_error *err);
/** Of what there is, by run->realisation.
 *  Returns: 0, or -1 with *err HOST */
int strait_emu_choose_realisation(enum strait_emu_realisation *out, const struct strait_run *run,
                                  const struct strait_emu_ability *can, struct strait_error *err);
/** Does this kernel's cubic leave slow start by a delay that dilation does not stretch? */
bool strait_emu_hystart_is_on(void);
/** Is this the control without a network, all ranks on the loopback device? */
bool strait_emu_is_loopback(const struct strait_run *run);
