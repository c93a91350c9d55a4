/* Rounding a up or down by chance between neighbours q and r has the variance (r - a) (a - q); its
 * integral over the normal density is a closed form of density and distribution at q and r. The
 * best table is the cheapest path over grid points, found by dynamic programming on the lower half.
 */
#include "thc_table.h"
#include <math.h>
#include <string.h>
#include "codecs/kit/stable_math.h"

enum { MAX_GRANULARITY = 1000, N_POINTS = MAX_GRANULARITY / 2 + 1 };

static double density(double x)
{
    return strait_stable_exp(-x * x / 2) * 0x1.9884533d43651p-2; /* 1 / sqrt(2 pi) */
}

/* The distribution less a half: phi(x) (x + x^3 / 3 + x^5 / (3 5) + ...), odd, all terms of one
 * sign; below |x| = 6 the first 120 leave less than 1e-17. */
static double above_half(double x)
{
    double term = x, sum = x;
    for (int k = 1; k < 120; k++) {
        term *= x * x / (2 * k + 1);
        sum += term;
    }
    return density(x) * sum;
}

double strait_thc_reach(double overflow)
{
    double lo = 0, hi = 6;
    for (int i = 0; i < 60; i++) {
        const double middle = (lo + hi) / 2;
        if (2 * above_half(middle) < 1 - overflow)
            lo = middle;
        else
            hi = middle;
    }
    return (lo + hi) / 2;
}

struct point {
    double at, density, above;
};

static double cost(struct point q, struct point r)
{
    const double inside = r.above - q.above, first = q.density - r.density,
                 second = inside - (r.at * r.density - q.at * q.density);
    return (q.at + r.at) * first - second - q.at * r.at * inside;
}

void strait_thc_table(uint16_t *table, unsigned bits, unsigned granularity, double reach)
{
    static const double never = HUGE_VAL;
    const unsigned n_levels = 1u << bits, half = n_levels / 2, n = (granularity - 1) / 2 + 1;
    struct point points[MAX_GRANULARITY + 1];
    double best[N_POINTS], next[N_POINTS];
    uint16_t from[STRAIT_THC_MAX_LEVELS / 2][N_POINTS];
    for (unsigned k = 0; k <= granularity; k++) {
        const double at = reach * (2.0 * k / granularity - 1);
        points[k] = (struct point){at, density(at), above_half(at)};
    }
    for (unsigned k = 0; k < n; k++)
        best[k] = k == 0 ? 0 : never;
    for (unsigned level = 1; level < half; level++) { /* best: that level at point k */
        for (unsigned k = 0; k < n; k++) {
            next[k] = never;
            from[level][k] = 0;
            for (unsigned j = level - 1; j < k; j++) {
                const double total = best[j] + cost(points[j], points[k]);
                if (total < next[k]) {
                    next[k] = total;
                    from[level][k] = (uint16_t)j;
                }
            }
        }
        memcpy(best, next, sizeof(best));
    }
    unsigned last = half - 1;
    double least = never;
    for (unsigned k = half - 1; k < n; k++) {
        const double total = 2 * best[k] + cost(points[k], points[granularity - k]);
        if (total < least) {
            least = total;
            last = k;
        }
    }
    for (unsigned level = half; level-- > 0;) {
        table[level] = (uint16_t)last;
        table[n_levels - 1 - level] = (uint16_t)(granularity - last);
        last = level > 0 ? from[level][last] : 0;
    }
}
