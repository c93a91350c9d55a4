#include "core/heap.h"
#include "readings.h"

#include <stdlib.h>

#include "turns.h"

double strait_readings_add(struct strait_readings *readings, double reading_s)
{
    double kept_s[STRAIT_TIMING_MAX_REPEATS];
    size_t n = 0;
    if (!readings || !(reading_s > 0))
        return reading_s;
    const unsigned at = atomic_load(&readings->n);
    if (at < STRAIT_TIMING_MAX_REPEATS) {
        const unsigned mine = atomic_fetch_add(&readings->n, 1);
        if (mine < STRAIT_TIMING_MAX_REPEATS)
            atomic_store(&readings->s[mine], reading_s);
    }
    for (size_t i = 0; i < STRAIT_TIMING_MAX_REPEATS; i++) {
        kept_s[n] = atomic_load(&readings->s[i]);
        n += kept_s[n] > 0;
    }
    strait_sort(kept_s, n);
    return strait_typical_s(kept_s, n);
}
