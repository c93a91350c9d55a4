/* Matrices with singular values of one's choice, and the norms that tests of low rank compare. */
#pragma once
#include <math.h>
#include <stddef.h>

/* A product of rows and columns of n values rounds each of n steps by 2^-24: relative errors of
 * sqrt(n) 2^-24, 1e-6 for n = 300; this leaves room for a handful of products in a row. */
static const double rounding = 1e-5;

/* Column k of an orthonormal basis of n dimensions, in closed form: the cosine transform. */
static inline double cosine(size_t n, size_t i, size_t k)
{
    const double pi = 3.14159265358979323846, scale = k == 0 ? 1 : 2;
    return sqrt(scale / (double)n) * cos(pi * ((double)i + 0.5) * (double)k / (double)n);
}

/* Sum over k of sigma[k] u_k v_k^T: its singular values are sigma. */
static inline void make_matrix(float *m, size_t a, size_t b, const double *sigma, size_t n_sigma)
{
    for (size_t i = 0; i < a; i++)
        for (size_t j = 0; j < b; j++) {
            double v = 0;
            for (size_t k = 0; k < n_sigma; k++)
                v += sigma[k] * cosine(a, i, k) * cosine(b, j, k + 1);
            m[i * b + j] = (float)v;
        }
}

static inline double distance(const float *x, const float *y, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sqrt(squares);
}

static inline double norm(const float *x, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}
