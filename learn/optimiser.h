/* Optimisers over a flattened model: what they remember and the step that they take. */
#pragma once
#include <stddef.h>
#include "task.h"

struct strait_optimiser;

int strait_optimiser_new(struct strait_optimiser **out, const struct strait_training *t,
                         const struct strait_learn *l, struct strait_error *err);
void strait_optimiser_free(struct strait_optimiser *o);
/** Forget everything, as at the beginning. */
void strait_optimiser_reset(struct strait_optimiser *o);
/** Bytes of its memory: for plans before a run. */
size_t strait_optimiser_bytes(const struct strait_training *t, size_t n_elems);

/** Begin a step: counts it, for Adam's correction. */
void strait_optimiser_begin(struct strait_optimiser *o);
/** w -= the optimiser's step for gradient, for elements [lo, hi) of the model: after `begin`, each
 *  element once, in any ranges. w and gradient point to element 0. */
void strait_optimiser_step(struct strait_optimiser *o, float *w, const float *gradient, size_t lo,
                           size_t hi);
/** The same without SGD's momentum, for gradients that have one already. */
void strait_optimiser_step_plain(struct strait_optimiser *o, float *w, const float *gradient,
                                 size_t lo, size_t hi);

/** Save and restore the optimiser's n_state numbers, for runs that are saved. */
size_t strait_optimiser_n_state(const struct strait_optimiser *o);
void strait_optimiser_save(const struct strait_optimiser *o, float *state);
void strait_optimiser_load(struct strait_optimiser *o, const float *state);
