/* Logarithm and exponential from basic operations in a fixed order: the same bits with every
 * compiler and C library, for results that are sent. */
#pragma once
#include <stdint.h>

/** log2(x) within 4e-16 + 2e-16 |log2(x)|; x finite and > 0, not denormal. */
double strait_stable_log2(double x);
/** exp(x) within a relative 1e-15; 0 below -700; above 700 the value at 700. */
double strait_stable_exp(double x);
/** The cosine of a / b right angles, within 3e-16; b > 0, 4 b < 2^64. */
double strait_stable_cos(uint64_t a, uint64_t b);
