/* Means that a few bad updates cannot move far, for a server. */
#pragma once
#include "workloads/rank/rank.h"

enum strait_mean { STRAIT_MEAN, STRAIT_TRIMMED, STRAIT_MEDIAN, STRAIT_KRUM };
extern const char *const strait_means[];

struct strait_robust {
    enum strait_mean how;
    int n_bad;      /* updates that may be bad: cut off at each end, or Krum's f */
    float *column;  /* scratch: a value of each update; NULL with Krum */
    double *apart2; /* scratch of Krum: the squared distances, n x n */
};

/** Scratch for up to n_most updates, freed with the rank. */
struct strait_robust strait_robust_of(struct strait_rank *r, enum strait_mean how, int n_bad,
                                      int n_most);
/** out becomes the mean of x[0 .. n), all weighing alike; n > 0. Charged on the CPU as passes that
 *  add: n log2 n for sorting each value's column (trimmed, median), n (n - 1) / 2 for the distances
 *  of Krum, and a copy. Where n is too small for n_bad, as many as it allows are cut off.
 *  Source:  Yin et al., ICML 2018 (trimmed mean, median); Blanchard et al., NeurIPS 2017 (Krum) */
void strait_robust_mean(struct strait_rank *r, const struct strait_robust *s,
                        struct strait_tensor *out, struct strait_tensor *const *x, int n);
