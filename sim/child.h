/* Where a simulation runs: in a forked child, so that it cannot leak into the caller, hang or crash
 * it, and the result returns through an anonymous file; or in the
 * calling process, which saves the fork and the page faults after it, most of a small simulation's
 * time. */
#pragma once
#include <setjmp.h>
#include "coroutine.h"
#include "workloads/rank/backend.h"

/* What a simulation may use before it is ended. */
struct strait_child_limits {
    double end_s, wall_s;
    double bytes; /* resident; INFINITY: nobody knows what is free */
};

struct strait_child { /* the simulation's own view */
    int fd;           /* of the result; -1: in process */
    struct strait_run *run;
    struct strait_coroutines *coroutines; /* all that it makes */
    /* In process. */
    jmp_buf out;                         /* where it is left */
    struct strait_child_block *blocks;   /* memory of strait_child_alloc */
    char *room;                          /* room_bytes of the newest of them that are free */
    size_t room_bytes, chunk_bytes;      /* chunk_bytes: the size of the next one for many */
    struct strait_child_block *cleanups; /* by strait_child_defer */
    struct strait_error err;
    bool has_ended; /* finished, or failed with err */
    uint32_t n_looks;
    struct strait_child_limits limits; /* end_s is 0: not known yet */
};

/** Call simulate in a child, and fill run->logs and run->facts->report from its result.
 *  In:      simulate  must end by strait_child_finish or _fail; returning is a failure
 *  Returns: 0, or -1 with *err: the child's failure, or BACKEND when it died (with the first line
 *           of its stderr) or exceeded its time */
int strait_child_run(struct strait_run *run, void (*simulate)(struct strait_child *child),
                     struct strait_error *err);
/** The same in the calling process. One that fails, or ends with lanes that still run, leaves what
 *  their strategies held. */
int strait_child_run_here(struct strait_run *run, void (*simulate)(struct strait_child *child),
                          struct strait_error *err);

/* Called in the child, from any stack. */
/** report: a new reference. */
void strait_child_finish(struct strait_child *child, json_t *report) __attribute__((noreturn));
void strait_child_fail(struct strait_child *child, const struct strait_error *err)
    __attribute__((noreturn));
void strait_child_look_closely(struct strait_child *child);
/** To be called now and then by a simulation that can run in process: leaves it where a coroutine
 *  has ended it, or when it is beyond its limits, of which in a child the parent takes care. */
static inline void strait_child_look(struct strait_child *child)
{
    enum { LOOKS = 16384 }; /* between two looks at the clock */
    if (child->has_ended || ++child->n_looks % LOOKS == 0)
        strait_child_look_closely(child);
}
/** Call fn(arg) when a simulation in process is over, the last one first. Memory of
 *  strait_child_alloc is still there. */
void strait_child_defer(struct strait_child *child, void (*fn)(void *arg), void *arg);
/** Zeroed memory that lasts as long as the simulation; on failure fails it. */
void *strait_child_alloc(struct strait_child *child, size_t n, size_t size);
/** Fail the child because memory ran out. */
void strait_child_no_memory(struct strait_child *child) __attribute__((noreturn));
