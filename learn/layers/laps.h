/* Who asks learns when a network is done with each layer: to measure their times. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { LEARN_NO_LAYER = 999 }; /* work that belongs to no layer: activations, attention, the loss */

struct learn_laps {
    /* What was done since the last lap was `layer`'s, forward or backward. */
    void (*lap)(void *context, size_t layer, bool back);
    void *context;
};

/* laps NULL: nobody asks. */
static inline void learn_lap(const struct learn_laps *laps, size_t layer, bool back)
{
    if (laps)
        laps->lap(laps->context, layer, back);
}
