/* Rows of strait list for what ships as files: models, networks, machines, profiles,
 * experiments. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "traces/models/model.h"

/** A row of strait list models: name, parameters, MB, seconds of a step, where they come from. A
 *  new object. */
json_t *strait_model_row(const struct strait_model *m, const char *name);

/* Each appends its rows to out, named as experiments name them. 0, or -1 with *err. */
int strait_model_rows(json_t *out, struct strait_error *err);
/** Shipped networks have "name", what an experiment may say of its own has "key". */
int strait_network_rows(json_t *out, struct strait_error *err);
int strait_plan_rows(json_t *out, struct strait_error *err);
int strait_engine_rows(json_t *out, struct strait_error *err);
int strait_profile_rows(json_t *out, struct strait_error *err);
int strait_experiment_rows(json_t *out, struct strait_error *err);
