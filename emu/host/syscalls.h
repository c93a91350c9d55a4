/* System calls that a process of a run can do without. */
#pragma once
#include "core/error.h"

/** From here on these system calls fail with EPERM in this process and its children: execute
 *  programs, mount, trace, enter or make namespaces, load code into the kernel, set clocks. If a
 *  hostile tensor or peer takes a rank over, it gets the rank's codecs, files and connections and
 *  nothing else. Does nothing under the address sanitizer, which traces itself.
 *  In:      -               no_new_privs is set (rights.h)
 *  Returns: 0, also where the kernel has no filters of system calls; or -1 with *err SYSTEM: the
 *           process must not go on */
int strait_emu_syscalls_refuse(struct strait_error *err);
