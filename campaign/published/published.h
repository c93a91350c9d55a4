/* Compare published figures with ours: a paper's claim, our setting for it, and the difference. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "codecs/profile/profile.h"
#include "core/error.h"

/** Work out every row of a file of published figures (docs/published.md) whose case is one of
 *  `cases`, by the fluid backend.
 *  In:      path       NULL: the shipped one, traces/published.json
 *           cases      n_cases names; 0: all
 *           worth      also without each constant of software in turn, one run more a row and
 *                      constant
 *           n_workers  processes at a time
 *  Returns: a new object, or NULL with *err: INPUT naming the place in the file
 *             rows            [{case, claim, model, source, kind, unit, published, spread, ours,
 *                             relative, reached, input, suspect, setting, reason, constants}, and
 *                             what follows from "parts" (published_parts.h)]; ours null where it
 *                             could not be had: `reason` then says why
 *             orders, errors, models, constants  of these rows, below */
json_t *strait_published(const char *path, const char *const *cases, size_t n_cases, bool worth,
                         const struct strait_profile *profile, int n_workers,
                         struct strait_error *err);
/** Pairs that were published as low < high and are not so in ours (even: ours are equal), with the
 *  reason that the row farther from its figure has. Suspect rows are in no pair.
 *  Returns: [{group, case, rows, pairs, kept, wins: {published, ours, same}, errors,
 *             broken: [{low, high, published: [low's, high's], ours: [.., ..], even, reason}]}] */
json_t *strait_published_orders(const json_t *rows);
/** {case: {rows, median, worst, worst_claim}} of |relative|, worst with its sign; null if no row
 *  predicts a figure. Claims, inputs and suspect rows do not count. */
json_t *strait_published_errors(const json_t *rows);
/** Whether a row counts in errors. */
bool strait_published_counts(const json_t *row);
/** The same errors for each model of each case: [{case, model, all, not_linear, communication,
 *  closed}]. */
json_t *strait_published_models(const json_t *rows);
/** What each constant of software rests on and what it is worth, from the rows' "constants":
 *  Returns: [{constant, value, model, device, figures, error, own, others}]; own and others, the
 *           rows of the model that it was estimated on and the rest: {rows, mean, without: the mean
 *           error without it} or null */
json_t *strait_published_constants(const json_t *rows);
/** Print it as tables. 0, or -1 with *err NOMEM. */
int strait_show_published(FILE *out, const json_t *published, struct strait_error *err);
