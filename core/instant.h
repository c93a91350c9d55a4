/* What a piece of work cost, for whoever measures programs: not a clock of any run. */
#pragma once

struct strait_instant {
    double wall_s, thread_s, process_s;
    long n_waits; /* of this thread, for anything but a processor */
};
struct strait_instant strait_instant_now(void);
/** What the work since then cost, above 0: this thread's CPU time, which other programs hardly
 *  disturb; but where it waited for others, or further threads of this process worked beside it,
 *  the time that passed. */
double strait_instant_cost_s(const struct strait_instant *begin);
