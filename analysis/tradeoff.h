/* The trade-off of codecs: accuracy against bytes and time, with the Pareto front. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "traces/curves.h"

/** One line a codec and a count of clients of the rows' sweep, and more where settings differ in
 *  more than their times.
 *  In:      rows    of one backend; INVALID ones are left out
 *           curves  recorded accuracy
 *  Returns: {record: "tradeoff", settings: [text], lines: [{clients, codec, accuracy,
 *           accuracy_spread, accuracy_from, bytes_up, ratio, encode_s, decode_s, round_s: [a number
 *           a setting], front: [a truth a setting]}]}, best accuracy first, or NULL with *err.
 *           accuracy: of the recorded run with this codec, model, number of clients and target,
 *           mean of the last three rounds; null where no such run was recorded. bytes_up: of one
 *           client and round, payload. encode_s: busy time of a mean client in a round; decode_s:
 *           of the server; where they were measured, medians over the settings. front: no quicker
 *           line of the front is as accurate, within the root of the sum of both squared spreads */
json_t *strait_tradeoff(const json_t *rows, const struct strait_curves *curves,
                        struct strait_error *err);
/** The rows whose uploads stand for a recorded run, with its final accuracy where a run that
 *  trained has its own: "training" {"recorded": true, "spread": {accuracy: {mean, sd: what chance
 *  does}, bytes: of one client and round, time_s: of a round}}, for strait_plot_training. A new
 *  reference, or NULL with *err. */
json_t *strait_tradeoff_rows(const json_t *rows, const struct strait_curves *curves,
                             struct strait_error *err);
/** The recorded run that this row's uploads stand for, or NULL. */
const struct strait_curve *strait_tradeoff_curve(const struct strait_curves *curves,
                                                 const json_t *row);
/** What chance may do to the final accuracy of a recorded run: half of its 95 % interval. Where at
 *  least three settings were recorded with two seeds for as many clients, from what is left of the
 *  differences between seeds when the seed's own effect is taken off; else twice the deviation of
 *  the run's last three rounds.
 *  Source:  two-way analysis of variance without repeats, residual mean square */
double strait_tradeoff_spread(const struct strait_curves *curves, const struct strait_curve *c);
