/* Which kernel a User-Mode Linux guest boots: Debian's, or the one that `make vkernel` built.
 * Debian's ends in a panic on processors with AMX, which nothing but booting it tells for sure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

enum { STRAIT_EMU_KERNEL_PATH_CHARS = 4096 };

struct strait_emu_guest_kernel {
    char path[STRAIT_EMU_KERNEL_PATH_CHARS]; /* or a name that PATH has */
    bool is_built;                           /* by make vkernel: needs no modules */
};

/** Is there a kernel that could be tried?
 *  Returns: 0, or -1 with *err HOST, which names the package or the target of make that helps */
int strait_emu_guest_kernel_is_there(bool virtual_time, struct strait_error *err);

/** The kernel for a guest: in virtual time the built one; else Debian's, and where that is not
 *  installed or does not boot on this machine the built one. What is chosen was booted, now or by
 *  an earlier command, which keeps the answer in the user's cache folder.
 *  Returns: 0, or -1 with *err HOST, which names the package or the target of make that helps
 *  Cost:    2 s for each kernel that nobody booted here before, and with `again` */
int strait_emu_guest_kernel_choose(struct strait_emu_guest_kernel *out, bool virtual_time,
                                   bool again, struct strait_error *err);

/** The arguments that begin a PID namespace for a guest, put into argv, which has room for 12.
 *  Returns: how many */
size_t strait_emu_guest_kernel_wrap(const char **argv, bool as_root);
