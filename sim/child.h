/* One simulation is one forked child: it cannot leak into the caller, hang it or take it down, and
 * several run at once. What it found comes back through an anonymous file. */
#pragma once
#include "workloads/rank/backend.h"

struct strait_child { /* as the child sees itself */
    int fd;
    struct strait_run *run;
};

/** Fork, call simulate in the child, and fill run->logs and run->facts->report from what it left.
 *  In:      simulate  ends by strait_child_finish or _fail; returning is a failure
 *  Returns: 0, or -1 with *err: what the child failed with, or BACKEND when it died, with the
 *           first line that it wrote to stderr, or did not end in time
 */
int strait_child_run(struct strait_run *run, void (*simulate)(struct strait_child *child),
                     struct strait_error *err);

/* In the child, from any stack. */
void strait_child_finish(struct strait_child *child, const json_t *report)
    __attribute__((noreturn));
void strait_child_fail(struct strait_child *child, const struct strait_error *err)
    __attribute__((noreturn));
/** Zeroed memory; fails the child when there is none. */
void *strait_child_alloc(struct strait_child *child, size_t n, size_t size);
/** Fails the child: memory ran out. */
void strait_child_no_memory(struct strait_child *child) __attribute__((noreturn));
