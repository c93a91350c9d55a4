/* Which partial sums an all-reduce sends, how large and how often. */
#pragma once

enum { STRAIT_MAX_SUM_CUTS = 34 };

/* The tensor in n_parts parts: each part's sum over k of the n ranks is sent sent[k] times (a mean
 * where parts differ). */
struct strait_sum_cut {
    int n_parts;
    double *sent; /* n + 1, of which [0] is 0 */
};

/** Out:     cuts  STRAIT_MAX_SUM_CUTS of them, to be released also after an error; all their `sent`
 *                 add up to 2 (n - 1): that many tensors cross the network
 *  In:      how   "halving", "tree", "all_to_all"; else as a ring
 *           n     ranks, 2 at least
 *  Returns: how many cuts, or -1 when memory runs out
 *  Source:  workloads/train/collectives/{halving,reduce,all_to_all,ring}.c */
int strait_sum_cuts(struct strait_sum_cut *cuts, const char *how, int n);
void strait_sum_cuts_release(struct strait_sum_cut *cuts);
