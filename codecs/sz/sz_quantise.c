/* sz: floats to integers under the bound, value by value after a block as a whole failed. */
#include <math.h>
#include "sz_kernels.h"
#include "sz_round.h"

/* The decoder computes the same product and sum: never fused, see -ffp-contract=off. */
static inline float value_of(int32_t q, const struct sz_grid *grid)
{
    return (float)q * grid->step + grid->centre;
}

bool sz_quantise(int32_t *q, const float *x, unsigned n, const struct sz_grid *grid)
{
    struct sz_stats stats;
    return sz_quantise_some(q, &stats, x, n, grid);
}

int32_t sz_nearest(float x, const struct sz_grid *grid, int32_t otherwise)
{
    const float scaled = (x - grid->centre) * grid->inverse;
    return fabsf(scaled) <= SZ_MOST ? sz_round(scaled) : otherwise;
}

static const int32_t tries[] = {0, -1, 1};

void sz_repair(int32_t *q, uint8_t *mark, const float *x, unsigned n, const struct sz_grid *grid)
{
    for (unsigned i = 0; i < n; i++) {
        const float scaled = (x[i] - grid->centre) * grid->inverse;
        mark[i] = 0;
        if (fabsf(scaled) <= SZ_MOST) {
            const int32_t nearest = sz_round(scaled);
            unsigned k = 0;
            for (; k < 3; k++)
                if (fabsf(x[i] - value_of(nearest + tries[k], grid)) <= grid->threshold)
                    break;
            mark[i] = k == 3;
            q[i] = k == 3 ? 0 : nearest + tries[k];
        } else {
            mark[i] = 1;
        }
    }
}
