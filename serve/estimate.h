/* The first answer while a slider moves: rows that are computed in tens of milliseconds, and say
 * what they leave to the exact ones that follow. */
#pragma once
#include <jansson.h>
#include "campaign/plan.h"

/* A run that would send more messages than this is not run whole. */
enum { STRAIT_ESTIMATE_MESSAGES = 16000 };

/** The row of a task without its interval, by fluid: as strait_plan_run_task has it where that is
 *  quick. Else "estimate" holds texts on what was done instead:
 *   - bytes go as flows where packets would be drawn, and a path that loses packets is as slow as
 *     strait_lossy_bytes_per_s (sim/loss_formula.h) says;
 *   - of more than 8 equal clients without a server, whose messages would be too many, runs of 2,
 *     4 and 6 are made, and times follow a + b (n - 1) / n + c (n - 1), as a ring's do, if a run of
 *     8 does, which another process makes at the same time. What belongs to fewer clients
 *     ("limits", "bytes", "utilisation", ...) is missing then.
 *  Errors:  as strait_plan_run_task */
json_t *strait_estimate_row(const struct strait_plan *plan, const struct strait_task_plan *task,
                            struct strait_error *err);
