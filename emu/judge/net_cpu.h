/* The CPU cost of the network on this machine: processor time for a gigabit through the links and
 * two TCP stacks. The dilation depends on it. */
#pragma once
#include "core/error.h"
#include "workloads/rank/backend.h"

/** Let all ranks but the first send to the first at full speed for half a second, including set-up
 *  and end, over the run's nodes, trains, congestion control, realisation and launcher but unshaped
 *  links. Reads processor time, not wall time: other programs do not count.
 *  Out:     s_per_gbit  of all ranks and the relay
 *  In:      like        the run; unchanged
 *  Returns: 0, or -1 with *err: HOST (also in User-Mode Linux) or INPUT if such a run is
 *           impossible, BACKEND when it failed
 *  Source:  own */
int strait_emu_net_cpu_measure(double *s_per_gbit, const struct strait_run *like,
                               struct strait_error *err);
