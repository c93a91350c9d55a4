/* Readings of one kind of work, shared by all ranks of a run, and what is charged for it. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include "timing.h"

/* All zero: no readings. Without a lock, for a process may die at any moment. */
struct strait_readings {
    _Atomic(unsigned) n;                          /* so many were offered */
    _Atomic(double) s[STRAIT_TIMING_MAX_REPEATS]; /* the first of them; 0: not written yet */
};

/** Keep a reading, if there is room, and return what this work costs by all that are kept: the
 *  typical one (turns.h), as calibration has it. A busy host lengthens some readings; the clock may
 *  misread single ones.
 *  In:      readings  NULL: this reading is the cost */
double strait_readings_add(struct strait_readings *readings, double reading_s);
