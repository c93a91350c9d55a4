/* DeAR's tuner: trials of some rounds each, with a fusion threshold that Bayesian optimisation
 * chooses by what the trials before took. Pure: it is told when each round begins. */
#pragma once
#include <stdbool.h>
#include "bayes.h"

/* A trial's last rounds are timed: those after its third mark. The first is half of the trial
 * before, and the next ones warm up, as in DeAR's tuner. */
enum { STRAIT_TUNER_FIRST_TIMED = 3, STRAIT_TUNER_MIN_ROUNDS = 4 };

struct strait_tuner {
    struct strait_bayes bayes; /* thresholds and what a round takes, s */
    int n_trials, n_rounds;    /* of a trial, at least STRAIT_TUNER_MIN_ROUNDS */
    double fusion_bytes;       /* of this trial */
    double third_mark_s;
};

/** Does a trial end as this round (from 0) begins? Everybody counts, nobody has to be told. */
bool strait_tuner_ends_trial(const struct strait_tuner *t, int round);
/** A round above 0 begins. As a trial ends it is observed, and fusion_bytes becomes what to try
 *  next, after the last trial the best that was tried.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_tuner_mark(struct strait_tuner *t, int round, double now_s, struct strait_error *err);
