/* Attention of one query over a cache of keys and values, and cheap approximations that find the
 * keys that matter: keys in few dimensions, or in few bits. Rows are tokens; arrays are row-major
 * float32. Source of the scheme: top-k attention over approximate scores, as in offloaded
 * inference. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/** scores[n] = K q / sqrt(d); K is n x d, q has d. Cost: 2 n d. */
void strait_attention_scores(float *scores, const float *keys, const float *q, size_t n, size_t d);
/** out[d] = softmax of the chosen scores, times their values; chosen NULL: all n.
 *  In:      chosen  n_chosen distinct tokens, in any order */
void strait_attention_output(float *out, const float *scores, const float *values,
                             const size_t *chosen, size_t n_chosen, size_t n, size_t d);

/** The k tokens with the largest scores (ties: the first), in ascending order of token.
 *  In:      k  at most n
 *  Cost:    O(n log n) */
int strait_attention_top(size_t *chosen, size_t k, const float *scores, size_t n,
                         struct strait_error *err);
/** Share of the tokens in `truth` that are also in `found`; both ascending, k each. */
double strait_attention_recall(const size_t *truth, const size_t *found, size_t k);
/** |a - b| / |b|, Euclidean; 0 where both are zero. */
double strait_attention_error(const float *a, const float *b, size_t n);

/** Reduce keys to `rank` dimensions.
 *  Out:     basis  d x rank: the directions with most of the keys' energy, eigenvectors of K'K
 *           small  n x rank: the keys along them. Scores are those of the projected query,
 *                  basis' q; at rank d they are exact up to rounding
 *  Returns: 0, or -1 with *err NOMEM or BACKEND when LAPACK fails
 *  Cost:    2 n d^2 + O(d^3) */
int strait_keys_low_rank(float *basis, float *small, const float *keys, size_t n, size_t d,
                         size_t rank, struct strait_error *err);
/** y[rank] = basis' q */
void strait_query_project(float *y, const float *basis, const float *q, size_t d, size_t rank);
/** Quantise keys to `bits` (2 to 8) a value and back, each channel with its own minimum and step:
 *  the error is at most half a step. Cost: 2 n d */
void strait_keys_quantise(float *rounded, const float *keys, size_t n, size_t d, unsigned bits);

/* Keys, values and queries of all layers and heads: [layer][head][token][head_dim]. */
struct strait_cache {
    size_t n_layers, n_heads, head_dim, n_tokens;
    float *keys, *values, *queries;
    float *early_queries; /* from the previous layer's input; of the first layer its own */
};
int strait_cache_init(struct strait_cache *c, size_t n_layers, size_t n_heads, size_t head_dim,
                      size_t n_tokens, struct strait_error *err);
void strait_cache_release(struct strait_cache *c);
/** Index of a token of a head in each of the arrays. */
size_t strait_cache_at(const struct strait_cache *c, size_t layer, size_t head, size_t token);

/* How scores are approximated, and how many exact keys they choose. */
struct strait_key_choice {
    size_t top_k;  /* at most n_tokens - n_queries */
    size_t rank;   /* directions of the keys that are kept; 0: all */
    unsigned bits; /* of a value; 0: exact */
    bool early;    /* choose with early_queries */
};

/* Means over layers, heads and queries. */
struct strait_key_quality {
    double recall;          /* share of the true top_k that was found */
    double error;           /* of the output over the chosen tokens against that over all */
    double error_of_true_k; /* the same if the true top_k had been chosen */
};
/** Run the last n_queries tokens, each against the keys up to its own.
 *  Returns: 0, or -1 with *err NOMEM or BACKEND as strait_keys_low_rank */
int strait_attention_quality(struct strait_key_quality *out, const struct strait_cache *c,
                             struct strait_key_choice choice, size_t n_queries,
                             struct strait_error *err);
