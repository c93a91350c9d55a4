/* Rows of a question, as `strait run --on fluid --json` gives them. */
#pragma once
#include <jansson.h>
#include "campaign/plan.h"
#include "experiment_request.h"

/* What all answers share: loaded once, then only read. */
struct strait_answers {
    struct strait_profile *profile;
    struct strait_learned learned;
    struct strait_plan_setup setup;
};

/** Load the shipped profile and the table behind intervals. 0, or -1 with *err. */
int strait_answers_load(struct strait_answers *a, struct strait_error *err);
void strait_answers_release(struct strait_answers *a);

/** Compute all points, and each compressed one's uncompressed counterpart, by fluid.
 *  Returns: {"rows": [row], "round": null or of the base {"start_s", "end_s", "ranks",
 *           "has_server", "n_spans", "spans": [[kind, rank, peer, start_s, end_s, bytes, lane]]},
 *           "faster": null or as strait_why has it, each thing twice as fast}, a new reference, or
 *           NULL with *err. kind is a name of strait_span_kind_name; of more
 *           than 4000 spans those of the lowest ranks are listed, n_spans counts all */
json_t *strait_asked_answer(const struct strait_answers *a, const struct strait_asked *q,
                            struct strait_error *err);
