/* Writer of SMPI's time-independent traces. */
#pragma once
#include "traces/program.h"

/** Write a finished graph as one file for `smpirun -replay`: each rank's nodes in an order that
 *  their dependencies allow, computing as operations at flop_per_s, receives posted before the
 * first node that waits for nothing they need. What that order loses is said. Out:     text  to be
 * freed lost  may be NULL; new array of sentences Returns: 0, or -1 with *err: INPUT if collectives
 * are of a part of the ranks, NOMEM */
int strait_ti_text(char **text, json_t **lost, const struct strait_program *g, double flop_per_s,
                   struct strait_error *err);
