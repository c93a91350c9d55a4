#include "minifloat.h"
#include <math.h>

const struct strait_minifloat strait_e4m3 = {8, 3, -6, 8, 448, 127, false};
const struct strait_minifloat strait_e5m2 = {8, 2, -14, 15, 57344, 124, true};
const struct strait_minifloat strait_e3m2 = {6, 2, -2, 4, 28, 0, false};
const struct strait_minifloat strait_e2m3 = {6, 3, 0, 2, 7.5F, 0, false};
const struct strait_minifloat strait_e2m1 = {4, 1, 0, 2, 6, 0, false};
/* Seven powers of two and 0. The paper of streaming DiLoCo (arXiv 2501.18512) names its bits alone;
 * where its range lies makes no difference below a scale. */
const struct strait_minifloat strait_e3m0 = {4, 0, -6, 0, 1, 0, false};

void strait_minifloat_values(float *values, const struct strait_minifloat *f)
{
    const unsigned n = 1u << (f->bits - 1), m = f->fraction_bits;
    for (unsigned k = 0; k < n; k++) {
        const unsigned field = k >> m, fraction = k & ((1u << m) - 1);
        const unsigned units = fraction + (field > 0 ? 1u << m : 0);
        float v = ldexpf((float)units, f->min_exponent + (int)field - (field > 0) - (int)m);
        if (f->first_special > 0 && k >= f->first_special)
            v = f->has_infinity && k == f->first_special ? INFINITY : NAN;
        values[k] = v;
        values[n + k] = -v;
    }
}
