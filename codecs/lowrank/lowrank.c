/* The arithmetic of low-rank compression, on CBLAS and LAPACK. */
#include "lowrank.h"
#include <assert.h>
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include "core/host.h"
#include "core/random.h"

bool strait_lowrank_fits(struct strait_lowrank *shape, size_t n_elems, size_t n_rows, size_t rank)
{
    if (n_rows < 2 || rank < 1 || n_elems == 0 || n_elems % n_rows != 0)
        return false;
    const size_t n_cols = n_elems / n_rows;
    if (n_rows > INT_MAX || n_cols > INT_MAX || rank >= n_rows || rank >= n_cols)
        return false;
    if (rank * (n_rows + n_cols) >= n_elems)
        return false;
    *shape = (struct strait_lowrank){n_rows, n_cols, rank};
    return true;
}

/* Four uniform 16-bit integers: their sum has mean 2 (2^16 - 1), variance 4 (2^32 - 1) / 12. */
void strait_lowrank_draw(float *q, size_t n_elems, uint64_t key)
{
    struct strait_sequence s = strait_sequence_at(key);
    const float one_over_deviation = 2.64289979e-5f;
    for (size_t i = 0; i < n_elems; i++) {
        const uint64_t r = strait_sequence_next(&s);
        const int32_t sum =
            (int32_t)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48 & 0xffff));
        q[i] = (float)(sum - 2 * 0xffff) * one_over_deviation;
    }
}

void strait_lowrank_left(float *p, const struct strait_lowrank *shape, const float *m,
                         const float *q)
{
    const int a = (int)shape->n_rows, b = (int)shape->n_cols, r = (int)shape->rank;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, a, r, b, 1, m, b, q, r, 0, p, r);
}

void strait_lowrank_right(float *q, const struct strait_lowrank *shape, const float *m,
                          const float *p)
{
    const int a = (int)shape->n_rows, b = (int)shape->n_cols, r = (int)shape->rank;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, b, r, a, 1, m, b, p, r, 0, q, r);
}

void strait_lowrank_product(float *m, const struct strait_lowrank *shape, const float *p,
                            const float *q)
{
    const int a = (int)shape->n_rows, b = (int)shape->n_cols, r = (int)shape->rank;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, a, b, r, 1, p, r, q, r, 0, m, b);
}

/* The factor in column order, the reflections' scales, and a row for LAPACK. */
size_t strait_lowrank_work_elems(size_t n_rows, size_t rank)
{
    return n_rows * rank + rank + rank;
}

void strait_lowrank_orthonormalise(float *a, size_t n_rows, size_t rank, float *work)
{
    const lapack_int n = (lapack_int)n_rows, r = (lapack_int)rank;
    float *column = work, *tau = work + n_rows * rank, *row = tau + rank;
    assert(n_rows >= rank && n_rows <= INT_MAX);
    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < rank; k++)
            column[k * n_rows + i] = a[i * rank + k];
    lapack_int bad;
    STRAIT_BLAS(bad = LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, n, r, column, n, tau, row, r);
                bad |= LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, n, r, r, column, n, tau, row, r));
    assert(bad == 0); /* only refuses wrong arguments */
    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < rank; k++)
            a[i * rank + k] = column[k * n_rows + i];
}

enum { EXPONENT_BIAS = 127, MAX_TAME = 30 };

/* Bits of the largest magnitude; bits order like magnitudes, NaN beyond the infinities. */
static int32_t largest_bits(const float *m, size_t n_elems)
{
    int32_t most = 0;
    for (size_t i = 0; i < n_elems; i++) {
        int32_t bits;
        memcpy(&bits, &m[i], sizeof(bits));
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    return most;
}

static int32_t largest_finite_bits(const float *m, size_t n_elems)
{
    float most = 0;
    int32_t bits;
    for (size_t i = 0; i < n_elems; i++)
        if (isfinite(m[i]) && fabsf(m[i]) > most)
            most = fabsf(m[i]);
    memcpy(&bits, &most, sizeof(bits));
    return bits;
}

static int exponent_of(int32_t bits)
{
    return (bits >> 23) - EXPONENT_BIAS;
}

static bool is_wild(int32_t bits)
{
    return bits != 0 && (exponent_of(bits) > MAX_TAME || exponent_of(bits) < -MAX_TAME);
}

bool strait_lowrank_is_wild(const float *m, size_t n_elems)
{
    return is_wild(largest_bits(m, n_elems)); /* not finite: exponent 128 */
}

const float *strait_lowrank_tame(float *copy, int *exponent, const float *m, size_t n_elems)
{
    *exponent = 0;
    if (!strait_lowrank_is_wild(m, n_elems))
        return m;
    const int32_t bits = largest_finite_bits(m, n_elems);
    if (is_wild(bits)) {
        const int e = exponent_of(bits);
        *exponent = e > STRAIT_LOWRANK_MAX_EXPONENT    ? STRAIT_LOWRANK_MAX_EXPONENT
                    : e < -STRAIT_LOWRANK_MAX_EXPONENT ? -STRAIT_LOWRANK_MAX_EXPONENT
                                                       : e;
    }
    const float scale = ldexpf(1, -*exponent);
    for (size_t i = 0; i < n_elems; i++)
        copy[i] = isfinite(m[i]) ? m[i] * scale : 0;
    return copy;
}

void strait_lowrank_scale(float *y, size_t n_elems, int exponent)
{
    const float scale = ldexpf(1, exponent);
    for (size_t i = 0; i < n_elems; i++) {
        const float v = y[i] * scale;
        y[i] = v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v;
    }
}
