/* A small transformer that runs, forward only: embedding of words and positions, then blocks of
 * LayerNorm, causal multi-head attention, residual, LayerNorm, GELU network, residual (GPT-2's
 * order, Radford et al., 2019), to obtain realistic keys, values and queries. It has the shape of
 * the recorded `gpt`; recorded parameters are used, the others are drawn. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "traces/tensors.h"
#include "kv_attention.h"

enum {
    STRAIT_GPT_WIDTH = 192,
    STRAIT_GPT_HEADS = 6,
    STRAIT_GPT_BLOCKS = 4,
    STRAIT_GPT_HIDDEN = 768,
    STRAIT_GPT_WORDS = 3072,
    STRAIT_GPT_POSITIONS = 64
};

/* Matrices are [in][out]: the transpose of what is recorded. If not recorded, a bias is 0, a scale
 * 1, and a matrix is normal with the rms of the recorded one of its kind, or 0.02. */
struct strait_block {
    float *scale_1, *qkv, *proj; /* LayerNorm; width x 3 width; width x width */
    float *scale_2, *fc, *fc_bias, *out;
};

struct strait_transformer {
    float *words; /* rows of the recorded output head: the embedding was not recorded */
    float *positions;
    struct strait_block blocks[STRAIT_GPT_BLOCKS];
    double recorded_ratio; /* share of these values that were recorded */
    float *memory;         /* of all of the above */
};

/** Recorded parameters of step 200, at which most were recorded; others drawn by seed.
 *  In:      recorded  any set, even without a single tensor of `gpt`
 *  Returns: 0, or -1 with *err NOMEM; a recording of another shape is ignored */
int strait_transformer_new(struct strait_transformer **out, const struct strait_tensors *recorded,
                           uint64_t seed, struct strait_error *err);
void strait_transformer_free(struct strait_transformer *t);

/** Run it over n_tokens words, drawn uniformly by seed; positions start again after the 64th. The
 *  caller frees *out with strait_cache_release, also after an error.
 *  Cost:    13 width^2 multiply-adds a token and block, and attention's n_tokens width */
int strait_transformer_run(struct strait_cache *out, const struct strait_transformer *t,
                           size_t n_tokens, uint64_t seed, struct strait_error *err);
