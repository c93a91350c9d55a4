/* Each simulation runs in a forked child, so that it cannot leak into the caller, hang or crash it,
 * and several can run at once. The result returns through an anonymous file. */
#pragma once
#include "workloads/rank/backend.h"

struct strait_child { /* the child's own view */
    int fd;
    struct strait_run *run;
};

/** Fork, call simulate in the child, and fill run->logs and run->facts->report from its result.
 *  In:      simulate  must end by strait_child_finish or _fail; returning is a failure
 *  Returns: 0, or -1 with *err: the child's failure, or BACKEND when it died (with the first line
 *           of its stderr) or exceeded its time */
int strait_child_run(struct strait_run *run, void (*simulate)(struct strait_child *child),
                     struct strait_error *err);

/* Called in the child, from any stack. */
void strait_child_finish(struct strait_child *child, const json_t *report)
    __attribute__((noreturn));
void strait_child_fail(struct strait_child *child, const struct strait_error *err)
    __attribute__((noreturn));
/** Zeroed memory; on failure fails the child. */
void *strait_child_alloc(struct strait_child *child, size_t n, size_t size);
/** Fail the child because memory ran out. */
void strait_child_no_memory(struct strait_child *child) __attribute__((noreturn));
