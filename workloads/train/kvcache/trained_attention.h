/* What approximate attention costs in accuracy: a transformer of learn/, with trained weights, is
 * evaluated on held-out text with full attention and with approximations of it. */
#pragma once
#include "learn/learn.h"

/* How each query attends to the tokens up to its own. All zero: in full. */
struct strait_attention_way {
    size_t top_k;  /* only to the k tokens with the largest scores; 0: to all */
    size_t rank;   /* keys along so many of their strongest directions in the window; 0: exact */
    unsigned bits; /* keys and values of 1 to 8 bits, each channel with its own step; 0: exact */
};
/* With top_k, approximate keys only choose the tokens: these are attended to exactly, as kvapprox
 * fetches them. */

struct strait_way_quality {
    double loss;      /* mean cross entropy, nats a character */
    double accuracy;  /* share of places where the likeliest character comes */
    double agreement; /* share where it is the same as with full attention */
    size_t n;         /* places */
};

/** Evaluate each of the ways.
 *  In:      l           an open task char-transformer
 *           w           its weights
 *           n_examples  of the held-out text, the first; 0: all
 *  Returns: 0, or -1 with *err: INPUT for a rank or a width of bits that cannot be; NOMEM; BACKEND
 *           as strait_keys_low_rank */
int strait_attention_ways(struct strait_way_quality *out, const struct strait_attention_way *ways,
                          size_t n_ways, const struct strait_learn *l, const float *w,
                          long n_examples, struct strait_error *err);
