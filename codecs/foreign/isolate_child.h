/* Messages between isolate.c and isolate_child.c: one each way, of fixed size. */
#pragma once
#include "isolated_job.h"

struct strait_isolated_message {
    uint64_t in_cap_bytes, out_cap_bytes; /* of the shared memory: `out` follows `in` */
    struct strait_isolated_job job;
    double limit_s; /* of a call: after that the caller has given up */
    double cpu_s;   /* in an answer: CPU seconds of the work */
    bool greeting;  /* no work: only answer */
};

enum { STRAIT_ISOLATED_LEFT = 113 }; /* exit status when the library called exit */

/** Main loop of the forked process; ends when its socket closes. */
void strait_isolate_serve(strait_isolated_work work, const void *context, int socket_fd,
                          int memory_fd) __attribute__((noreturn));
