/* Which worker does which task, and what is sent together: pure functions of costs, each evaluated
 * once before the first round, with the same result on every rank. */
#pragma once

enum { STRAIT_EVERYWHERE = -1 }; /* no owner: every worker does it, and nothing is sent */

/** owner[i] = (i / run) mod n_workers: keeps runs of `run` consecutive tasks together. */
void strait_place_round_robin(int *owner, int n, int run, int n_workers);

/** Load-balanced placement. Every worker does the tasks whose cost is below their send_s; the
 *  others go, most expensive first, to the worker with the least load so far (ties: lower index).
 *  Returns: 0, or -1 when memory ran out
 *  Cost:    O(n (n + n_workers))
 *  Source:  SPD-KFAC (Shi, Zhang and Li, ICDCS 2021), which claims balance, not optimality; the
 *           largest load is at most (4/3 - 1/(3 n_workers)) times the optimum: Graham, SIAM J.
 *           Appl. Math. 1969 */
int strait_place_balanced(int *owner, int n, const double *cost_s, const double *send_s,
                          int n_workers);

/** At most n_workers contiguous ranges with the smallest possible largest load, by dynamic
 *  programming; each range as long as that allows.
 *  Returns: 0, or -1 when memory ran out
 *  Cost:    O(n_workers n^2)
 *  Source:  public code of PAD-KFAC (get_optimal_block_partition) */
int strait_place_contiguous(int *owner, int n, const double *cost_s, int n_workers);

/** The largest load of a worker, without tasks that everybody does. */
double strait_largest_load(const int *owner, int n, const double *cost_s, int n_workers);

/** Cut contiguous members into buckets for a channel that sends one after another, each when its
 *  last member is ready, in alpha_s + beta_s_per_byte x bytes, so that the last bucket ends
 *  earliest; ties: the longest last bucket. free_s: when the channel becomes free.
 *  Out:     first   bucket g is first[g] to first[g + 1] - 1; room for n + 1
 *           end_s   of the last bucket; may be NULL
 *  Returns: how many buckets, or -1 when memory ran out
 *  Cost:    O(n^2)
 *  Source:  own, exact; MG-WFBP (Shi et al., INFOCOM 2019) and SPD-KFAC merge greedily by the same
 *           model */
int strait_fuse_ready(int *first, double *end_s, int n, const double *ready_s, const double *bytes,
                      double alpha_s, double beta_s_per_byte, double free_s);

/** The contiguous buckets that arise when each send takes all members that are ready, up to
 *  max_bytes (a larger member goes alone), without waiting. Arguments as of strait_fuse_ready.
 *  Returns how many.
 *  Source:  Horovod's tensor fusion, without its cycles */
int strait_fuse_waiting(int *first, double *end_s, int n, const double *ready_s,
                        const double *bytes, double alpha_s, double beta_s_per_byte, double free_s,
                        double max_bytes);

/** Contiguous buckets of up to `max_bytes`: a new bucket begins when the next member does not fit.
 *  0: each on its own. Returns how many. */
int strait_fuse_full(int *first, int n, const double *bytes, double max_bytes);
