/* Inside this room: the parts of an experiment that have a file of their own. */
#pragma once
#include "core/json.h"
#include "experiment.h"

/* The "device" key: the clients' machine (device.c). */
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

/* "model": a name, a path, or an object of a few figures; and "trace", which takes its place: a
 * recorded program that the strategy `replay` runs (ask_model.c). */
/** Load the model of an experiment; without the key that of its training task.
 *  Returns: 0, or -1 with *err INPUT naming the experiment's key or the line of a layer table */
int strait_ask_model(struct strait_model **out, struct strait_object *experiment,
                     struct strait_error *err);
/** Read "trace", if it is there, into e->graph and its stand-in for a model, e->model: one value
 * and no times, since a replay computes and sends what the trace says. Returns: 0, or -1 with *err
 * INPUT naming the trace's line, or the experiment's key */
int strait_ask_trace(struct strait_experiment *e, struct strait_object *o,
                     struct strait_error *err);

/* What an experiment asks of real training (ask_training.c). */
/** Read "training", "curves", "until" and "seeds" of an experiment whose strategy is known.
 *  Returns: 0, or -1 with *err INPUT */
int strait_ask_training(struct strait_experiment *e, struct strait_object *o,
                        struct strait_error *err);
