/* Attention of one query over a cache of keys and values, and ways to tell cheaply which keys
 * matter: keys in few dimensions, or in few bits. Rows are tokens; all arrays are row-major
 * float32. Source of the scheme: top-k attention over approximate scores, as in offloaded
 * inference. */
#pragma once
#include <stddef.h>
#include "../core/error.h"

/** scores[n] = K q / sqrt(d); K is n x d, q has d. Cost: 2 n d. */
void strait_attention_scores(float *scores, const float *keys, const float *q, size_t n, size_t d);
/** out[d] = softmax over the chosen scores, times their values; chosen NULL: all n of them.
 *  In:   chosen  n_chosen distinct tokens, in any order */
void strait_attention_output(float *out, const float *scores, const float *values,
                             const size_t *chosen, size_t n_chosen, size_t n, size_t d);

/** The k tokens of the largest scores, of equal ones the first; in ascending order of token.
 *  In: k  at most n. Cost: O(n log n) */
int strait_attention_top(size_t *chosen, size_t k, const float *scores, size_t n,
                         struct strait_error *err);
/** Share of the tokens in `truth` that are in `found` too; both ascending, k each. */
double strait_attention_recall(const size_t *truth, const size_t *found, size_t k);
/** |a - b| / |b|, Euclidean; 0 where both are zero. */
double strait_attention_error(const float *a, const float *b, size_t n);

/** The `rank` directions (columns of basis, d x rank) that hold most of the keys' energy, by the
 *  eigenvectors of K'K; and the keys along them (small, n x rank). A query's scores are then those
 *  of its own projection, basis' q. At rank d they are exact up to rounding.
 *  Returns: 0, or -1 with *err NOMEM or BACKEND where LAPACK fails
 *  Cost:    2 n d^2 + O(d^3) */
int strait_keys_low_rank(float *basis, float *small, const float *keys, size_t n, size_t d,
                         size_t rank, struct strait_error *err);
/** y[rank] = basis' q */
void strait_query_project(float *y, const float *basis, const float *q, size_t d, size_t rank);
/** Keys as they come back from `bits` (2 to 8) a value, each channel with a least value and a step
 *  of its own: at most half a step off. Cost: 2 n d */
void strait_keys_quantise(float *rounded, const float *keys, size_t n, size_t d, unsigned bits);
