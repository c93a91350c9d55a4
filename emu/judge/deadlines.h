/* When a run has taken too long, by how long a simulation of it takes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "emu/process/shared.h"

struct strait_emu_deadlines {
    const struct strait_run *run;
    struct strait_emu_shared *shared;
    bool lossy;
    double limit_s; /* of the whole run, real */
    int64_t start_ns;
    uint64_t mark;    /* of all that moves */
    int64_t moved_ns; /* when it last changed */
};

/** Begin at shared->start_ns. */
void strait_emu_deadlines_begin(struct strait_emu_deadlines *d, const struct strait_run *run,
                                struct strait_emu_shared *shared);
/** Note what moves: operations and messages, and what the links carried.
 *  In:      links   NULL: there are none
 *           now_ns  CLOCK_MONOTONIC */
void strait_emu_deadlines_note(struct strait_emu_deadlines *d,
                               const struct strait_emu_relay_report *links, int64_t now_ns);
/** Returns: 0, or -1 with *err BACKEND: the run's limit is over, or nothing has moved for longer
 *  than anything in it takes */
int strait_emu_deadlines_check(const struct strait_emu_deadlines *d, int64_t now_ns,
                               struct strait_error *err);
