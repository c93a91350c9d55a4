/* Recorded curves: which one stands for a codec, and what they say of a run. */
#pragma once
#include <jansson.h>
#include "codecs/spec.h"
#include "traces/curves.h"
#include "workloads/ask/experiment.h"
#include "workloads/rank/trial.h"

/** The recorded run with a codec of these settings, or with the one of curves/README.md that does to
 *  values what it does; NULL: there is none. */
const struct strait_curve *strait_recorded_curve(const struct strait_curves *curves,
                                                 unsigned clients, unsigned seed,
                                                 const char *target,
                                                 const struct strait_codec_spec *spec);
/** The run among an experiment's curves with its codec, clients and seed; NULL: there is none. */
const struct strait_curve *strait_recorded_of(const struct strait_experiment *e);
/** "training" of the row of a trial that has one (training_row.h), of the rounds that both the run
 *  and its curve have; times and bytes are the run's.
 *  In:      rounds_s  what each round took
 *  Returns: new object; NULL when memory ran out */
json_t *strait_recorded_row(const struct strait_trial *p, const double *rounds_s, size_t n_rounds);
