/* The loops over rows of a matrix, one set for each level of host.h. Sixteen values at a time in a
 * stated order and never fused, so that all sets give the same floats. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "core/host.h"

enum {
    SZ_WIDE = 16,   /* directions are padded with zeros to a multiple of it */
    SZ_BUCKETS = 32 /* rows of a sketch, at most */
};

struct sz_sizes {
    uint32_t sum, n_nonzero, max; /* of magnitudes */
};

/* The directions in one row, from some column on. The share of value i is the integer nearest to
 * the sum over j, in order, of w[j] * v[j * stride + i], which is below 2^22 in magnitude. Fifteen
 * values behind the last one of a direction are readable. */
struct sz_row {
    const float *w, *v;
    size_t stride;
    unsigned rank;
};

struct sz_share_kernels {
    /** p: the shares */
    void (*predict)(float *p, size_t n, const struct sz_row *row);
    /** d = q - share. In/out: sizes: those of d are added to the sums. n is at most 256 */
    void (*subtract)(struct sz_sizes *sizes, int32_t *d, const int32_t *q, size_t n,
                     const struct sz_row *row);
    /** y = (y + share) * step; NaN stays NaN */
    void (*restore)(float *y, size_t n, const struct sz_row *row, float step);
};

struct sz_matrix_kernels {
    /** y += scale * x */
    void (*add_row)(float *y, const float *x, float scale, size_t n);
    /** Sum of a * b: sixteen sums side by side, then their halves together. */
    float (*dot)(const float *a, const float *b, size_t n);
    /** u[j] = dot(x, v + j * stride) for `wanted` of them, a multiple of four; v is padded. */
    void (*project)(float *u, const float *x, size_t n, const float *v, size_t stride,
                    unsigned wanted);
    /** The first columns of w[n][SZ_WIDE] become an orthonormal base of those of g w, one after
     *  another, for a symmetric g[n][SZ_BUCKETS]. One that is left without length becomes 0. */
    void (*turn)(float *w, const float *g, unsigned n, unsigned n_columns);
    /** `exact` where every product and sum is exact: it may be fused, and gives the same. */
    const struct sz_share_kernels *share, *exact;
};

const struct sz_matrix_kernels *sz_matrix_kernels_at(enum strait_simd level);
