/* What a plan file asks: an experiment, what may vary, a target, and what is known of prices and of
 * accuracy. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "prices.h"
#include "workloads/ask/experiment.h"

enum strait_target_kind { STRAIT_TARGET_ROUND, STRAIT_TARGET_ACCURACY, STRAIT_TARGET_BUDGET };

/* Candidates of one plan at most: some minutes of simulation. */
enum { STRAIT_PLAN_MAX_CANDIDATES = 10000 };

struct strait_plan_question {
    json_t *json;         /* the file; owns the texts below */
    char *file;           /* owned */
    char *base_file;      /* of the experiment, where that is a name or a path; owned */
    const char *strategy; /* of the experiment before anything varies; "" if it has none */
    const char *title;
    enum strait_target_kind target;
    double target_value;   /* seconds a round, accuracy from 0 to 1, or money */
    long n_rounds;         /* of the whole job; 0: not said */
    double least_accuracy; /* of what is recommended; NAN: no worse than without a codec */
    json_t *known; /* array of {"codec", "accuracy", "rounds", "source"}; those that were trained
                      with "of" and "spread" (trained_accuracy.h); owned */
    struct strait_prices prices;
    json_t *set, *vary;         /* {pointer: value} and {pointer: values} of the file; owned */
    struct strait_sweep *sweep; /* the candidates */
};

/** Read a plan file (docs/planning.md), or a shipped one by its bare name.
 *  Out:     q  release with strait_plan_question_release in either case
 *  Returns: 0, or -1 with *err INPUT: "plan.json#/target: expected ..." */
int strait_plan_question_load(struct strait_plan_question *q, const char *path,
                              struct strait_error *err);
void strait_plan_question_release(struct strait_plan_question *q);
/** Name the place of an error in the plan's file: that of the value of "set" or "vary" which is
 *  wrong, else below "/experiment" there, or in the experiment's own file. */
void strait_plan_question_place(const struct strait_plan_question *q, struct strait_error *err);
/** Candidate i: its resolved point, and its values of "vary" as labels. A new reference, or NULL
 *  with *err: INPUT when its values do not go together. */
json_t *strait_plan_question_point(const struct strait_plan_question *q, size_t i, json_t **labels,
                                   struct strait_error *err);
