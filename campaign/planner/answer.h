/* The answer to a plan: the recommended candidate, what limits it, what to buy next, and the
 * assumptions behind it. */
#pragma once
#include <jansson.h>
#include "candidates.h"

struct strait_plan_answer_options {
    bool any_accuracy; /* recommend codecs whose accuracy nobody knows, too */
    bool check;        /* emulate the first two */
    int n_jobs;
    struct strait_error *unchecked; /* why they could not be emulated, if not: the answer stands */
};

enum { STRAIT_ANSWER_BEST = 5 }; /* simulated again by SimGrid */

/** Answer a question.
 *  Returns: new {"record": "plan", "title", "file", "target", "holds", "text", "limits", "best":
 *           [candidates with "name" and "sim", the recommended one first], "buy": [{"text",
 *           "saves_s", "money_a_round", "per_hour", ...}], "faster" (as of strait_why),
 *           "break_even": [...], "ranked": [all candidates], "not_considered": [texts], "check":
 *           null or [{"name", "predicted_s", "interval_s", "measured_s", "valid", "inside", or
 *           "failure"}]}, or NULL with *err
 *  Cost:    three simulations by fluid a candidate, and some hundreds for the rest */
json_t *strait_plan_answer(const struct strait_plan_question *q,
                           const struct strait_plan_setup *setup,
                           const struct strait_plan_answer_options *options,
                           struct strait_error *err);

/** Savings by candidates that differ from this one in one value: [{"text", "pointer", "from", "to",
 *  "round_s", "saves_s", "more_money_a_round" (null: unknown), "more_per_hour"}], the largest gain
 *  first. Codecs are not bought. */
json_t *strait_plan_answer_buy(const struct strait_candidates *c, size_t of,
                               const struct strait_plan_question *q);
/** "sz 1e-3, server rate 10 Gbps, decode cores 16": its codec, if codecs vary, and what it has of
 *  other varied values; a new string. */
char *strait_candidate_name(const struct strait_candidate *c);
