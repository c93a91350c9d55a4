/* Models of which no more than the number of parameters is known. */
#pragma once
#include "model_build.h"

enum { STRAIT_INFERRED_VOCABULARY = 50257, STRAIT_INFERRED_MIN_PARAMS = 1000 };

/** Infer the layers of a transformer with exactly n_params parameters, as GPT-2's without biases:
 *  n_blocks blocks of four matrices (12 width^2 together), an embedding of `vocabulary` rows that
 *  the head shares, at most half of the model, and a last norm. The width is the largest that
 *  fits; what is left makes the embedding longer and the norm wider. m->inferred says so.
 *  Out:     out         times are 0; the FLOPs of a layer are 2 for each parameter that multiplies,
 *                       those of a token
 *  In:      n_params    at least STRAIT_INFERRED_MIN_PARAMS
 *           n_blocks    0: those of the nearest GPT-3 model (Brown et al. arXiv 2005.14165, table
 *                       2.1), at least 12
 *           vocabulary  rows
 *  Returns: 0, or -1 with *err INPUT if the blocks are too many for n_params, or NOMEM */
int strait_inferred_model(struct strait_model **out, size_t n_params, size_t n_blocks,
                          size_t vocabulary, struct strait_error *err);
