/* A task as it is trained: the network's parameters, the data, and who has which of it. Immutable
 * once open; all ranks share it, also across fork. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "learn_param.h"
#include "training.h"

struct strait_learn;

/** Open the data and split it over n_workers by seed.
 *  Returns: 0, or -1 with *err: INPUT for settings that cannot be; HOST naming the Debian package
 *           of a data set that is not installed */
int strait_learn_open(struct strait_learn **out, const struct strait_training *t, int n_workers,
                      uint64_t seed, struct strait_error *err);
void strait_learn_free(struct strait_learn *l);

size_t strait_learn_n_elems(const struct strait_learn *l);
const struct strait_learn_param *strait_learn_params(const struct strait_learn *l, size_t *n);
/** Bytes that the task holds, and one learner: for plans before a run. */
size_t strait_learn_bytes(const struct strait_learn *l);
size_t strait_learner_bytes(const struct strait_learn *l);
/** The worker's share of all data: its weight in federated averaging. Shares sum to 1. */
double strait_learn_share(const struct strait_learn *l, int worker);
long strait_learn_examples(const struct strait_learn *l, int worker);
/** Examples that no worker has. */
long strait_learn_held_out(const struct strait_learn *l);
/** Do the workers' shares of labels differ, as a Dirichlet split makes them? */
bool strait_learn_is_uneven(const struct strait_learn *l);
/** A task without a held-out accuracy (quadratic) has only a loss. */
bool strait_learn_has_accuracy(const struct strait_learn *l);
/** The initial parameters by seed, the same for all workers. Out: w n_elems */
void strait_learn_init(const struct strait_learn *l, float *w);
