/* Run foreign code in a process of its own: it may crash, exit, loop or ask for all memory, and the
 * caller gets an error. The process is forked at the first call and serves one call after another;
 * when it dies it is replaced. Values and bytes travel through shared memory.
 *
 * Forking a program with threads: the child runs the work and the C library's memory allocator,
 * which glibc keeps usable after fork. Other locks that a thread held at that moment stay locked; a
 * child that does not answer its first greeting for that reason is replaced too. */
#pragma once
#include <sys/types.h>
#include "core/error.h"
#include "isolated_job.h"

/* One process, for one thread at a time. */
struct strait_isolate {
    strait_isolated_work work;
    const void *context; /* of the work, as it is when the process is forked */
    const char *library; /* name of the library for errors: "libSZ3c.so" */
    bool here;           /* no process: the caller trusts library and bytes */
    double limit_s;      /* of a call, plus a second for each MB */

    unsigned char *in, *out; /* set by strait_isolate_room */

    pid_t pid, owner; /* 0: no process */
    int socket, memory_fd;
    unsigned char *memory;
    size_t in_cap_bytes, out_cap_bytes;
    unsigned n_served;
};

/** Before first use zero the struct and set work, context, library, here and limit_s. */
void strait_isolate_release(struct strait_isolate *i);
/** Make room for one job at i->in and i->out, valid until the next call of this function. */
int strait_isolate_room(struct strait_isolate *i, size_t in_bytes, size_t out_bytes,
                        struct strait_error *err);
/** Start the process before the first call does: an early fork copies a smaller program. */
int strait_isolate_start(struct strait_isolate *i, struct strait_error *err);
/** Run the work on the bytes at i->in.
 *  Returns: 0 with job->good and job->out_bytes, which never exceeds the room; or -1 with *err:
 *           BACKEND "libSZ3c.so was ended by SIGSEGV" when the process died, took too long or
 *           exited; SYSTEM, NOMEM when no process could be started */
int strait_isolate_call(struct strait_isolate *i, struct strait_isolated_job *job,
                        struct strait_error *err);

/** CPU seconds of isolated work on behalf of the calling thread so far; add them to the thread's
 *  own CPU time when measuring. */
double strait_isolated_cpu_s(void);
