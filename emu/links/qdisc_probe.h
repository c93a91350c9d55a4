/* Which other devices and queueing disciplines this kernel has, found by creating each once; netem,
 * tbf and TUN, which strait itself needs, are probed by strait_emu_net_probe. */
#pragma once
#include "userns.h"

struct strait_emu_qdisc_support {
    struct strait_emu_answer veth, bridge, htb;
};

/** Try each in a network namespace of a child process, with this user's rights or those in a user
 *  namespace.
 *  Returns: 0 with every answer filled, or -1 with *err SYSTEM when no child could be started */
int strait_emu_qdisc_support_probe(struct strait_emu_qdisc_support *out, struct strait_error *err);
