/* What a row says about training, real or recorded. */
#pragma once
#include <jansson.h>
#include "workloads/rank/trial.h"

/* Round by round, how the model did. */
struct strait_training_rounds {
    const char *task, *payload; /* of what; "live" or "recorded" */
    struct strait_scored *scored;
    double *losses; /* of minibatches */
    size_t n;
};
/** "training" of the row of a trial that ran: round by round when it ended, what had been sent by
 *  then and how the model did; and when the target was reached.
 *  Returns: new object; NULL when memory ran out */
json_t *strait_training_of(const struct strait_trial *p, const struct strait_training_rounds *of);
/** The same of a trial that trained, p->learn. */
json_t *strait_training_row(const struct strait_trial *p);
