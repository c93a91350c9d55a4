/* Do intervals hold what was measured, and how far are predictions off? By kind of case. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "learned.h"

/** Pair each measured row (emu) with the prediction of the same point, of several the last.
 *  Out:     new object, or NULL with *err
 *             level     the share that is promised
 *             settings, invalid, learned: pairs that are judged; points whose measurement is
 *                       INVALID; pairs left out because the table of margins was learned on them
 *             covered   share of the settings whose interval holds the measured round
 *             groups    [{of, settings, covered, width: {mean, median}, round: errors,
 *                       rest: errors of the round without its compute}], "all" first; errors:
 *                       {mean, median, p90, p95, worst} of |predicted / measured - 1|; width: of
 *                       intervals over predictions
 *             worst     [{title, model, strategy, clients, codec, error}] of rounds,
 *                       the worst first
 *             table     [a line of the table of margins for every pair]
 *  In:      predicted, measured  arrays of rows, borrowed; measured NULL: all are in predicted
 *           learned   the table that intervals come from; NULL: no pair is left out
 *  Errors:  INPUT when there is no pair of a prediction with "uncertainty" and a valid
 *           measurement */
json_t *strait_coverage(const json_t *predicted, const json_t *measured,
                        const struct strait_learned *learned, struct strait_error *err);
