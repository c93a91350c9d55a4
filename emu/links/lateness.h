/* A histogram of lateness: eight bins an octave, 1 us to an hour. */
#pragma once
#include <stdint.h>

enum { STRAIT_EMU_LATE_STEPS = 256 };

struct strait_emu_lateness {
    uint64_t n[STRAIT_EMU_LATE_STEPS];
    double max_s;
};

void strait_emu_lateness_note(struct strait_emu_lateness *l, double late_s);
/** Upper edge of the bin with the quantile q, at most the largest value; 0 when empty. */
double strait_emu_lateness_quantile_s(const struct strait_emu_lateness *l, double q);
