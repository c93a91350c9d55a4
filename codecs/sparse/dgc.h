/* Deep Gradient Compression (Lin, Han, Mao, Wang, Dally, ICLR 2018) in pieces that a strategy puts
 * together. What takes messages is the strategy's: clipping needs the sum of squares of all ranks,
 * which is an all-reduce of one number, and the all-gather of streams whose sizes differ needs an
 * exchange of those sizes first. Momentum correction and its masking are in feedback.h. */
#pragma once
#include "sparse.h"

/** The magnitude that is sent from (select.h): 1 % of the values are drawn with replacement, the
 *  top `ratio` of them gives a threshold, which is multiplied by 1.3 or 0.7 up to ten times until
 *  the number of values that reach it is within [0.7, 1.3] k. Where the largest values lie within
 *  a factor of 1.3 of each other that may never be so. Differs from what was published in that
 *  zeros never reach it, and that an adjustment which nothing reaches is not the last word.
 *  Out:    n_chosen  how many do; NULL when nobody asks
 *  In:     n_elems   at least 1
 *          scratch   uint32_t[n_elems]
 *  Cost:   a pass for each count, two as a rule with the selection
 *  Source: Lin et al. 2018, section 3; factors and counts as in GRACE (Xu et al. 2021) */
uint32_t strait_dgc_cut(size_t *n_chosen, const float *x, size_t n_elems, double ratio,
                        uint64_t key, uint32_t *scratch);

/** Sum of squares of the finite values, in double, in eight interleaved lanes. */
double strait_dgc_square_sum(const float *x, size_t n_elems);
/** Local gradient clipping: scale x to the norm `limit` where sqrt(square_sum) is above it. The
 *  paper's limit on one of N ranks is that of plain SGD times 1 / sqrt(N). */
void strait_dgc_clip(float *x, size_t n_elems, double square_sum, double limit);
/** The ratio of an epoch of the warm-up: 1/4, 1/16, ... until `ratio` is reached. */
double strait_dgc_warm_up(double ratio, unsigned epoch);
