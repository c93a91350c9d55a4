/* Clocks of this machine, for waits, deadlines and measurements. The times in results come from the
 * backend's own clock. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Read a clock, in seconds since its own origin. */
static inline double strait_clock_read_s(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/** CLOCK_MONOTONIC in seconds: never goes back, the same for all processes of the machine. */
static inline double strait_clock_s(void)
{
    return strait_clock_read_s(CLOCK_MONOTONIC);
}

/* Processor time, to measure work; not the clock of a run.
 *
 * In a guest in virtual time the guest's own clocks stand still while anything computes. There the
 * file named by STRAIT_HOST_CPU gives the processor time that the host charged to the reading
 * process, all its threads together (emu/uml/virtual-time.patch). The difference of two readings of
 * a thread that does not wait between them is its own work alone. */

/* Environment variable with the path of that file; unset outside such a guest. */
#define STRAIT_HOST_CPU "STRAIT_HOST_CPU"

/** Whether processor time is read from the host because the clocks here stand still. */
bool strait_cpu_is_of_host(void);
/** Processor time of the calling thread, nanoseconds. Source: CLOCK_THREAD_CPUTIME_ID, or the
 *  host */
int64_t strait_cpu_thread_ns(void);
/** Time that one reading of that clock takes, in nanoseconds: the shortest of several pairs of
 *  readings. In a guest it is 4 us, more than a small piece of work takes. */
int64_t strait_cpu_reading_ns(void);
/** The same of all threads of this process. Source: CLOCK_PROCESS_CPUTIME_ID, or the host */
int64_t strait_cpu_process_ns(void);

/* Measure what a piece of our own work costs, for benchmarks. */
struct strait_instant {
    double wall_s, thread_s, process_s;
    long n_waits; /* times that this thread blocked, other than for a processor */
};
struct strait_instant strait_instant_now(void);
/** Cost of the work since `begin`, above 0: this thread's CPU time, which other programs hardly
 *  disturb. Where the thread blocked or other threads of this process worked too, the wall time. */
double strait_instant_cost_s(const struct strait_instant *begin);
