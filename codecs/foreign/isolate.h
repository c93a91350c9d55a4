/* Foreign code in a process of its own: it may crash, exit, loop or ask for all memory, and the
 * caller gets an error. The process is forked at the first call and serves one call after another;
 * when it dies it is replaced. Values and bytes travel through memory that both share.
 *
 * Fork in a program with threads: the child runs the work and the C library's memory allocator,
 * which glibc keeps usable there. Other locks that a thread held at that moment stay locked; a
 * child that does not answer its first greeting for that reason is replaced too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "core/error.h"

struct strait_isolated_job {
    size_t in_bytes;  /* at `in` */
    size_t out_bytes; /* room at `out`; afterwards what was written there */
    uint64_t args[4]; /* what the work understands by them */
    unsigned good;    /* afterwards: 1 when the work returned true, else 0 */
};

/** The foreign work. In: in, which may be read only; out, 64-byte aligned. */
typedef bool (*strait_isolated_work)(const void *context, struct strait_isolated_job *job,
                                     const unsigned char *in, unsigned char *out);

/* One process, for one thread at a time. */
struct strait_isolate {
    strait_isolated_work work;
    const void *context; /* of the work, as it is when the process starts */
    const char *library; /* what errors are about: "libSZ3c.so" */
    bool here;           /* no process: the caller trusts library and bytes */
    double limit_s;      /* for a call, and a second for each MB more */

    unsigned char *in, *out; /* set by strait_isolate_room */

    pid_t pid, owner; /* 0: no process */
    int socket, memory_fd;
    unsigned char *memory;
    size_t in_cap_bytes, out_cap_bytes;
    unsigned n_served;
};

/** Zeroed, with work, context, library, here and limit_s set, it is ready. */
void strait_isolate_release(struct strait_isolate *i);
/** Room for one job: i->in and i->out, valid until the next call of this. */
int strait_isolate_room(struct strait_isolate *i, size_t in_bytes, size_t out_bytes,
                        struct strait_error *err);
/** Start the process, which otherwise the first call does: early, the program is still small. */
int strait_isolate_start(struct strait_isolate *i, struct strait_error *err);
/** Run the work on what lies at i->in.
 *  Returns: 0 with job->good and job->out_bytes, never more than there was room; or -1 with *err:
 *           BACKEND "libSZ3c.so was ended by SIGSEGV" when it died, took too long or left;
 *           SYSTEM, NOMEM when there was no process to be had */
int strait_isolate_call(struct strait_isolate *i, struct strait_isolated_job *job,
                        struct strait_error *err);

/** CPU seconds that isolated work took so far on behalf of the calling thread: what a measurement
 *  by the thread's own CPU clock has to add. */
double strait_isolated_cpu_s(void);
