/* The table of runs that trained for real. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/grid.h"
#include "core/error.h"

/** Whether any row trained. */
bool strait_show_any_training(const json_t *rows);
/** Print what each point sent and took, how its model did, and, where a target was set, in which
 *  round, after which time and with how many bytes it was reached: means over the seeds with their
 *  deviation. Below: from how many clients on each codec gets there sooner. 0, or -1 with *err */
int strait_show_training(FILE *out, const struct strait_grid *g, struct strait_error *err);
