/* Dilated time: one virtual second lasts k real seconds, from a start common to all ranks. */
#pragma once
#include <stdint.h>
#include <time.h>

/** CLOCK_MONOTONIC in nanoseconds: common to all processes and namespaces of the machine. */
int64_t strait_proc_mono_ns(void);
/** CPU time of the calling thread in nanoseconds, see core/clock.h. */
int64_t strait_proc_thread_cpu_ns(void);
/** Sleep until that moment of CLOCK_MONOTONIC; signals do not shorten it. */
void strait_proc_sleep_until_ns(int64_t mono_ns);
/** Raise the calling thread's priority, if this user may: threads that wait for a moment or a
 *  message must not wait for other programs. */
void strait_proc_be_prompt(void);
/** The opposite, for long computations. */
void strait_proc_be_ordinary(void);
struct timespec strait_proc_timespec(int64_t mono_ns);

struct strait_proc_clock {
    int64_t start_ns; /* CLOCK_MONOTONIC at virtual 0 */
    double dilation;  /* k, at least 1 */
};

/** Convert a moment of CLOCK_MONOTONIC to virtual seconds. */
double strait_proc_clock_virtual_s(const struct strait_proc_clock *c, int64_t mono_ns);
/** Convert virtual seconds to a moment of CLOCK_MONOTONIC, limited to about 30 years. */
int64_t strait_proc_clock_mono_ns(const struct strait_proc_clock *c, double virtual_s);
/** Real nanoseconds of a virtual duration. */
int64_t strait_proc_clock_real_ns(const struct strait_proc_clock *c, double duration_s);
