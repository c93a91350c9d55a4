/* The discrete cosine transform DCT-II of small blocks with orthonormal rows,
 *     y[k] = c_k sum over j of x[j] cos(pi (2 j + 1) k / 2 n),  c_0 = sqrt(1 / n),
 *         else sqrt(2 / n),
 * along both sides of a matrix, and its inverse. The same bits on every machine: cosines by
 * stable_math.h, sums in ascending order, float32. */
#pragma once
#include "codecs/kit/scratch_pool.h"
#include "core/error.h"

/* Tables of cosines, one user at a time. */
struct strait_dct;

/** From the pool, or new. NULL with *err: NOMEM */
struct strait_dct *strait_dct_take(struct strait_pool *pool, struct strait_error *err);
void strait_dct_pool_release(struct strait_pool *pool);

enum { STRAIT_DCT_MAX = 128 }; /* of a side */
/** Out: y, and between: scratch, as large as x: float32[n_rows * n_columns], rows one after
 *  another. Cost: n_rows + n_columns multiplications and additions a value */
void strait_dct_forward(struct strait_dct *d, float *y, const float *x, size_t n_rows,
                        size_t n_columns, float *between);
/** Cost: about as many a value as y has rows with values other than 0. */
void strait_dct_inverse(struct strait_dct *d, float *x, const float *y, size_t n_rows,
                        size_t n_columns, float *between);
