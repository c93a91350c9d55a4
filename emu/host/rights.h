/* Rights that a process of a run gives up once the network stands. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"

/* Rights to keep, as bits. */
#define STRAIT_EMU_KEEP_NOTHING UINT64_C(0)
#define STRAIT_EMU_KEEP_NICE    (UINT64_C(1) << 23) /* CAP_SYS_NICE: ranks and relay are prompt */
#define STRAIT_EMU_KEEP_NET     (UINT64_C(1) << 12) /* CAP_NET_ADMIN: who changes shapers */
/* A program of the user's: CAP_CHOWN to CAP_SETUID, as in a container, NET_BIND_SERVICE, NET_RAW,
 * SYS_CHROOT and SYS_ADMIN (what strait net rsh needs to enter another rank), SYS_NICE and
 * AUDIT_WRITE. Not NET_ADMIN, which could shape the links anew, nor what reaches the kernel, its
 * modules, devices, clock or other processes. */
#define STRAIT_EMU_KEEP_PROGRAM                                                                    \
    (UINT64_C(0xff) | UINT64_C(1) << 10 | UINT64_C(1) << 13 | UINT64_C(1) << 18 |                  \
     UINT64_C(1) << 21 | UINT64_C(1) << 23 | UINT64_C(1) << 29)

/** Give up all capabilities but those in `keep`, in every set and for good: no program that this
 *  process or its children execute gains any; with no_new_privs not even a set-user-id program.
 *  In:      keep            of what the process has
 *           no_new_privs    false for programs of the user, which may be sudo or ping
 *  Returns: 0, or -1 with *err SYSTEM: the process must not go on */
int strait_emu_rights_drop(uint64_t keep, bool no_new_privs, struct strait_error *err);
