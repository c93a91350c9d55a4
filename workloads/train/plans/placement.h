/* Which worker does what, and what travels together: pure functions of costs, each run once before
 * the first round, on every rank alike. */
#pragma once

enum { STRAIT_EVERYWHERE = -1 }; /* no owner: every worker does it, and nothing is sent */

/** owner[i] = (i / run) mod n_workers: run tasks that belong together stay together. */
void strait_place_round_robin(int *owner, int n, int run, int n_workers);

/** Load-balanced placement. A task whose cost is below its send_s is left to everybody; the others
 *  go, the most expensive first, each to the worker with the least so far (ties: lower index).
 *  Source: SPD-KFAC (Shi, Zhang and Li, ICDCS 2021), which claims balance, not optimality; the
 *  largest load is at most (4/3 - 1/(3 n_workers)) times the least possible: Graham, SIAM J. Appl.
 *  Math. 1969.
 *  Returns: 0, or -1 when memory ran out
 *  Cost:    O(n (n + n_workers)) */
int strait_place_balanced(int *owner, int n, const double *cost_s, const double *send_s,
                          int n_workers);

/** At most n_workers contiguous blocks with the least possible largest load, by dynamic
 *  programming; each block as long as that allows. Source: public code of PAD-KFAC
 *  (get_optimal_block_partition).
 *  Returns: 0, or -1 when memory ran out
 *  Cost:    O(n_workers n^2) */
int strait_place_contiguous(int *owner, int n, const double *cost_s, int n_workers);

/** The most that one worker has to do, without what everybody does. */
double strait_largest_load(const int *owner, int n, const double *cost_s, int n_workers);

/** Contiguous groups for a channel that sends one group after another, each when its last member
 *  is ready, in alpha_s + beta_s_per_byte x bytes: those with which the last ends earliest; among
 *  these the longest last group. free_s: when the channel gets free.
 *  Out:     first   group g is first[g] to first[g + 1] - 1; room for n + 1
 *           end_s   of the last group, may be NULL
 *  Returns: how many groups, or -1 when memory ran out
 *  Cost:    O(n^2)
 *  Source:  own, exact; MG-WFBP (Shi et al., INFOCOM 2019) and SPD-KFAC merge greedily by the same
 *           model */
int strait_fuse_ready(int *first, double *end_s, int n, const double *ready_s, const double *bytes,
                      double alpha_s, double beta_s_per_byte, double free_s);

/** Contiguous groups as they come about where whoever sends next takes all that waits, at most
 *  most_bytes (a larger member goes alone): nothing is waited for, and what comes while the channel
 *  is taken goes together. Arguments as of strait_fuse_ready. Returns how many.
 *  Source: Horovod's tensor fusion, without its cycles */
int strait_fuse_waiting(int *first, double *end_s, int n, const double *ready_s,
                        const double *bytes, double alpha_s, double beta_s_per_byte, double free_s,
                        double most_bytes);

/** Contiguous groups as a buffer of `most_bytes` fills: a new one begins where the next member does
 *  not fit. 0: each on its own. Returns how many. */
int strait_fuse_full(int *first, int n, const double *bytes, double most_bytes);
