/* Recorded accuracy per round of federated averaging under compression. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "core/hash.h"

struct strait_curve_round {
    unsigned round; /* from 1 */
    double train_loss, test_loss;
    double test_acc_ratio; /* 0..1 */
    double bits_per_elem;  /* mean over the parameters */
    double rel_l2_err;     /* of what the server received, against the true update's norm */
    double local_s;        /* local training time of a client */
};

/* One run; curves/README.md explains the columns. */
struct strait_curve {
    char run[64];
    unsigned clients, seed;
    char target[16]; /* what is coded: "update", "param" or "grad" */
    char
        codec[128]; /* a name of curves/README.md, or as `strait codec` takes it: "sz:range=1e-2" */
    double par;     /* such a name's bound, fraction, levels or rank; else 0 */
    bool error_feedback;
    struct strait_curve_round *rounds;
    size_t n_rounds;
};

struct strait_curves {
    char model[64], strategy[32]; /* "": the file does not say */
    size_t n_elems, local_steps;  /* of the model; of a round; 0: the file does not say */
    char hash[STRAIT_KEY_CHARS];  /* of the whole file */
    struct strait_curve *curves;  /* in the order of the file */
    size_t n_curves;
};

/** Read a table of curves. Lines "# key: value" before its header may say of which model, parameters
 *  (n), strategy and local_steps it is.
 *  In:      path  NULL: the shipped one
 *  Returns: 0, or -1 with *err INPUT naming file and line */
int strait_curves_load(struct strait_curves **out, const char *path, struct strait_error *err);
void strait_curves_free(struct strait_curves *c);

/** The run with these settings, or NULL. par must be exactly the number in the table. */
const struct strait_curve *strait_curves_find(const struct strait_curves *c, unsigned clients,
                                              unsigned seed, const char *target, const char *codec,
                                              double par, bool error_feedback);

/** Mean test accuracy of the last n rounds (of all if there are fewer), 0..1. */
double strait_curve_final_acc(const struct strait_curve *c, size_t n);
/** First round whose accuracy, averaged with the rounds before and after it, is at least acc_ratio;
 *  0 if there is none. */
unsigned strait_curve_rounds_to(const struct strait_curve *c, double acc_ratio);
