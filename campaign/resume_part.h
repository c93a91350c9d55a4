/* A run in parts: each part emulates one more row, and says in a file where the next one goes on.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Names the file for a part of a run; not set: the run is whole. */
#define STRAIT_STEP_FILE "STRAIT_STEP"

struct strait_step {
    const char *path; /* NULL: the run is whole */
    size_t from;      /* emulated rows of the plan that earlier parts have dealt with */
    size_t next;      /* the same after this part */
    bool more;        /* rows are missing behind this part's */
};

/** As the file says, from 0 on where there is none; a whole run where none is named. */
void strait_step_load(struct strait_step *step);
/** 0, or -1 with *err. */
int strait_step_save(const struct strait_step *step, struct strait_error *err);
/** After a part: where the next one begins, 0 where none must follow. */
size_t strait_step_next(const char *path);
