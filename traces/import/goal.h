/* What schedules of LogGOPSim have in both of their forms, text and binary. */
#pragma once
#include "import.h"

enum { STRAIT_GOAL_MAX_CPUS = STRAIT_PROGRAM_MAX_UNITS - STRAIT_PROGRAM_CPU };
/* Of one message, and nanoseconds of one computation. */
#define STRAIT_GOAL_MAX_BYTES ((int64_t)1 << 50)
#define STRAIT_GOAL_MAX_NS    1e18

/** Say what a schedule leaves open. has_nics: it names a second network card. */
void strait_goal_remarks(struct strait_import *in, bool has_nics);
