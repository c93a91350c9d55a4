/* Bayesian optimisation of one number: a Gaussian process over what was observed, and the place
 * where the expected improvement is largest. Pure: the same observations give the same suggestion.
 *
 * Kernel: Matern 5/2 on x scaled to [0, 1]; values scaled to mean 0 and deviation 1. The length and
 * the noise are those of a small grid with the largest log marginal likelihood, instead of a
 * gradient search from random starts as in the library behind DeAR (bayes_opt over scikit-learn).
 */
#pragma once
#include <stddef.h>
#include "core/error.h"

enum { STRAIT_BAYES_MAX_POINTS = 256 };

struct strait_bayes {
    double lo, hi; /* range of x */
    double xi;     /* improvements below it do not count, in deviations of the observed values */
    size_t n;
    double x[STRAIT_BAYES_MAX_POINTS], y[STRAIT_BAYES_MAX_POINTS];
};

/* What the process believes at a place. */
struct strait_belief {
    double mean, deviation;
};

/** Smaller is better where y is a time: observe times, the least is looked for. At most
 *  STRAIT_BAYES_MAX_POINTS; what comes later is forgotten. */
void strait_bayes_observe(struct strait_bayes *b, double x, double y);
/** The place to look at next, in [lo, hi]: the best of an even grid of 1025 places; the middle
 *  where nothing was observed yet.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_bayes_suggest(double *x, const struct strait_bayes *b, struct strait_error *err);
/** The observation with the smallest y; the first of equals. n is above 0. */
size_t strait_bayes_best(const struct strait_bayes *b);

/** The process after n observations with this length (in units of x) and noise (a variance, in
 *  units of the prior's 1), at one place. For tests, and for plots of a tuner.
 *  Returns: 0, or -1 with *err NOMEM
 *  Source:  Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1 */
int strait_gaussian_process(struct strait_belief *out, double *log_likelihood, const double *x,
                            const double *y, size_t n, double length, double noise, double at,
                            struct strait_error *err);
/** E[max(best - xi - Y, 0)] of a normal Y. Source: Jones et al., J. Global Optimization 1998 */
double strait_expected_improvement(struct strait_belief belief, double best, double xi);
