/* A bound for each tensor, from what errors in it add to the loss. Pure functions. */
#pragma once
#include <stddef.h>

/* Errors of a tensor in rising size, and what each added to the loss when it alone had it. */
struct strait_sensitivity {
    const double *error, *added; /* n */
    size_t n;
};

/** The largest error that adds at most `share` to the loss: between two measured ones by their
 *  squares, since near a minimum the loss grows with the square; an error counts as adding no less
 *  than any smaller one did. Not beyond the largest measured; from 0 below the smallest. */
double strait_sensitivity_error(const struct strait_sensitivity *s, double share);
/** A tensor's share of the budget: that of its elements. Bits a value fall with log2 of its bound
 *  and what a bound adds grows with its square, so among all bounds that add the budget those send
 *  least that divide it by elements: n_t log2(e_t) is largest under sum(s_t e_t^2) = budget where
 *  s_t e_t^2 is proportional to n_t. */
double strait_sensitivity_share(double budget, size_t n_elems, size_t n_all);
