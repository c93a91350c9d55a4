#include "loss_budget.h"

#include <math.h>

double strait_sensitivity_error(const struct strait_sensitivity *s, double share)
{
    double e0 = 0, added0 = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double added = isfinite(s->added[i]) ? fmax(s->added[i], added0) : INFINITY;
        if (added > share) {
            const double part = isinf(added) ? 0 : (share - added0) / (added - added0);
            return sqrt(e0 * e0 + part * (s->error[i] * s->error[i] - e0 * e0));
        }
        e0 = s->error[i];
        added0 = added;
    }
    return e0;
}

double strait_sensitivity_share(double budget, size_t n_elems, size_t n_all)
{
    return budget * (double)n_elems / (double)n_all;
}
