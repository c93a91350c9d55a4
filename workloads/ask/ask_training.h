/* Inside this room: what an experiment asks of real training. */
#pragma once
#include "core/json.h"
#include "experiment.h"

/** Read "training", "until" and "seeds" of an experiment whose strategy is known.
 *  Returns: 0, or -1 with *err INPUT */
int strait_ask_training(struct strait_experiment *e, struct strait_object *o,
                        struct strait_error *err);
