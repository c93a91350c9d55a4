/* A small emulated run for tests: equal ranks on a star, and a board on which they leave results.
 */
#pragma once
#include <stdatomic.h>
#include "workloads/rank/backend.h"

enum { WORLD_RANKS = 80, WORLD_NUMBERS = 64, MAX_PROCESSES = 64 };

struct board { /* shared by all rank processes and the test */
    double numbers[WORLD_RANKS][WORLD_NUMBERS];
    atomic_int pids[WORLD_RANKS];
};

struct world {
    struct strait_run run;
    struct strait_network *network;
    struct strait_log logs[WORLD_RANKS];
    struct strait_facts facts;
    struct board *board; /* run.context */
};

/** Every port 1 Gbps (or the given rate) with a quarter of the RTT each way. Asserts success. */
void world_init(struct world *w, int n_ranks, double rate_bits_per_s, double rtt_s);
void world_release(struct world *w);
/** Did the run say that it is invalid? Prints why. */
bool world_is_invalid(const struct world *w);
struct board *board_of(const struct strait_rank *r);
/** Parent and name of a process; -1: it is gone, or dead and not yet reaped. */
int parent_of(int pid, char *name, size_t cap);
/** The living processes below one, to any depth. Returns their number, at most MAX_PROCESSES; pids
 *  may be NULL. */
int descendants(int ancestor, int *pids);
/** The one with that name, or 0. */
int descendant_named(int ancestor, const char *wanted);
