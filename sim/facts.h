/* What both simulators share outside a run: what they refuse, and every constant that they used. */
#pragma once
#include "workloads/rank/backend.h"

/** 0, or -1 with *err: INPUT by name of what a simulation cannot do, HOST where memory is short.
 *  In:      most_ranks  that this backend can hold at once */
int strait_sim_check(const struct strait_run *run, const char *backend, int most_ranks,
                     struct strait_error *err);

/** Add the constants of the network model, each with its source, and what of the network the model
 *  does not know, to run->facts. */
int strait_sim_facts(struct strait_run *run, struct strait_error *err);

/** Add one constant. value is stolen. */
int strait_sim_constant(struct strait_run *run, const char *name, json_t *value, const char *source,
                        struct strait_error *err);
