/* Accuracy per round of federated averaging under compression, as recorded. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

struct strait_curve_round {
    unsigned round; /* 1 is first */
    double train_loss, test_loss;
    double test_acc_ratio; /* 0..1 */
    double bits_per_elem;  /* mean payload of a parameter */
    double rel_l2_err;     /* of what the server saw, against the norm of the true update */
    double local_s;        /* of training, per client */
};

/* One run; curves/README.md explains the columns. */
struct strait_curve {
    char run[64];
    unsigned clients, seed;
    char target[16]; /* "update" or "param": what is coded */
    char codec[32];
    double par; /* of the codec: bound, fraction, levels, rank; 0 where it has none */
    bool error_feedback;
    struct strait_curve_round *rounds;
    size_t n_rounds;
};

struct strait_curves {
    struct strait_curve *curves; /* in the order of the file */
    size_t n_curves;
};

/** Read a table of curves.
 *  In:      path  NULL for the one that ships
 *  Returns: 0, or -1 with *err INPUT naming file and line */
int strait_curves_load(struct strait_curves **out, const char *path, struct strait_error *err);
void strait_curves_free(struct strait_curves *c);

/** The run of these settings, or NULL. par must be the same number as in the table. */
const struct strait_curve *strait_curves_find(const struct strait_curves *c, unsigned clients,
                                              unsigned seed, const char *target, const char *codec,
                                              double par, bool error_feedback);

/** Mean test accuracy of the last n rounds (all where there are fewer), 0..1. */
double strait_curve_final_acc(const struct strait_curve *c, size_t n);
/** First round at which the accuracy, as a mean with the rounds before and after (where there are
 *  any), is at least acc_ratio; 0 if none. */
unsigned strait_curve_rounds_to(const struct strait_curve *c, double acc_ratio);
