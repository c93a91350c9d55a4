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

/* --- what such a run is ------------------------------------------------------------------------ */

/** Its program: whoever is not rank 0 sends to it for 0.3 s, two messages under way. */
void strait_emu_net_cpu_pour(struct strait_rank *r);
/** Its links, NULL without memory: no faster than gives trains as short as those of `like`. */
struct strait_network *strait_emu_net_cpu_network(const struct strait_run *like);
