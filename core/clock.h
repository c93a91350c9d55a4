/* The clock of this machine, for waits, deadlines and measurements. The times in results come from
 * the backend's own clock. */
#pragma once
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
