/* Bayesian optimisation of one number: a Gaussian process over the observations, and the place
 * where the expected improvement is largest. Pure: the same observations give the same suggestion.
 *
 * Kernel: Matern 5/2 on x scaled to [0, 1]; values scaled to mean 0 and deviation 1. Length and
 * noise are those of a small grid with the largest log marginal likelihood, instead of a gradient
 * search from random starts as in the library behind DeAR (bayes_opt over scikit-learn). */
#pragma once
#include <stddef.h>
#include "core/error.h"

enum { STRAIT_BAYES_MAX_POINTS = 256 };

struct strait_bayes {
    double lo, hi; /* range of x */
    double xi;     /* smaller improvements do not count, in deviations of the observed values */
    size_t n;
    double x[STRAIT_BAYES_MAX_POINTS], y[STRAIT_BAYES_MAX_POINTS];
};

/* Prediction of the process at a place. */
struct strait_belief {
    double mean, deviation;
};

/** Add an observation; smaller y is better (a time). Ignored beyond STRAIT_BAYES_MAX_POINTS. */
void strait_bayes_observe(struct strait_bayes *b, double x, double y);
/** The next x to observe, in [lo, hi]: the best of a uniform grid of 1025 places; the middle if
 *  there is no observation yet.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_bayes_suggest(double *out, const struct strait_bayes *b, struct strait_error *err);
/** Index of the observation with the smallest y (ties: the first). n is above 0. */
size_t strait_bayes_best(const struct strait_bayes *b);

/** The process after n observations with this length (in units of x) and noise (a variance, in
 *  units of the prior's 1), at one place. For tests and plots.
 *  Returns: 0, or -1 with *err NOMEM
 *  Source:  Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1 */
int strait_gaussian_process(struct strait_belief *out, double *log_likelihood, const double *x,
                            const double *y, size_t n, double length, double noise, double at,
                            struct strait_error *err);
/** E[max(best - xi - Y, 0)] of a normal Y. Source: Jones et al., J. Global Optimization 1998 */
double strait_expected_improvement(struct strait_belief belief, double best, double xi);
