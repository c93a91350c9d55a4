/* A steady state that repeats is found and extrapolated instead of being simulated again. */
#pragma once
#include "point.h"

/** Run a point that strait_point_check accepts. Where the strategy has a period, time is simulated
 *  and payload sized, only so many rounds are run that the second half of them repeats on every
 *  rank, span by span, with that period or a multiple of it; and as many again plus one period:
 *  what the second run has more is what every further period adds. The logs are then those of all
 *  rounds, spans of the repeated ones included as far as they are kept, and facts.report has
 *  "steady": simulated rounds, period in rounds and in seconds. Where no period is found, or chance
 *  was asked for, all rounds run.
 *  Returns: 0, or -1 with *err as backend->run
 *  Source:  own; exact up to the rounding of times (the run of all rounds agrees to 1e-12) */
int strait_steady_run(struct strait_point *p, const struct strait_backend *backend,
                      struct strait_error *err);
