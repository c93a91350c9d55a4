/* How long threads were ready to run and had no processor. */
#pragma once

/** Of all existing threads below a folder ("/proc/self/task"): the second field of their schedstat.
 *  0 where the kernel counts none. */
double strait_emu_run_delay_s(const char *tasks);
