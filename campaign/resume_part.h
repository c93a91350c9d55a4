/* A run in parts: each part emulates one more row and writes to a file where the next one
 * continues. A first one may only calibrate. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Environment variable with the file's path; unset: the run is whole. */
#define STRAIT_STEP_FILE "STRAIT_STEP"

struct strait_resume {
    const char *path; /* NULL: the run is whole */
    size_t from;      /* emulated rows of the plan done by earlier parts */
    size_t next;      /* the same after this part */
    bool more;        /* rows are missing after this part's */
    bool began;       /* this is not the first part */
};

/** Read the file; start at 0 if it does not exist; a whole run if none is named. */
void strait_resume_load(struct strait_resume *step);
/** 0, or -1 with *err. */
int strait_resume_save(const struct strait_resume *step, struct strait_error *err);
/** After a part: 1 and the emulated rows of the plan that are done; 0: no other is needed. */
size_t strait_resume_next(const char *path);
