/* What the network alone costs this machine: processor time for a gigabit through the links and two
 * TCP stacks. It decides how much slower than modelled a run must be. */
#pragma once
#include "core/error.h"
#include "workloads/rank/backend.h"

/** Let all ranks but the first send to the first as fast as they can for half a second with set-up
 *  and end, over the links of a run that nobody shapes: its nodes, trains, congestion control,
 *  realisation and launcher. Processor time is read, not wall time: other programs do not count.
 *  Out:     s_per_gbit  of all ranks and the relay
 *  In:      like        the run; unchanged
 *  Returns: 0, or -1 with *err: HOST (User-Mode Linux, too) or INPUT where such a run cannot be,
 *           BACKEND where it failed
 *  Source:  own */
int strait_emu_kappa_measure(double *s_per_gbit, const struct strait_run *like,
                             struct strait_error *err);
