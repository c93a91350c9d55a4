/* A small transformer that runs, forward only: words and positions, then blocks of LayerNorm,
 * causal attention of several heads, residual, LayerNorm, a GELU network, residual (GPT-2's order,
 * Radford et al., 2019), for the keys, values and queries that its attention sees. It has the shape
 * of the recorded `gpt`; whatever of its parameters was recorded is taken, the rest is drawn. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "traces/tensors.h"
#include "attention.h"

enum {
    STRAIT_GPT_WIDTH = 192,
    STRAIT_GPT_HEADS = 6,
    STRAIT_GPT_BLOCKS = 4,
    STRAIT_GPT_HIDDEN = 768,
    STRAIT_GPT_WORDS = 3072,
    STRAIT_GPT_POSITIONS = 64
};

/* Matrices are [in][out]: the transpose of what is recorded. A bias that was not recorded is 0, a
 * scale 1, a matrix normal with the rms of the recorded one of its kind, or 0.02. */
struct strait_block {
    float *scale_1, *qkv, *proj; /* LayerNorm; width x 3 width; width x width */
    float *scale_2, *fc, *fc_bias, *out;
};

struct strait_transformer {
    float *words; /* rows of the recorded head: its embedding was not recorded */
    float *positions;
    struct strait_block blocks[STRAIT_GPT_BLOCKS];
    double recorded_ratio; /* share of these values that were recorded */
    float *memory;         /* of all of the above */
};

/** Recorded parameters of step 200, at which most were; drawn ones by seed.
 *  In:      recorded  any set, even without a single tensor of `gpt`
 *  Returns: 0, or -1 with *err NOMEM; a recording of another shape counts as none */
int strait_transformer_new(struct strait_transformer **out, const struct strait_tensors *recorded,
                           uint64_t seed, struct strait_error *err);
void strait_transformer_free(struct strait_transformer *t);

/** Run it over n_tokens words, drawn evenly by seed; positions begin again after the 64th. What is
 *  filled in here is freed with strait_cache_release, also after an error.
 *  Cost:    13 width^2 multiply-adds a token and block, and attention's n_tokens width */
int strait_transformer_run(struct strait_cache *out, const struct strait_transformer *t,
                           size_t n_tokens, uint64_t seed, struct strait_error *err);
