/* The cost of a piece of our own work, to measure programs; not the clock of a run. */
#pragma once

struct strait_instant {
    double wall_s, thread_s, process_s;
    long n_waits; /* times that this thread blocked, other than for a processor */
};
struct strait_instant strait_instant_now(void);
/** Cost of the work since `begin`, above 0: this thread's CPU time, which other programs hardly
 *  disturb. Where the thread blocked or other threads of this process worked too, the wall time. */
double strait_instant_cost_s(const struct strait_instant *begin);
