/* What each codec costs and gives: accuracy against bytes and time, with the Pareto front. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "traces/curves.h"

/** One line a codec, and a count of clients, of the rows' sweep.
 *  In:      rows    of one backend, one model and strategy; INVALID ones are left out
 *           curves  recorded accuracy
 *  Returns: {record: "tradeoff", settings: [text], lines: [{clients, codec, accuracy,
 * accuracy_from, bytes_up, ratio, encode_s, decode_s, round_s: [a number a setting], front: [a
 * truth a setting]}]}, best accuracy first, or NULL with *err. accuracy: of the recorded run with
 *           this codec, model, number of clients and target, mean of the last three rounds; null
 *           where no such run was recorded. bytes_up: of one client and round, payload. encode_s:
 *           busy time of a mean client in a round; decode_s: of the server. front: no other line of
 *           known accuracy is both at least as accurate and at least as quick, and better in one */
json_t *strait_tradeoff(const json_t *rows, const struct strait_curves *curves,
                        struct strait_error *err);
/** The recorded run that this row's uploads stand for, or NULL. */
const struct strait_curve *strait_tradeoff_curve(const struct strait_curves *curves,
                                                 const json_t *row);
