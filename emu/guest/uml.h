/* A program run in User-Mode Linux: a kernel with netem as an ordinary process, the host's files as
 * its own, the processor's full speed, one processor. Its time is the host's; or in virtual time it
 * stands still while anything computes and jumps where all wait: as if it had processors without
 * end. That needs the kernel that `make vkernel` builds, the first Debian's (user-mode-linux), or
 * the same where Debian's does not boot: guest_kernel.h. */
#pragma once
#include "guest_dir.h"
#include "guest_kernel.h"

/** Is what it needs installed and allowed, and does its kernel boot?
 *  Returns: 0, or -1 with *err HOST, which names the package or the target of make that helps
 *  Cost:    strait_emu_guest_kernel_choose
 */
int strait_emu_uml_check(bool virtual_time, struct strait_error *err);
/** The same, and which kernel it is.
 *  In:      again  boot it, whatever an earlier command found */
int strait_emu_uml_find(struct strait_emu_guest_kernel *kernel, bool virtual_time, bool again,
                        struct strait_error *err);

/** Boot, run, halt. The guest and all that runs in it end with the calling thread, by any signal.
 *  Returns: the program's exit status, its output in files of job; or -1 with *err: HOST as above
 * or where memory or its backing file does not suffice, INPUT for folders whose names have blanks
 * or commas, BACKEND where the guest ended without a status, SYSTEM at the limit Cost:    2 to 4
 * seconds more than the program
 */
int strait_emu_uml_run(const struct strait_emu_uml_plan *plan, struct strait_error *err);

/** Memory for a guest, rounded up to 512 MiB times a power of two, above 4 GiB to whole GiB, so
 * that runs of about the same size find the same machine. In:      ranks_bytes  what the run holds
 *           other_bytes  what else there is for a time: under way in TCP */
double strait_emu_uml_memory_bytes(bool virtual_time, int n_ranks, double ranks_bytes,
                                   double other_bytes);
