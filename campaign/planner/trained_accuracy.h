/* What accuracy codecs reached in a results folder whose runs trained for real. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** Append an entry of each row of the folder that trained, as "accuracy" of a plan file has them,
 *  with "of": {"model", "strategy", "clients"}, which a candidate has to share, and "spread".
 *  accuracy: mean of the last three evaluations, and where there are seeds, mean over them. rounds:
 *  the first evaluation that reached the target, 0 where none did, or target NAN. spread: half of a
 *  95 % interval: from the seeds, else twice the deviation of those three.
 *  In:      where  names the folder in errors: "plan.json#/accuracy/0/results"
 *  Returns: 0, or -1 with *err: INPUT without results, or where no row trained */
int strait_trained_accuracy_add(json_t *entries, const char *folder, double target,
                                const char *where, struct strait_error *err);
