/* Triangles, their inverses by Cholesky's factorisation, and preconditioned gradients. */
#include "kronecker.h"
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/host.h"

void learn_triangle_of(float *triangle, const float *matrix, size_t d)
{
    for (size_t i = 0; i < d; i++) {
        memcpy(triangle, matrix + i * d + i, (d - i) * sizeof(*triangle));
        triangle += d - i;
    }
}

double learn_triangle_trace(const float *triangle, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) {
        sum += (double)*triangle;
        triangle += d - i;
    }
    return sum;
}

double learn_damping_pi(double trace_a, size_t d_a, double trace_g, size_t d_g)
{
    const double pi = sqrt(trace_a / (double)d_a / (trace_g / (double)d_g));
    return isfinite(pi) && pi > 0 ? pi : 1;
}

bool learn_triangle_invert(float *inverse, const float *triangle, size_t d, double damping)
{
    double *m = calloc(d * d, sizeof(*m));
    const lapack_int n = (lapack_int)d;
    if (!m)
        return false;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = i; j < d; j++)
            m[i * d + j] = (double)*triangle++;
        m[i * d + i] += damping;
    }
    /* the upper half by rows is the lower half by columns */
    bool good;
    STRAIT_BLAS(good = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, m, n) == 0 &&
                       LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', n, m, n) == 0);
    for (size_t i = 0; i < d && good; i++) {
        good = isfinite(m[i * d + i]); /* OpenBLAS lets NaN pass */
        for (size_t j = i; j < d; j++)
            *inverse++ = (float)m[i * d + j];
    }
    free(m);
    return good;
}

/* The upper half alone: symm reads no other. */
static void unpack(float *matrix, const float *triangle, size_t d)
{
    for (size_t i = 0; i < d; i++) {
        memcpy(matrix + i * d + i, triangle, (d - i) * sizeof(*matrix));
        triangle += d - i;
    }
}

bool learn_precondition(const struct learn_kronecker *k, float *dw, float *dbias)
{
    const size_t in = k->in, out = k->out, d = in + (k->has_bias ? 1 : 0), rows = out * d;
    float *a = calloc(d * d, sizeof(*a)), *g = calloc(out * out, sizeof(*g));
    float *x = calloc(rows, sizeof(*x)), *y = calloc(rows, sizeof(*y));
    const bool good = a && g && x && y;
    if (good) {
        unpack(a, k->a_inverse, d);
        unpack(g, k->g_inverse, out);
        for (size_t j = 0; j < out; j++) {
            memcpy(x + j * d, dw + j * in, in * sizeof(*x));
            if (k->has_bias)
                x[j * d + in] = dbias[j];
        }
        STRAIT_BLAS(cblas_ssymm(CblasRowMajor, CblasLeft, CblasUpper, (int)out, (int)d, 1, g,
                                (int)out, x, (int)d, 0, y, (int)d));
        STRAIT_BLAS(cblas_ssymm(CblasRowMajor, CblasRight, CblasUpper, (int)out, (int)d, 1, a,
                                (int)d, y, (int)d, 0, x, (int)d));
        for (size_t j = 0; j < out; j++) {
            memcpy(dw + j * in, x + j * d, in * sizeof(*x));
            if (k->has_bias)
                dbias[j] = x[j * d + in];
        }
    }
    free(a);
    free(g);
    free(x);
    free(y);
    return good;
}
