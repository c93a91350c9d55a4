/* A decoder that is trained: pre-norm blocks of causal multi-head attention and a GELU network,
 * learned positions, next-token cross entropy (Radford et al., 2019: GPT-2). Weights are one
 * flattened model, matrices [out][in]. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attention.h"
#include "dense.h"
#include "laps.h"

struct learn_gpt {
    size_t layers, width, heads, context, words;
    bool tied; /* the output head is the embedding of words */
};

/* Attention in another way than learn_attend, of one head over one sequence, forward only: fills
 * out as learn_attend does; p (n x n) is free to use. */
typedef void (*learn_attend_instead)(void *how, float *out, float *p, const struct learn_head *h,
                                     size_t layer, size_t head);

/* One parameter tensor, in the order of the forward pass. */
struct learn_gpt_param {
    char layer[40];
    const char *param, *type;
    size_t shape[2]; /* the second is 0 of a vector */
};
/** Returns: how many there are; out NULL: only counts */
size_t learn_gpt_params(struct learn_gpt_param *out, const struct learn_gpt *t);
size_t learn_gpt_n_elems(const struct learn_gpt *t);
/** GPT-2's: matrices normal with deviation 0.02, those that end in the residual stream divided by
 *  sqrt(2 layers); biases 0, scales 1. Keyed by seed. */
void learn_gpt_init(const struct learn_gpt *t, float *w, uint64_t seed);

/** Floats of room for n sequences; `gradient`: also for the backward pass. */
size_t learn_gpt_room(const struct learn_gpt *t, size_t n, bool gradient);
/** Mean cross entropy over n sequences and its gradient.
 *  In:      words  n rows of context + 1: each predicts the next
 *           room   learn_gpt_room(t, n, true) floats, 64-byte aligned
 *           laps   NULL: nobody measures
 *           factors  of qkv, proj, fc and out of each block, then of a head of its own, rows being
 *                    tokens: filled; NULL: nobody wants them */
double learn_gpt_gradient(const struct learn_gpt *t, float *gradient, const float *w,
                          const unsigned char *words, size_t n, float *room,
                          const struct learn_laps *laps, const struct learn_factors *factors);
/** Out:     loss   sum of cross entropies, n x context of them
 *           best   the likeliest next word of each place; may be NULL
 *  In:      attend NULL: in full
 *  Returns: how many of the next words were the likeliest (ties: the lower) */
size_t learn_gpt_score(const struct learn_gpt *t, double *loss, unsigned char *best, const float *w,
                       const unsigned char *words, size_t n, float *room,
                       learn_attend_instead attend, void *how);
