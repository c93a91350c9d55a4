/* Weights of a task trained by one worker alone: read from a file, or trained now and kept
 * there. */
#pragma once
#include "learn/learn.h"

/** Train l, opened with t for one worker, for n_steps from its first weights, with a progress line.
 *  Out:     w      free it
 *           loss   mean over the last tenth of the steps; NAN where the weights were read
 *  In:      path   float32 in the order of the model; read if there is such a file, else written;
 *                  NULL: neither
 *  Returns: 0, or -1 with *err: INPUT for a file of another length; BACKEND where training
 *           diverged; SYSTEM where the file cannot be written; NOMEM */
int strait_trained_weights(float **w, double *loss, const struct strait_learn *l,
                           const struct strait_training *t, long n_steps, const char *path,
                           struct strait_error *err);
