/* What a row says about real training. */
#pragma once
#include <jansson.h>
#include "workloads/rank/trial.h"

/** "training" of the row of a trial that ran: round by round when it ended, what had been sent by
 *  then and how the model did; and when the target was reached.
 *  Returns: new object; null if the trial did not train; NULL when memory ran out */
json_t *strait_training_row(const struct strait_trial *p);
