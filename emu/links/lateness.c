#include "lateness.h"

#include <math.h>

static const double STEPS_AN_OCTAVE = 8;

void strait_emu_lateness_note(struct strait_emu_lateness *l, double late_s)
{
    const double octaves = late_s > 1e-6 ? log2(late_s * 1e6) : 0;
    const int step = (int)(octaves * STEPS_AN_OCTAVE);
    l->n[step < STRAIT_EMU_LATE_STEPS ? step : STRAIT_EMU_LATE_STEPS - 1]++;
    l->max_s = fmax(l->max_s, late_s);
}

double strait_emu_lateness_quantile_s(const struct strait_emu_lateness *l, double q)
{
    uint64_t n = 0, seen = 0;
    for (int i = 0; i < STRAIT_EMU_LATE_STEPS; i++)
        n += l->n[i];
    for (int i = 0; i < STRAIT_EMU_LATE_STEPS; i++) {
        seen += l->n[i];
        if (n > 0 && (double)seen >= q * (double)n)
            return fmin(1e-6 * exp2((i + 1.0) / STEPS_AN_OCTAVE), l->max_s);
    }
    return 0;
}
