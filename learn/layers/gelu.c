#include "gelu.h"

#include "float_lanes.h"

/* x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
static const float ROOT = 0.797884560802865f, CUBE = 0.044715f;

STRAIT_CLONED
void learn_gelu(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / (1 + learn_exp(-2 * ROOT * (x[i] + CUBE * x[i] * x[i] * x[i])));
}

/* dy becomes dx: with s = 1 / (1 + e^-2u), y' = s + x s (1 - s) 2 u'. */
STRAIT_CLONED
void learn_gelu_back(float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float s = 1 / (1 + learn_exp(-2 * ROOT * (x[i] + CUBE * x[i] * x[i] * x[i])));
        dy[i] *= s + x[i] * s * (1 - s) * 2 * ROOT * (1 + 3 * CUBE * x[i] * x[i]);
    }
}
