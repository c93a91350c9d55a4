/* Processor time, to measure work; not the clock of a run.
 *
 * In a guest in virtual time the guest's own clocks stand still while anything computes. There the
 * file named by STRAIT_HOST_CPU gives the processor time that the host charged to the reading
 * process, all its threads together (emu/uml/virtual-time.patch). The difference of two readings of
 * a thread that does not wait between them is its own work alone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Environment variable with the path of that file; unset outside such a guest. */
#define STRAIT_HOST_CPU "STRAIT_HOST_CPU"

/** Whether processor time is read from the host because the clocks here stand still. */
bool strait_cpu_is_of_host(void);
/** Processor time of the calling thread, nanoseconds. Source: CLOCK_THREAD_CPUTIME_ID, or the
 *  host */
int64_t strait_cpu_thread_ns(void);
/** The same of all threads of this process. Source: CLOCK_PROCESS_CPUTIME_ID, or the host */
int64_t strait_cpu_process_ns(void);
