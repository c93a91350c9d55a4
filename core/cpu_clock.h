/* Processor time, for whoever measures work: not a clock of any run.
 *
 * In a guest in virtual time its own clocks stand still while anything computes. There a file tells
 * what the host charged the process that reads it (emu/uml/virtual-time.patch), for all its
 * threads: two readings of a thread that does not wait between them have only its own work between
 * them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Names that file where there is one. */
#define STRAIT_HOST_CPU "STRAIT_HOST_CPU"

/** Does the host tell, because no clock here could? */
bool strait_cpu_is_of_host(void);
/** Processor time of the calling thread, nanoseconds. Source: CLOCK_THREAD_CPUTIME_ID, or the host
 */
int64_t strait_cpu_thread_ns(void);
/** ... of all threads of this process. Source: CLOCK_PROCESS_CPUTIME_ID, or the host */
int64_t strait_cpu_process_ns(void);
