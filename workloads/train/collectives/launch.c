/* Spends the time to call a collective before its first step: the lane waits. */
#include "collectives.h"

double strait_launch_s(const struct strait_rank *r)
{
    return strait_n_ranks(r) > 1 ? strait_param(r, "launch") : 0;
}

void strait_launch(struct strait_rank *lane)
{
    const double launch_s = strait_launch_s(lane);
    if (launch_s > 0)
        strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER, launch_s, NULL, NULL);
}
