/* K-FAC's arithmetic against the Kronecker product itself, formed and solved in double
 * precision. */
#include "learn/layers/kronecker.h"
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "tests/kit/suite.h"

enum { IN = 3, D = IN + 1, OUT = 3, N = D * OUT };

/* A symmetric positive definite matrix: B B' of a uniform B. */
static void draw(float *matrix, size_t d, uint64_t what)
{
    double b[D][D] = {{0}};
    for (size_t i = 0; i < d * d; i++)
        b[i / d][i % d] = 2 * strait_random_unit(5, "kronecker", what, i) - 1;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++)
                sum += b[i][k] * b[j][k];
            matrix[i * d + j] = (float)sum;
        }
}

/* Gauss with pivots: x = m^-1 x. */
static void solve(double m[N][N], double *x)
{
    for (int i = 0; i < N; i++) {
        int pivot = i;
        for (int j = i; j < N; j++)
            pivot = fabs(m[j][i]) > fabs(m[pivot][i]) ? j : pivot;
        for (int k = 0; k < N; k++) {
            const double t = m[i][k];
            m[i][k] = m[pivot][k];
            m[pivot][k] = t;
        }
        const double t = x[i];
        x[i] = x[pivot];
        x[pivot] = t;
        for (int j = 0; j < N; j++) {
            const double by = m[j][i] / m[i][i];
            for (int k = i; k < N && j != i; k++)
                m[j][k] -= by * m[i][k];
            x[j] -= j != i ? by * x[i] : 0;
        }
    }
    for (int i = 0; i < N; i++)
        x[i] /= m[i][i];
}

/* (A (x) G) vec(X) = vec(G X A) with columns one after another. Elements are around 1 and the
 * damped matrices' smallest eigenvalues 0.1, so floats leave errors around 1e-6. */
static void as_a_product(void)
{
    float a[D * D], g[OUT * OUT], triangle[D * (D + 1) / 2], of_a[D * (D + 1) / 2],
        of_g[OUT * (OUT + 1) / 2], dw[OUT * IN], dbias[OUT];
    const double damping_a = 0.2, damping_g = 0.1;
    double product[N][N], x[N];
    draw(a, D, 0);
    draw(g, OUT, 1);
    for (int i = 0; i < OUT; i++) {
        dbias[i] = (float)(i + 1);
        for (int j = 0; j < IN; j++)
            dw[i * IN + j] = (float)(1 - i * j);
    }
    for (int j = 0; j < D; j++)
        for (int i = 0; i < OUT; i++) {
            x[j * OUT + i] = (double)(j < IN ? dw[i * IN + j] : dbias[i]);
            for (int l = 0; l < D; l++)
                for (int k = 0; k < OUT; k++)
                    product[j * OUT + i][l * OUT + k] =
                        ((double)a[j * D + l] + (j == l ? damping_a : 0)) *
                        ((double)g[i * OUT + k] + (i == k ? damping_g : 0));
        }
    solve(product, x);
    learn_triangle_of(triangle, a, D);
    CU_ASSERT(learn_triangle_invert(of_a, triangle, D, damping_a));
    learn_triangle_of(triangle, g, OUT);
    CU_ASSERT(learn_triangle_invert(of_g, triangle, OUT, damping_g));
    const struct learn_kronecker k = {of_a, of_g, IN, OUT, true};
    CU_ASSERT(learn_precondition(&k, dw, dbias));
    for (int i = 0; i < OUT; i++) {
        for (int j = 0; j < IN; j++)
            CU_ASSERT_DOUBLE_EQUAL((double)dw[i * IN + j], x[j * OUT + i], 1e-4);
        CU_ASSERT_DOUBLE_EQUAL((double)dbias[i], x[IN * OUT + i], 1e-4);
    }
}

/* Without a bias A is as wide as the weights: diagonal A = 2, 4 and G = 5 divide by 10 and 20. */
static void without_bias(void)
{
    const float a[] = {1.5F, 0, 3.5F}, g[] = {4.5F};
    float of_a[3], of_g[1], dw[] = {10, 10};
    CU_ASSERT(learn_triangle_invert(of_a, a, 2, 0.5));
    CU_ASSERT(learn_triangle_invert(of_g, g, 1, 0.5));
    const struct learn_kronecker k = {of_a, of_g, 2, 1, false};
    CU_ASSERT(learn_precondition(&k, dw, NULL));
    CU_ASSERT_DOUBLE_EQUAL((double)dw[0], 1, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL((double)dw[1], 0.5, 1e-6);
}

static void triangles(void)
{
    const float matrix[] = {1, 2, 3, 2, 4, 5, 3, 5, 6}, negative[] = {-1}, none[] = {NAN};
    float triangle[6], inverse[1];
    learn_triangle_of(triangle, matrix, 3);
    for (int i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(triangle[i], (float)(i + 1));
    CU_ASSERT_EQUAL(learn_triangle_trace(triangle, 3), 11);
    CU_ASSERT_FALSE(learn_triangle_invert(inverse, negative, 1, 0.5));
    CU_ASSERT_FALSE(learn_triangle_invert(inverse, none, 1, 0.5));
}

/* Mean eigenvalues 8 / 2 and 1 / 4: pi = sqrt(4 / 0.25). */
static void pi(void)
{
    CU_ASSERT_DOUBLE_EQUAL(learn_damping_pi(8, 2, 1, 4), 4, 1e-12);
    CU_ASSERT_EQUAL(learn_damping_pi(0, 2, 1, 4), 1);
    CU_ASSERT_EQUAL(learn_damping_pi(1, 2, 0, 4), 1);
}

static const struct strait_test tests[] = {
    {"a gradient is divided by the damped Kronecker product", as_a_product},
    {"and so it is without a bias", without_bias},
    {"triangles hold the upper half; what has no inverse is refused", triangles},
    {"damping is divided by the factors' mean eigenvalues", pi},
};
STRAIT_SUITE("learn/layers/kronecker", tests);
