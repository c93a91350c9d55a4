/* Between isolate.c and isolate_child.c: one message each way, fixed in size. */
#pragma once
#include "isolate.h"

struct strait_isolated_message {
    uint64_t in_cap_bytes, out_cap_bytes; /* of the shared memory: `out` lies behind `in` */
    struct strait_isolated_job job;
    double limit_s; /* of a call: by then nobody waits for it any more */
    double cpu_s;   /* in an answer: what the work took */
    bool greeting;  /* no work: are you there? */
};

enum { STRAIT_ISOLATED_LEFT = 113 }; /* exit status when the library called exit */

/** What the forked process does until its socket closes. */
void strait_isolate_serve(const struct strait_isolate *i) __attribute__((noreturn));
