/* The clock of this machine, for waits, deadlines and measurements; the times of a run are its
 * backend's. */
#pragma once
#include <time.h>

/** Seconds of a clock, CLOCK_MONOTONIC for most, since a moment of its own. */
static inline double strait_clock_read_s(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/** Seconds that never go back, common to all processes of the machine. Source: CLOCK_MONOTONIC */
static inline double strait_clock_s(void)
{
    return strait_clock_read_s(CLOCK_MONOTONIC);
}
