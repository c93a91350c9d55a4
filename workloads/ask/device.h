/* The "device" key of an experiment: the clients' machine. */
#pragma once
#include "core/json.h"
#include "experiment.h"

/** Check the names of constants: each must be a parameter that some strategy takes from its machine
 *  or network.
 *  Returns: 0, or -1 with *err INPUT: "x.json#/device/constants/peice: expected ..., did you
 *           mean" */
int strait_constants_check(const struct strait_object *constants, struct strait_error *err);
/** Read "device" of the experiment o into e, whose model is loaded.
 *  Out:     constants  values for strategies' parameters, open for reading; empty without "device"
 *  Returns: 0, or -1 with *err INPUT */
int strait_device_read(struct strait_experiment *e, struct strait_object *constants,
                       struct strait_object *o, struct strait_error *err);
/** "edges" of a strategy: a table of pairs of ranks, "a,b", each once. Absent: none.
 *  Returns: 0, or -1 with *err INPUT naming the line */
int strait_edges_read(struct strait_experiment *e, struct strait_object *strategy,
                      struct strait_error *err);
