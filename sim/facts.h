/* Common to both simulators: what they refuse, and the constants they used. */
#pragma once
#include "child.h"
#include "workloads/rank/backend.h"

/** 0, or -1 with *err: INPUT naming what cannot be simulated, HOST when memory is short.
 *  In:      max_ranks  limit of this backend */
int strait_sim_check(const struct strait_run *run, const char *backend, int max_ranks,
                     struct strait_error *err);

/** Run a simulation in a child, or here, on the network that `detail` asks for: with "formula" ports
 *  are as slow as losses make them, and nothing is lost.
 *  Returns: as strait_child_run */
int strait_sim_run(struct strait_run *run, bool here, void (*simulate)(struct strait_child *child),
                   struct strait_error *err);

/** Add to run->facts: the constants of the network model with their sources, and the properties of
 *  the network that the model ignores. */
int strait_sim_facts(struct strait_run *run, struct strait_error *err);

/** Add one constant. Steals value. */
int strait_sim_constant(struct strait_run *run, const char *name, json_t *value, const char *source,
                        struct strait_error *err);
