/* "model" of an experiment: a name, a path, or an object of a few figures. */
#pragma once
#include "core/json.h"
#include "traces/models/model.h"

/** Load the model of an experiment; without the key that of its training task.
 *  Returns: 0, or -1 with *err INPUT naming the experiment's key or the line of a layer table */
int strait_ask_model(struct strait_model **out, struct strait_object *experiment,
                     struct strait_error *err);
