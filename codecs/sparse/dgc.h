/* Deep Gradient Compression (Lin, Han, Mao, Wang, Dally, ICLR 2018) as functions for a strategy.
 * The strategy does the communication: clipping needs the sum of squares over all ranks (an
 * all-reduce of one number), and an all-gather of streams of different sizes needs an exchange of
 * sizes first. Momentum correction and its masking are in feedback.h. */
#pragma once
#include "sparse.h"

/** The smallest magnitude that is sent (as select.h counts magnitudes). 1 % of the values are drawn
 *  with replacement; their top `ratio` gives a threshold, which is multiplied by 1.3 or 0.7 up to
 *  ten times until the number of values that reach it is within [0.7, 1.3] k. This can fail where
 *  the largest values lie within a factor of 1.3 of each other. Two differences from the paper:
 *  zeros never reach the threshold, and a last adjustment that no value reaches is undone.
 *  Out:     n_chosen  values that reach it; may be NULL
 *  In:      n_elems   at least 1
 *           scratch   uint32_t[n_elems]
 *  Cost:    a pass for each count, usually two with the selection
 *  Source:  Lin et al. 2018, section 3; factors and counts as in GRACE (Xu et al. 2021) */
uint32_t strait_dgc_cut(size_t *n_chosen, const float *x, size_t n_elems, double ratio,
                        uint64_t key, uint32_t *scratch);

/** Sum of squares of the finite values, in double, in eight interleaved lanes. */
double strait_dgc_square_sum(const float *x, size_t n_elems);
/** Local gradient clipping: scale x to the norm `limit` if sqrt(square_sum) exceeds it. The paper's
 *  limit on one of N ranks is that of plain SGD times 1 / sqrt(N). */
void strait_dgc_clip(float *x, size_t n_elems, double square_sum, double limit);
/** The warm-up ratio of an epoch: 1/4, 1/16, ... until `ratio` is reached. */
double strait_dgc_warm_up(double ratio, unsigned epoch);
