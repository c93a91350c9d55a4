/* Find a steady state that repeats, and extrapolate it instead of simulating it. */
#pragma once
#include "trial.h"

/** Run a point that strait_trial_check accepts. If the strategy has a period, time is simulated and
 *  payload is sized, it runs only enough rounds for the second half to repeat on every rank, span
 *  by span, with that period or a multiple of it; then as many rounds again plus one period. The
 *  difference of the two runs is what every further period adds. The logs are then those of all
 *  rounds, including spans of the repeated ones as far as they are kept, and facts.report has
 *  "steady": simulated rounds, period in rounds and in seconds. If no period is found, or random
 *  numbers were drawn, all rounds are run, as on links whose rates change.
 *  Returns: 0, or -1 with *err as backend->run
 *  Source:  own; exact up to the rounding of times (a run of all rounds agrees to 1e-12) */
int strait_steady_run(struct strait_trial *p, const struct strait_backend *backend,
                      struct strait_error *err);
