/* What a run that goes on can tell of itself; times are virtual seconds. */
#pragma once
#include <stddef.h>

struct strait_live_link { /* by number as a network has them */
    double carried_bytes; /* on the wire since time 0; NAN: nobody counts them */
    double queue_bytes;   /* waiting now; NAN as above */
    double n_drops;       /* by a full queue or loss, since time 0 */
};

struct strait_live {
    double now_s;     /* below 0: time 0 is to come */
    double dilation;  /* real seconds for one; NAN: in virtual time, where nobody can say */
    int n_rounds;     /* that rank 0 has ended */
    double rounds_s;  /* when it ended the last of them */
    double read_at_s; /* when the links were read; NAN: not yet */
    const struct strait_live_link *links;
    size_t n_links;
};
