/* "trace" of an experiment: a recorded program that the strategy `replay` runs. */
#pragma once
#include "core/json.h"
#include "experiment.h"

/** Read it, if it is there, into e->graph and its stand-in for a model, e->model: one value and no
 *  times, since a replay computes and sends what the trace says.
 *  Returns: 0, or -1 with *err INPUT naming the trace's line, or the experiment's key */
int strait_ask_trace(struct strait_experiment *e, struct strait_object *o,
                     struct strait_error *err);
