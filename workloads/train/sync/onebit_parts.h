/* What 1-bit Adam and 0/1 Adam share: a mean over all ranks that is encoded both ways, and Adam's
 * arithmetic in pieces. */
#pragma once
#include "workloads/ask/strategy.h"
#include "workloads/rank/rank.h"
#include "workloads/train/collectives/collectives.h"

/* A tensor that all ranks average. Each rank owns a part: it gets that part from all, encoded,
 * and sends the mean to all, encoded. Both senders keep what their encoding left out, the second
 * one of the mean of its part. */
struct onebit_mean {
    struct strait_group world;
    struct strait_codec *codec; /* "up" */
    struct strait_tensor *x;    /* of the whole model */
    struct strait_tensor *mine; /* the mean of this rank's part */
};
/** Channel STRAIT_ONEBIT. x is a new tensor of zeros, so what one mean left out is not added to
 *  another. */
struct onebit_mean onebit_mean_of(struct strait_rank *r);
/** x becomes the mean of all ranks' x, with the same bits on all of them.
 *  Bytes:   of each part of n, n - 1 times its encoded size to its owner and as often back
 *  Source:  Tang et al., ICML 2021, section 3.3: gather, average, scatter */
void onebit_average(struct strait_rank *r, struct onebit_mean *mean);

enum { ONEBIT_SUMS, ONEBIT_MEANS }; /* channels: plain sums around a ring, encoded means */

/* Adam on one rank; all arrays are of the model, NULL without real payload. */
struct onebit_adam {
    size_t n;
    float *g, *m, *v, *w;
    float *u, *base; /* 0/1 Adam: steps since the last mean, and the parameters there; else NULL */
    double share;    /* of g that counts: 1 / ranks where g is a sum */
    double lr, epsilon;
    int step, n_squares; /* before this step, and how many of them moved v */
    double rates;        /* sum of the rates of the steps in u */
};

/* Jobs on a struct onebit_adam. The bias of Adam's moments is corrected as in Adam itself. */
void onebit_momentum(void *adam); /* m = beta_1 m + (1 - beta_1) g */
void onebit_squares(void *adam);  /* v = beta_2 v + (1 - beta_2) g^2 */
void onebit_descend(void *adam);  /* w -= rate m / sqrt(v) */
void onebit_collect(void *adam);  /* the same, and u += rate m */
void onebit_restart(void *adam);  /* m = u / rates, w = base = base - u / sqrt(v), u = 0 */
/** The rate of this step: lr, divided by what corrects m. */
double onebit_rate(const struct onebit_adam *a);

/** A step's two halves on every rank: jobs over the model, charged as an optimiser's step. */
void onebit_half_step(struct strait_rank *r, struct onebit_adam *a, void (*job)(void *));

bool onebit_uses_stream(const struct strait_experiment *e, int src, int dst, int channel);
