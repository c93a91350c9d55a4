/* The state of a run in progress, for a live view; times are virtual seconds. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct strait_live_link { /* numbered as in strait_network */
    double carried_bytes; /* on the wire since time 0; NAN: not counted */
    double queue_bytes;   /* waiting now; NAN: not known */
    double n_drops;       /* by a full queue or loss, since time 0 */
};

/* The score that rank 0 of a run with real training publishes after each round, in memory shared
 * with the caller. */
struct strait_live_score {
    atomic_int n_rounds;
    _Atomic(double) rounds_s, loss, accuracy; /* NAN: not scored yet, or there is none */
};

struct strait_live {
    double now_s;     /* below 0: before time 0 */
    double dilation;  /* real seconds for one; NAN: in virtual time, where it is undefined */
    int n_rounds;     /* ended by rank 0 */
    double rounds_s;  /* when it ended the last of them */
    double read_at_s; /* when the links were read; NAN: not yet */
    const struct strait_live_link *links;
    size_t n_links;
    bool has_score;        /* of real training, with */
    double loss, accuracy; /* NAN: there is none */
    double real_s;         /* since the run began; 0: not known */
};
