/* System calls that a process of a run can do without. */
#pragma once
#include "core/error.h"

/** Refuse them from here on, with EPERM, to this process and whatever it forks: to execute
 *  programs, mount, trace, enter or make namespaces, load code into the kernel, set clocks. What a
 *  hostile tensor or peer makes of a rank then has its codecs, files and connections, and no more.
 *  Not under the address sanitizer, which traces itself.
 *  In:      -               no_new_privs is set (rights.h)
 *  Returns: 0, also where the kernel has no filters of system calls; or -1 with *err SYSTEM: the
 *           process must not go on */
int strait_emu_syscalls_refuse(struct strait_error *err);
