/* Logarithm and exponential from basic operations in one stated order: the same bits with every
 * compiler and C library, where something that is sent depends on them. */
#pragma once

/** log2(x) within 4e-16 + 2e-16 |log2(x)|; x finite and > 0, not denormal. */
double strait_stable_log2(double x);
/** exp(x) within 1e-15 of itself; 0 below -700, as at 700 above it. */
double strait_stable_exp(double x);
