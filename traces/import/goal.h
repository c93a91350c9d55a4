/* What schedules of LogGOPSim have in both of their forms, text and binary. */
#pragma once
#include "imported.h"

enum { STRAIT_GOAL_MAX_CPUS = STRAIT_PROGRAM_MAX_UNITS - STRAIT_PROGRAM_CPU };
/* Of one message, and nanoseconds of one computation. */
#define STRAIT_GOAL_MAX_BYTES ((int64_t)1 << 50)
#define STRAIT_GOAL_MAX_NS    1e18

/** Say what a schedule leaves open. has_nics: it names a second network card. */
void strait_goal_remarks(struct strait_import *in, bool has_nics);

/* {from, to} of a rank that is looked at: `to` waits for `from`. */
struct strait_goal_order {
    uint32_t (*edges)[2];
    size_t n, cap;
};
/** False: memory ran out. */
bool strait_goal_order_add(struct strait_goal_order *o, uint32_t from, uint32_t to);
/** End a rank of so many nodes and forget its edges: nodes that wait for each other in a circle
 *  leave a doubt in what is looked at. 0, or -1 with *err NOMEM */
int strait_goal_order_end(struct strait_goal_order *o, struct strait_program *g, size_t n_nodes,
                          const char *where, struct strait_error *err);
void strait_goal_order_release(struct strait_goal_order *o);
