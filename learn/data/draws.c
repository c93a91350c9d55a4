/* Draws from distributions. */
#include <math.h>
#include "draws.h"

double strait_draw_normal(struct strait_sequence *s)
{
    const double u = 1 - strait_sequence_unit(s); /* (0, 1] */
    const double v = strait_sequence_unit(s);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

double strait_draw_gamma(struct strait_sequence *s, double alpha)
{
    double boost = 1;
    if (alpha < 1) {
        boost = pow(1 - strait_sequence_unit(s), 1 / alpha);
        alpha += 1;
    }
    const double d = alpha - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = strait_draw_normal(s);
        const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        const double u = 1 - strait_sequence_unit(s);
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v;
    }
}

uint64_t strait_draw_below(struct strait_sequence *s, uint64_t n)
{
    const uint64_t rejected = (0 - n) % n; /* 2^64 mod n: the rest is a multiple of n */
    uint64_t bits;
    do
        bits = strait_sequence_next(s);
    while (bits < rejected);
    return bits % n;
}
