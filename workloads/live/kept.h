/* Results of training, kept in a file. A run that was stopped continues from it and gives the same
 * bits, because everything else is simulated again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

struct strait_kept;

/* One job of a worker: n_steps of local training (0: a gradient) from its minibatch number
 * first_batch on, with these parameters. */
struct strait_kept_job {
    int32_t worker, n_steps;
    uint64_t first_batch;
    uint64_t from; /* check sum of the parameters */
};

/** Open or create a file for models of n_elems. It is read up to the first incomplete record.
 *  Returns: 0, or -1 with *err: SYSTEM; INPUT for a file that is none of these, or of another
 *           model */
int strait_kept_open(struct strait_kept **out, const char *path, size_t n_elems,
                     struct strait_error *err);
/** Close it; is_over: delete it. NULL is fine. */
void strait_kept_close(struct strait_kept *k, bool is_over);
/** Take the result of a job, if it is there: its loss, n_elems values and the n_state numbers of
 *  the optimiser afterwards (0, NULL: it began anew), or of a gradient's factors. Any thread may
 *  call. */
bool strait_kept_find(struct strait_kept *k, const struct strait_kept_job *job, double *loss,
                      float *values, float *state, size_t n_state);
/** Append the result of a job. 0, or -1 with *err SYSTEM */
int strait_kept_add(struct strait_kept *k, const struct strait_kept_job *job, double loss,
                    const float *values, const float *state, size_t n_state,
                    struct strait_error *err);
