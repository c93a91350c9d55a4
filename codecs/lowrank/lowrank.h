/* The arithmetic of low-rank compression, M ~ P Q^T: what one worker computes between the
 * all-reduces of PowerSGD and ACP-SGD. All matrices are float32, row-major, dense.
 *
 * A strategy with W workers, each with its own M and all with the same Q:
 *     PowerSGD   left; all-reduce the mean of P; orthonormalise P; right; all-reduce the mean of Q;
 *                product. Two dependent all-reduces of 4 rank n_rows and 4 rank n_cols bytes.
 *     ACP-SGD    even steps: orthonormalise Q; left; all-reduce the mean of P; product.
 *                odd steps: orthonormalise P; right; all-reduce the mean of Q; product.
 * With the other factor fixed, left and right are linear in M: the means of the workers' factors
 * are the factors of the mean matrix. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRAIT_LOWRANK_MAX_RANK = 64, STRAIT_LOWRANK_MAX_EXPONENT = 126 };

struct strait_lowrank {
    size_t n_rows, n_cols, rank; /* M: n_rows x n_cols, P: n_rows x rank, Q: n_cols x rank */
};

/** Whether factors of this rank are smaller than the tensor. False for a vector (n_rows 0, 1 or not
 *  a divisor of n_elems), for a rank as large as a side, and for factors as large as M.
 *  Out:     shape   if true */
bool strait_lowrank_fits(struct strait_lowrank *shape, size_t n_elems, size_t n_rows, size_t rank);

/** Fill the start of the iteration: n_elems numbers of mean 0 and variance 1, each the sum of four
 *  uniform draws, the same on every machine. */
void strait_lowrank_draw(float *q, size_t n_elems, uint64_t key);

/** P = M Q.
 *  Cost:    2 rank operations a value of M
 *  Source:  Vogels et al. 2019, algorithm 1 */
void strait_lowrank_left(float *p, const struct strait_lowrank *shape, const float *m,
                         const float *q);
/** Q = M^T P. */
void strait_lowrank_right(float *q, const struct strait_lowrank *shape, const float *m,
                          const float *p);
/** M = P Q^T. */
void strait_lowrank_product(float *m, const struct strait_lowrank *shape, const float *p,
                            const float *q);

/** Size of `work` in floats for a factor of n_rows rows. */
size_t strait_lowrank_work_elems(size_t n_rows, size_t rank);
/** Replace the columns of a (n_rows x rank, n_rows >= rank) by orthonormal ones that span the same
 *  space, by Householder reflections. Dependent and zero columns become other directions, always
 *  the same for the same a, where the published Gram-Schmidt would leave noise or 0.
 *  Cost:    O(n_rows rank^2), no allocation */
void strait_lowrank_orthonormalise(float *a, size_t n_rows, size_t rank, float *work);

/** M in a range where the products above cannot overflow: values that are not finite become 0, and
 *  all are scaled by a power of two if the largest magnitude is outside 2^-30 .. 2^30.
 *  Out:     copy      n_elems floats, written only if something changes
 *           exponent  the returned matrix times 2^exponent is M
 *  Returns: m or copy */
const float *strait_lowrank_tame(float *copy, int *exponent, const float *m, size_t n_elems);
/** Whether strait_lowrank_tame would write its copy. */
bool strait_lowrank_is_wild(const float *m, size_t n_elems);
/** y <- y 2^exponent, clamped to the finite floats: undoes tame on a factor or a product.
 *  In:      exponent  of tame, at most STRAIT_LOWRANK_MAX_EXPONENT in magnitude */
void strait_lowrank_scale(float *y, size_t n_elems, int exponent);
