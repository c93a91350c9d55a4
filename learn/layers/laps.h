/* A callback after each layer, to measure layers' times. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { LEARN_NO_LAYER = 999 }; /* work that belongs to no layer: activations, attention, the loss */

struct learn_laps {
    /* The work since the last lap belongs to `layer`, forward or backward. */
    void (*lap)(void *context, size_t layer, bool back);
    void *context;
};

/* laps NULL: nobody asks. */
static inline void learn_lap(const struct learn_laps *laps, size_t layer, bool back)
{
    if (laps)
        laps->lap(laps->context, layer, back);
}
