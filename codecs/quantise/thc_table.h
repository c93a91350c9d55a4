/* The grid of THC (Li et al., NSDI 2024): which whole numbers the levels of a truncated normal
 * value stand for. */
#pragma once
#include <stdint.h>

enum { STRAIT_THC_MAX_BITS = 8, STRAIT_THC_MAX_LEVELS = 1 << STRAIT_THC_MAX_BITS };

/** The magnitude that a share `overflow` of a normal distribution of standard deviation 1 exceeds,
 *  to either side, in (0, 0.5]. The same bits on every machine. */
double strait_thc_reach(double overflow);
/** The table of 2^bits levels, symmetric, that minimises the mean square error of stochastic
 *  rounding of such a value, cut at +-reach, when level z stands for reach (2 table[z] /
 *  granularity - 1).
 *  Out:     table        ascending from 0 to granularity
 *  In:      bits         1 to STRAIT_THC_MAX_BITS; granularity: at least 2^bits - 1, at most 1000
 *  Cost:    O(2^bits granularity^2) */
void strait_thc_table(uint16_t *table, unsigned bits, unsigned granularity, double reach);
