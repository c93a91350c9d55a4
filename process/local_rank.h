/* One rank as a process of a machine, from time 0 to its end. */
#pragma once
#include "rank_base.h"

/** Prepare a rank whose run, backend, me, state, post and failed are set; then the run's
 *  rank_begin, on its first lane.
 *  In:      compute  limits measured jobs that run at once on this machine
 *  Returns: 0, or -1 with *err */
int strait_proc_rank_init(struct strait_proc_rank *rank, sem_t *compute, struct strait_error *err);
/** Start the program's lane; the clock, which says when time 0 is, was set.
 *  Returns: 0, or -1 with *err */
int strait_proc_rank_begin(struct strait_proc_rank *rank, struct strait_error *err);
/** The run's rank_end, on the first lane, which has ended or been parked. */
void strait_proc_rank_end(struct strait_proc_rank *rank);
/** Lanes that could still change the rank's log. */
int strait_proc_rank_n_moving(struct strait_proc_rank *rank);
/** The run has ended: park the lanes at their next operation. */
void strait_proc_rank_stop(struct strait_proc_rank *rank);
/** Drop messages from now on, and join the threads of lanes that have ended and nobody joined. */
void strait_proc_rank_close(struct strait_proc_rank *rank);

/** Free what the rank holds, but for state. Not where a lane was parked: it stays for ever. */
void strait_proc_rank_release(struct strait_proc_rank *rank);
