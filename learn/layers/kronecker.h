/* The arithmetic of K-FAC. A symmetric d x d matrix travels as a triangle: the rows of its upper
 * half one after another, d (d + 1) / 2 numbers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

void learn_triangle_of(float *triangle, const float *matrix, size_t d);
double learn_triangle_trace(const float *triangle, size_t d);
/** inverse = (triangle + damping I)^-1, in double precision between.
 *  Returns: false when memory ran out or the damped matrix is not positive definite */
bool learn_triangle_invert(float *inverse, const float *triangle, size_t d, double damping);

/** How the damping of A (x) G is divided: A gets pi sqrt(damping), G sqrt(damping) / pi.
 *  In:      traces and dimensions of A and G
 *  Source:  Martens and Grosse, arXiv 1503.05671, section 6.3, with the trace norm */
double learn_damping_pi(double trace_a, size_t d_a, double trace_g, size_t d_g);

/* A layer's weights [out][in], and where it has them biases [out]: A is of in + 1 then. */
struct learn_kronecker {
    const float *a_inverse, *g_inverse; /* triangles */
    size_t in, out;
    bool has_bias;
};
/** [dw dbias] = G^-1 [dw dbias] A^-1, in place; dbias NULL: none.
 *  Returns: false when memory ran out
 *  Source:  Martens and Grosse, section 4.2 */
bool learn_precondition(const struct learn_kronecker *k, float *dw, float *dbias);
