/* "training" of an experiment from text, for tests of what trains. */
#pragma once
#include "learn/learn.h"

/** Read it; the caller frees nothing: *t borrows no JSON. Returns: 0, or -1 with *err. */
int strait_test_training_try(struct strait_training *t, const char *json, struct strait_error *err);
/** The same where it must succeed. */
struct strait_training strait_test_training(const char *json);
/** Open a task that must open. */
struct strait_learn *strait_test_learn(const char *json, int n_workers, uint64_t seed);
