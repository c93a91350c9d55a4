/* "model" of an experiment: a name, a path, or an object of a few figures; and "trace", which takes
 * its place: a recorded program that the strategy `replay` runs. */
#pragma once
#include "core/json.h"
#include "experiment.h"

/** Load the model of an experiment; without the key that of its training task.
 *  Returns: 0, or -1 with *err INPUT naming the experiment's key or the line of a layer table */
int strait_ask_model(struct strait_model **out, struct strait_object *experiment,
                     struct strait_error *err);
/** Read "trace", if it is there, into e->graph and its stand-in for a model, e->model: one value
 * and no times, since a replay computes and sends what the trace says. Returns: 0, or -1 with *err
 * INPUT naming the trace's line, or the experiment's key */
int strait_ask_trace(struct strait_experiment *e, struct strait_object *o,
                     struct strait_error *err);
