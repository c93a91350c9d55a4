/* The launchers of a network's parts on several hosts: started, told, heard and ended. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "emu/programs/host_shares.h"

enum { STRAIT_NET_LINE_BYTES = 65536 };

/* One stream of a part, line by line. */
struct strait_net_stream {
    int fd; /* -1: at its end */
    size_t n;
    char line[STRAIT_NET_LINE_BYTES];
};

struct strait_net_part {
    pid_t pid; /* 0: has ended */
    int to;    /* -1: closed, which ends it */
    struct strait_net_stream out, errors;
    json_t *said; /* its last answer; NULL: none yet */
    char complaint[160];
};

struct strait_net_crew {
    const struct strait_emu_hosts *hosts;
    struct strait_net_part *parts; /* one a host */
    int signals, caught;
    bool running; /* what they print is the programs' */
};

/** Start `words` with pipes to all its streams, in a process group of its own.
 *  Returns: 0, or -1 with *err */
int strait_net_crew_start(struct strait_net_part *p, const char *const *words,
                          struct strait_error *err);
/** Tell a part something, and forget its last answer. */
void strait_net_crew_say(struct strait_net_part *p, const json_t *what);
/** Wait for something to read, and read it: answers into `said`; what programs print is passed on.
 *  In:      patience_ms  as poll's */
void strait_net_crew_attend(struct strait_net_crew *c, int patience_ms);
/** End all parts by the end of their input, wait for them, and release what they hold. */
void strait_net_crew_end(struct strait_net_crew *c);
